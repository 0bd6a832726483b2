"""Kernels of losses of pairs, and dot: each element by the operation's formula and their sum in one pass; gradients too."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...base.arrays import empty_in_result_order
from ...ops.table import TABLE, widened
from ..compiler.kernel import compiled
from ..compiler.trace import Emission, Number, Trail, Untraceable, formula_of
from ..elementwise.calls import run as run_elementwise
from ..elementwise.complex_functions import PARTS
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, computed_in, pointer, scalar_of, vector
from ..machine.host import host
from ..planning.layout import is_plain
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from . import complex_reductions
from .reduce_programs import PART, ceiling
from .spans import RowSpan

_THREADED_FROM = 32768  # elements
_VECTORS = 4  # side by side, so that their additions overlap
_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))

_calls = Plans()


def build(name, formula, sources, result, scalar, numbers, lanes):
    """The Program of the sum of a formula's values over contiguous arrays of scalar types ``sources``, divided.

    Each value is rounded to ``result``, as if the values had been written down. Parts of `PART` elements are added up
    on their own, and at last their sums.
    """
    arrays = [(f"x{i}", pointer(source)) for i, source in enumerate(sources)]
    options = [(f"number{i}", scalar) for i in range(numbers)]
    sizes = [("work", pointer(scalar)), ("out", pointer(result)), ("count", "i64"), ("divisor", scalar)]
    builder = Builder(name, [*arrays, *sizes, *options])
    pointers = builder.parameters[: len(arrays)]
    work, out, count, divisor = builder.parameters[len(arrays) : len(arrays) + len(sizes)]
    given = [builder.splat(value, lanes) for value in builder.parameters[len(arrays) + len(sizes) :]]
    parts = (count + (PART - 1)) // PART

    with builder.parallel(parts) as number:
        first = number * PART
        moved = [builder.offset(p, first) for p in pointers]
        span = RowSpan(builder, moved, builder.minimum(count - first, PART), lanes, scalar)

        def terms(pointers, index, mask):
            emission = Emission(builder, vector(scalar, lanes), given)
            elements = [emission.element(span.load(p, index, mask)) for p in pointers]
            value = emission.lifted(formula(emission, *elements), span.type)
            value = builder.convert(builder.convert(value, result), scalar)
            return [span.only(mask, value, builder.constant(0, span.type))]

        builder.store(span.sums(terms)[0], work, number)
    with builder.parallel(1):
        span = RowSpan(builder, [work], parts, lanes, scalar)
        total = span.sums(lambda pointers, index, mask: [span.load(pointers[0], index, mask)])[0]
        builder.store(builder.convert(total / divisor, result), out)
    return Program(name, [builder.function])


def _prepared(name, arrays, options):
    """(kernel's call, dtype of the sums, the formula's numbers), or False where there is no program for such arrays."""
    present = [a for a in arrays if a is not None]
    sources = [scalar_of(a.dtype) for a in present]
    if not all(s in _FLOATS for s in sources) or not all(a.dtype.isnative and a.size for a in present):
        return False
    scalar = computed_in(sources[0])
    if any(computed_in(s) != scalar for s in sources) or any(a.shape != present[0].shape for a in present):
        return False
    numbers, element = [Number(o) for o in options], formula_of(TABLE[name], NUMPY[scalar])
    trail = Trail([NUMPY[scalar]] * len(present))

    def formula(m, *elements):
        elements = iter(elements)
        return element(m, *(None if a is None else next(elements) for a in absent), *numbers)

    absent = [None if a is None else True for a in arrays]
    try:
        formula(trail, *trail.elements)
        lanes = host().vector_bytes // NUMPY[scalar].itemsize * _VECTORS
        arguments = (f"sum_{name}", formula, sources, sources[0], scalar, len(trail.numbers), lanes)
        kernel = compiled(
            ("sum of rounded pairs", name, tuple(sources), tuple(absent), lanes, tuple(trail.steps)),
            lambda: build(*arguments),
        )
    except Untraceable:
        return False
    run = kernel.threaded if present[0].size >= _THREADED_FROM else kernel.alone
    return run, NUMPY[scalar], tuple(trail.numbers)


def _loss(name, *values):
    """The sum or mean of a loss. ``values``: arrays (None where one is absent), the reduction, numbers."""
    place = next(i for i, value in enumerate(values) if value.__class__ is str)
    arrays, reduction, options = values[:place], values[place], values[place + 1 :]
    first = arrays[0]
    if reduction == "none":
        shape = np.broadcast_shapes(*[array.shape for array in arrays if array is not None])
        out = empty_in_result_order(TABLE[name].patterns(*arrays), shape, first.dtype)
        return run_elementwise(TABLE[name], arrays, options, first.dtype, out=out)
    key = (name, first.size >= _THREADED_FROM, *[a if a is None else (a.dtype, a.shape) for a in arrays], *options)
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = _prepared(name, arrays, options)
    if found is False or not all(a is None or is_plain(a) for a in arrays):
        return NotImplemented
    run, kind, numbers = found
    out, size = np.empty((), first.dtype), first.size
    work = np.empty(ceiling(size, PART), kind)
    run(*[a for a in arrays if a is not None], work, out, size, float(size) if reduction == "mean" else 1.0,
        *numbers)  # fmt: skip
    return out


@kernel_for("dot")
def dot(self, tensor):
    return _dot("dot", self, tensor)


@kernel_for("vdot")
def vdot(self, other):
    return _dot("vdot", self, other)


def _dot(name, first, second):
    if first.ndim != 1 or first.shape != second.shape or first.dtype is not second.dtype or first.itemsize == 2:
        return NotImplemented
    if first.dtype in PARTS:
        return getattr(complex_reductions, name)(first, second)
    return _loss("mul", first, second, "sum")


@kernel_for("soft_margin_loss_pair")
def soft_margin_loss(self, target, reduction):
    if self.itemsize == 2 or self.dtype is not target.dtype:  # half precision overflows in between
        return NotImplemented
    return _loss("soft_margin_loss_pair", self, target, reduction)


def _gradient(name, grad, *values):
    """The gradient of each element: ``values`` as of `_loss`."""
    place = next(i for i, value in enumerate(values) if value.__class__ is str)
    arrays, reduction, options = values[:place], values[place], values[place + 1 :]
    first = arrays[0]
    if grad.dtype != first.dtype or not first.size:
        return NotImplemented
    factor = np.asarray(widened(grad)[()] / first.size) if reduction == "mean" else grad
    return run_elementwise(TABLE[name], (factor, *arrays), options, first.dtype)


for _name in ("mse_loss_pair", "smooth_l1_loss_pair", "huber_loss_pair", "binary_cross_entropy_pair",
              "binary_cross_entropy_with_logits_pair"):  # fmt: skip
    kernel_for(_name)(partial(_loss, _name))
for _name in ("mse_loss_gradient", "smooth_l1_loss_gradient", "huber_loss_gradient"):
    kernel_for(_name)(partial(_gradient, _name))
