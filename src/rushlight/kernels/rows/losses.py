"""Kernels of losses of pairs, and dot: each element by the operation's formula and their sum in one pass; gradients too."""

from __future__ import annotations

import numpy as np

from ...base.arrays import result_order
from ...ops.table import TABLE, widened
from ..compiler.trace import Emission, Number, Traced, Trail, Untraceable, formula_of
from ..elementwise.complex_functions import PARTS
from ..elementwise.evaluation import evaluation
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, computed_in, pointer, vector
from ..planning.layout import FLOATS, Layout, lanes_for
from ..planning.plan import Launch, Made, Plan
from ..planning.runner import plan_for
from . import complex_reductions
from .reduce_programs import PART, ceiling
from .spans import RowSpan

_NANOSECONDS = 0.153  # for an element
_VECTORS = 4  # side by side, so that their additions overlap


def build(traced, sources, numbers, lanes):
    """The Program of the sum of a formula's values over contiguous arrays of scalar types ``sources``, divided.

    ``numbers`` says how many parameters the formula has. Each value is rounded to the first array's, as if the values had been written down. Parts of `PART` elements are added up
    on their own, and at last their sums.
    """
    name, result, scalar = "sum_of_pairs", sources[0], computed_in(sources[0])
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
            value = emission.lifted(traced.formula(emission, *elements), span.type)
            value = builder.convert(builder.convert(value, result), scalar)
            return [span.only(mask, value, builder.constant(0, span.type))]

        builder.store(span.sums(terms)[0], work, number)
    with builder.parallel(1):
        span = RowSpan(builder, [work], parts, lanes, scalar)
        total = span.sums(lambda pointers, index, mask: [span.load(pointers[0], index, mask)])[0]
        builder.store(builder.convert(total / divisor, result), out)
    return Program(name, [builder.function])


def _traced(name, operands, options):
    """(the operation's formula of the elements of the operands that are present, the numbers that are its parameters); None
    where it cannot be traced."""
    scalar = computed_in(operands[0].scalar)
    numbers, element = [Number(option) for option in options], formula_of(TABLE[name], NUMPY[scalar])
    is_absent = [layout is None for layout in operands]

    def formula(m, *elements):
        elements = iter(elements)
        return element(m, *(None if absent else next(elements) for absent in is_absent), *numbers)

    trail = Trail([NUMPY[scalar]] * is_absent.count(False))
    try:
        formula(trail, *trail.elements)
    except Untraceable:
        return None
    return Traced(name, formula, trail.steps), trail.numbers


def _loss(name, operands, reduction, options=()):
    """The Plan of the sum or mean of a loss, or of the loss of each element: ``operands`` maps names to Layouts."""
    first, present = operands["self"], {name: layout for name, layout in operands.items() if layout is not None}
    if reduction == "none":
        return _each(name, operands, options)
    if not first.size or any(each.scalar not in FLOATS or each.shape != first.shape for each in present.values()):
        return None
    sources, scalar = tuple([layout.scalar for layout in present.values()]), computed_in(first.scalar)
    found = _traced(name, list(operands.values()), options)
    if found is None or any(
        computed_in(each) != scalar or not present[x].is_plain for each, x in zip(sources, present)
    ):
        return None
    traced, numbers = found
    form = traced, sources, len(numbers), lanes_for(first.scalar) * _VECTORS
    sizes = first.size, float(first.size) if reduction == "mean" else 1.0
    launch = Launch(build, form, (*present, "work", "out", *sizes, *numbers), first.size * _NANOSECONDS, f"sum_{name}")
    work = "work", ceiling(first.size, PART), NUMPY[scalar]
    return Plan([launch], {"out": Layout((), first.dtype)}, [work])


def _each(name, operands, options):
    """The Plan of the loss of each element."""
    first = operands["self"]
    shape = np.broadcast_shapes(*[layout.shape for layout in operands.values() if layout is not None])
    patterns = TABLE[name].patterns(*[layout and layout.spread() for layout in operands.values()])
    order, out = result_order(patterns, shape), Layout(shape, first.dtype)
    if order is not None:
        laid = Layout(tuple([shape[axis] for axis in order]), first.dtype)
        out = laid.turned([order.index(axis) for axis in range(len(order))])
    found = evaluation(TABLE[name], _pairs(operands), options, first.dtype, out=out)
    return found and Plan([found[0]], {"out": out})


def _pairs(operands):
    return [layout and (name, layout) for name, layout in operands.items()]


def _distance(name):
    @plan_for(name)
    def plan(self: Layout, target: Layout, reduction, parameter):
        return _loss(name, {"self": self, "target": target}, reduction, (parameter,))


for _name in ("mse_loss_pair", "smooth_l1_loss_pair", "huber_loss_pair"):
    _distance(_name)


@plan_for("binary_cross_entropy_pair")
def binary_cross_entropy(self: Layout, target: Layout, weight: Layout | None, reduction):
    return _loss("binary_cross_entropy_pair", {"self": self, "target": target, "weight": weight}, reduction)


@plan_for("binary_cross_entropy_with_logits_pair")
def binary_cross_entropy_with_logits(
    self: Layout, target: Layout, weight: Layout | None, pos_weight: Layout | None, reduction
):
    operands = {"self": self, "target": target, "weight": weight, "pos_weight": pos_weight}
    return _loss("binary_cross_entropy_with_logits_pair", operands, reduction)


@plan_for("soft_margin_loss_pair")
def soft_margin_loss(self: Layout, target: Layout, reduction):
    if self.itemsize == 2 or self.dtype != target.dtype:  # half precision overflows in between
        return None
    return _loss("soft_margin_loss_pair", {"self": self, "target": target}, reduction)


@plan_for("dot")
def dot(self: Layout, tensor: Layout):
    return _dot("dot", {"self": self, "tensor": tensor})


@plan_for("vdot")
def vdot(self: Layout, other: Layout):
    return _dot("vdot", {"self": self, "other": other})


def _dot(name, operands):
    first, second = operands.values()
    if first.ndim != 1 or first.shape != second.shape or first.dtype != second.dtype or first.itemsize == 2:
        return None
    return complex_reductions.plan(name, operands) if first.dtype in PARTS else _loss("mul", operands, "sum")


def _share(grad, count):
    """The gradient of each element's loss, where their mean was taken, as a number of single precision at least."""
    return (widened(grad)[()] / count).item()


def _gradient(name):
    @plan_for(name)
    def plan(grad: Layout, self: Layout, target: Layout, reduction, parameter):
        if grad.dtype != self.dtype or self.scalar not in FLOATS or not self.size:
            return None
        made = {}
        if reduction == "mean":
            grad = Layout((), NUMPY[computed_in(grad.scalar)])
            made = {"factor": Made(_share, ("grad", self.size))}
        elif not grad.ndim:
            made = {"factor": Made(np.ndarray.item, ("grad",))}
        operands = [("factor" if made else "grad", grad), ("self", self), ("target", target)]
        found = evaluation(TABLE[name], operands, (parameter,), self.dtype)
        return found and Plan([found[0]], {"out": found[1]}, made=made)


for _name in ("mse_loss_gradient", "smooth_l1_loss_gradient", "huber_loss_gradient"):
    _gradient(_name)
