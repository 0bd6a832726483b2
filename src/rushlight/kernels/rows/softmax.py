"""Kernels of softmax and log_softmax along any dimension, and of their gradients."""

from __future__ import annotations

import math

import numpy as np

from ...base.shapes import wrap_dim
from ..compiler.kernel import compiled
from ..language.value_types import NUMPY, computed_in, scalar_of
from ..machine.host import host
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from .reduce import is_plain
from .reductions import reduction
from .row_programs import RowOperation, build, column_plan, row_plan

_THREADED_FROM = 16384  # elements
_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))

_calls = Plans()


class Softmax(RowOperation):
    """``exp(x - top) / total``, or its logarithm, from x (array 0) into array 1."""

    states = settled = 2

    def __init__(self, source, logarithm, split):
        self.scalar, self.arrays = computed_in(source), (source, source)
        self.logarithm, self.split = logarithm, split

    def part(self, span):
        """The largest element, and the sum of exponentials below it."""
        builder = span.builder
        top = span.largest()
        keep = self._keeps(span)

        def terms(pointers, index, mask):
            power = self._power(span, pointers, index, mask, top)
            if keep:
                span.store(power, pointers[1], index, mask)
            return [span.only(mask, power, builder.constant(0, power.type))]

        return [top, span.sums(terms)[0]]

    def _keeps(self, span):
        """Whether exponentials wait in the output array until their sum is known; else they are computed again."""
        return not (self.logarithm or span.single or self.split or self.arrays[1] != self.scalar)

    def _power(self, span, pointers, index, mask, top):
        return span.builder.math("exp", span.load(pointers[0], index, mask) - span.spread(top))

    def combined(self, span):
        return reduction("logsumexp", self.scalar).combined(span)

    def settle(self, span, states):
        top, total = states
        if self.logarithm:
            return [top, span.math("log", total)]
        return [top, 1.0 / total]

    def write(self, span, settled):
        top, factor = settled
        spread = span.spread(factor)

        def body(pointers, index, mask):
            if self.logarithm:
                found = span.load(pointers[0], index, mask) - span.spread(top) - spread
            elif self._keeps(span):
                found = span.load(pointers[1], index, mask) * spread
            else:
                found = self._power(span, pointers, index, mask, top) * spread
            span.store(found, pointers[1], index, mask)

        span.each(body)


class SoftmaxGradient(RowOperation):
    """From the gradient (array 0) and the output (array 1) of Softmax the gradient of its input (array 2)."""

    states = settled = 1

    def __init__(self, source, logarithm, split):
        self.scalar, self.arrays, self.logarithm = computed_in(source), (source,) * 3, logarithm

    def part(self, span):
        def terms(pointers, index, mask):
            grad = span.load(pointers[0], index, mask)
            return [grad if self.logarithm else grad * span.load(pointers[1], index, mask)]

        return span.sums(terms)

    def write(self, span, settled):
        total = span.spread(settled[0])

        def body(pointers, index, mask):
            grad, output = (span.load(pointers[i], index, mask) for i in (0, 1))
            if self.logarithm:
                found = grad - span.builder.math("exp", output) * total
            else:
                found = output * (grad - total)
            span.store(found, pointers[2], index, mask)

        span.each(body)


def plan_along(shape, axis, lanes):
    """The RowPlan of the rows along one axis of a C-contiguous array."""
    inner = math.prod(shape[axis + 1 :])
    if inner == 1:
        return row_plan(math.prod(shape[:axis]), 1, shape[axis], lanes)
    return column_plan(math.prod(shape[:axis]), shape[axis], inner, lanes)


def _prepared(operation, name, array, dim, logarithm):
    source = scalar_of(array.dtype)
    if source not in _FLOATS or not array.size or not array.ndim or not array.dtype.isnative:
        return False
    lanes = host().vector_bytes // NUMPY[computed_in(source)].itemsize
    plan = plan_along(array.shape, wrap_dim(dim, array.ndim), lanes)
    split = plan.kind[2]
    what = operation(source, logarithm, split)
    kernel = compiled((name, source, plan.kind), lambda: build(name, what, plan.kind, lanes))
    run = kernel.threaded if array.size >= _THREADED_FROM else kernel.alone
    sizes = [size for size, count in zip(plan.works, (what.states, what.settled)) for _ in range(count)]
    return run, [(size, NUMPY[what.scalar]) for size in sizes] if split else (), plan.sizes


def _run(operation, name, logarithm, dim, *arrays):
    first = arrays[0]
    key = (name, first.shape, first.dtype, dim)
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = _prepared(operation, name, first, dim, logarithm)
    if found is False:
        return NotImplemented
    for array in arrays:
        if not is_plain(array):
            return NotImplemented
    run, works, sizes = found
    out = np.empty(first.shape, first.dtype)
    run(*arrays, out, *[np.empty(size, kind) for size, kind in works], *sizes)
    return out


def _forward(name, logarithm, array, dim, dtype):
    if dtype is not None and dtype.numpy is not array.dtype:
        return NotImplemented
    return _run(Softmax, name, logarithm, dim, array)


def _gradient(name, logarithm, grad, output, dim):
    if grad.shape != output.shape or grad.dtype != output.dtype:
        return NotImplemented
    return _run(SoftmaxGradient, name, logarithm, dim, grad, output)


@kernel_for("softmax")
def softmax(self, dim, dtype):
    return _forward("softmax", False, self, dim, dtype)


@kernel_for("log_softmax")
def log_softmax(self, dim, dtype):
    return _forward("log_softmax", True, self, dim, dtype)


@kernel_for("softmax_gradient")
def softmax_gradient(grad, output, dim):
    return _gradient("softmax_gradient", False, grad, output, dim)


@kernel_for("log_softmax_gradient")
def log_softmax_gradient(grad, output, dim):
    return _gradient("log_softmax_gradient", True, grad, output, dim)
