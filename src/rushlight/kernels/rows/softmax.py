"""Kernels of softmax and log_softmax along any dimension, and of their gradients."""

from __future__ import annotations

import math

from ...base.shapes import wrap_dim
from ..language.value_types import computed_in
from ..planning.layout import FLOATS, Layout, lanes_for
from ..planning.plan import Launch, Plan
from ..planning.runner import plan_for
from .reductions import reduction
from .row_programs import RowOperation, build, column_plan, row_plan, workspaces

_NANOSECONDS = 0.3  # for an element


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


def program(name, source, kind, lanes):
    """The Program of one of the operations below on elements of a type."""
    return build(name, _operation(name, source, kind), kind, lanes)


def _operation(name, source, kind):
    make = SoftmaxGradient if name.endswith("_gradient") else Softmax
    return make(source, name.startswith("log_"), kind[2])


def _plan(name, operands, layouts, dim):
    x = layouts[0]
    if x.scalar not in FLOATS or not x.size or not (x.ndim and x.is_plain) or any(each != x for each in layouts):
        return None
    lanes = lanes_for(x.scalar)
    rows = plan_along(x.shape, wrap_dim(dim, x.ndim), lanes)
    works = workspaces(rows, _operation(name, x.scalar, rows.kind))
    arguments = (*operands, "out", *[work for work, _, _ in works], *rows.sizes)
    launch = Launch(program, (name, x.scalar, rows.kind, lanes), arguments, x.size * _NANOSECONDS, name)
    return Plan([launch], {"out": x}, works)


@plan_for("softmax")
def softmax(self: Layout, dim, dtype):
    return _plan("softmax", ["self"], [self], dim) if dtype is None or dtype.numpy == self.dtype else None


@plan_for("log_softmax")
def log_softmax(self: Layout, dim, dtype):
    return _plan("log_softmax", ["self"], [self], dim) if dtype is None or dtype.numpy == self.dtype else None


@plan_for("softmax_gradient")
def softmax_gradient(grad: Layout, output: Layout, dim):
    return _plan("softmax_gradient", ["grad", "output"], [grad, output], dim)


@plan_for("log_softmax_gradient")
def log_softmax_gradient(grad: Layout, output: Layout, dim):
    return _plan("log_softmax_gradient", ["grad", "output"], [grad, output], dim)
