"""Kernels of layer, root mean square, group and batch norms, and of their gradients."""

from __future__ import annotations

import math

from ..language.value_types import NUMPY, computed_in
from ..planning.layout import FLOATS, Layout, lanes_for
from ..planning.plan import Launch, Passed, Plan
from ..planning.runner import plan_for
from .norm_programs import ChannelSums, Normalise, NormGradient, RootNormalise, RootNormGradient, build_row_gradients
from .reduce_programs import PART, ceiling
from .row_programs import build, column_plan, row_plan, workspaces

_NANOSECONDS = 0.3  # for an element

_OPERATIONS = {  # name -> the RowOperation for a scalar type, pairs of the names of parameters and their types, and options
    "layer_norm": lambda source, affine: Normalise(source, dict(affine), "element"),
    "batch_norm": lambda source, affine, *options: Normalise(source, dict(affine), "row", *options),
    "group_norm": lambda source, affine: Normalise(source, dict(affine), "segment"),
    "rms_norm": lambda source, affine: RootNormalise(source, dict(affine)),
    "layer_norm_gradients": lambda source, affine: NormGradient(source, dict(affine), "element"),
    "batch_norm_gradients": lambda source, affine, through: NormGradient(source, dict(affine), "row", through),
    "group_norm_gradients": lambda source, affine: NormGradient(source, dict(affine), "segment"),
    "group_norm_channels": lambda source: ChannelSums(source),
    "rms_norm_gradients": lambda source, affine: RootNormGradient(source, dict(affine)),
}


def program(name, form, kind, lanes):
    """The Program of an operation."""
    return build(name, _OPERATIONS[name](*form), kind, lanes)


def gradients_program(name, form, lanes, single):
    """The Program of the gradients of an operation whose parameters belong to the elements of rows."""
    return build_row_gradients(name, _OPERATIONS[name](*form), lanes, single)


def _launch(name, form, rows, x, arguments):
    """(Launch, workspaces) of an operation on the rows of a RowPlan."""
    works = workspaces(rows, _OPERATIONS[name](*form), f"{name}_work")
    given = (*arguments, *[work for work, _, _ in works], *rows.sizes)
    return Launch(program, (name, form, rows.kind, lanes_for(x.scalar)), given, x.size * _NANOSECONDS, name), works


def _fits(*layouts):
    """Whether the arrays that are there are plain and of types that the kernels know, and there is something to do."""
    return layouts[0].size > 0 and all(each is None or (each.is_plain and each.scalar in FLOATS) for each in layouts)


def _statistics(x, shape):
    return Layout(shape, NUMPY[computed_in(x.scalar)])


def _belong(grad, x, of_rows, statistics, weight=None, length=0):
    """Whether the arrays of a gradient fit together: what backward saved may have got other memory through ``.data``."""
    kind = NUMPY[computed_in(x.scalar)]
    return (
        grad == x
        and all(each.size == of_rows and each.dtype == kind and each.is_plain for each in statistics)
        and (weight is None or weight.size == length)
    )


def _given(**parameters):
    """The names of the parameters that are there, and pairs of these and their scalar types."""
    there = {name: layout.scalar for name, layout in parameters.items() if layout is not None}
    return tuple(there), tuple(there.items())


# ---------------------------------------------------------------- layer norm


def _lead(x, normalized_shape):
    return x.shape[: x.ndim - len(normalized_shape)] + (1,) * len(normalized_shape)


def _rows(x, normalized_shape):
    length = math.prod(normalized_shape)
    return row_plan(x.size // length, 1, length, lanes_for(x.scalar))


@plan_for("layer_norm_parts")
def layer_norm(input: Layout, normalized_shape, weight: Layout | None, bias: Layout | None, eps: Passed):
    if not _fits(input, weight, bias):
        return None
    names, affine = _given(weight=weight, bias=bias)
    arguments = "input", "out", *names, "mean", "scale", eps
    launch, works = _launch("layer_norm", (input.scalar, affine), _rows(input, normalized_shape), input, arguments)
    statistics = _statistics(input, _lead(input, normalized_shape))
    return Plan([launch], {"out": input, "mean": statistics, "scale": statistics}, works)


def _plan_row_gradients(name, grad, input, normalized_shape, weight, statistics):
    """The Plan of the gradients of input, weight and bias; of a norm without a mean there are no biases."""
    length = math.prod(normalized_shape)
    if not _fits(input, weight) or not _belong(grad, input, input.size // length, statistics.values(), weight, length):
        return None
    rows, machine = input.size // length, lanes_for(input.scalar)
    multiple = 1 if length <= machine else 2 if length <= 2 * machine else 4
    lanes = machine * multiple
    # Few chunks mean few sums over the rows of chunks, many mean work for many threads.
    chunk = max(ceiling(PART, length), ceiling(rows, 256))
    chunks = ceiling(rows, chunk)
    names, affine = _given(weight=weight)
    parameters = ("weight", "bias")[: len(statistics)]
    results = {"out": input, **{f"d_{each}": Layout(normalized_shape, input.dtype) for each in parameters}}
    works = [(f"work_{each}", chunks * length, NUMPY[computed_in(input.scalar)]) for each in parameters]
    arguments = ("grad", "input", "out", *names, *statistics, length, *list(results)[1:], *[work for work, _, _ in works],
                 rows, length, chunk, chunks, ceiling(length, lanes))  # fmt: skip
    form = name, (input.scalar, affine), lanes, length <= 4 * machine
    return Plan([Launch(gradients_program, form, arguments, input.size * _NANOSECONDS, name)], results, works)


@plan_for("layer_norm_gradients")
def layer_norm_gradients(
    grad: Layout, input: Layout, normalized_shape, weight: Layout | None, bias: Passed, eps: Passed, mean: Layout, scale: Layout
):  # fmt: skip
    statistics = {"mean": mean, "scale": scale}
    return _plan_row_gradients("layer_norm_gradients", grad, input, normalized_shape, weight, statistics)


# ---------------------------------------------------------------- root mean square norm


@plan_for("rms_norm_parts")
def rms_norm(input: Layout, normalized_shape, weight: Layout | None, eps: Passed):
    if not _fits(input, weight):
        return None
    names, affine = _given(weight=weight)
    arguments = "input", "out", *names, "scale", eps, math.prod(normalized_shape)
    launch, works = _launch("rms_norm", (input.scalar, affine), _rows(input, normalized_shape), input, arguments)
    return Plan([launch], {"out": input, "scale": _statistics(input, _lead(input, normalized_shape))}, works)


@plan_for("rms_norm_gradients")
def rms_norm_gradients(
    grad: Layout, input: Layout, normalized_shape, weight: Layout | None, eps: Passed, scale: Layout
):  # fmt: skip
    return _plan_row_gradients("rms_norm_gradients", grad, input, normalized_shape, weight, {"scale": scale})


# ---------------------------------------------------------------- batch norm


def _channels(x):
    """The RowPlan of the channels of (samples, channels, ...)."""
    samples, channels = x.shape[:2]
    length, lanes = math.prod(x.shape[2:]), lanes_for(x.scalar)
    if length == 1:
        return column_plan(1, samples, channels, lanes)
    return row_plan(channels, samples, length, lanes, (length, channels * length))


@plan_for("batch_norm_parts")
def batch_norm(
    input: Layout, weight: Layout | None, bias: Layout | None, running_mean: Layout | None, running_var: Layout | None,
    training, momentum: Passed, eps: Passed,
):  # fmt: skip
    if input.ndim < 2 or not _fits(input, weight, bias, running_mean, running_var):
        return None
    names, affine = _given(weight=weight, bias=bias)
    running, kinds = _given(running_mean=running_mean, running_var=running_var)
    kinds = {kind for _, kind in kinds}
    if len(running) == 1 or len(kinds) > 1:
        return None
    count, channels = input.size // input.shape[1], input.shape[1]
    updates = (momentum, count / max(count - 1, 1)) if training and running else ()
    arguments = "input", "out", *names, "mean", "scale", eps, *running, *updates
    form = input.scalar, affine, training, kinds.pop() if kinds else None
    launch, works = _launch("batch_norm", form, _channels(input), input, arguments)
    statistics = _statistics(input, (channels,))
    return Plan([launch], {"out": input, "mean": statistics, "scale": statistics}, works)


@plan_for("batch_norm_gradients")
def batch_norm_gradients(
    grad: Layout, input: Layout, weight: Layout | None, training, eps: Passed, mean: Layout, scale: Layout
):
    if input.ndim < 2 or not _fits(input, weight):
        return None
    channels = input.shape[1]
    if not _belong(grad, input, channels, (mean, scale), weight, channels):
        return None
    names, affine = _given(weight=weight)
    arguments = "grad", "input", "out", *names, "mean", "scale", input.size // channels, "d_weight", "d_bias"
    form = input.scalar, affine, training
    launch, works = _launch("batch_norm_gradients", form, _channels(input), input, arguments)
    parameter = Layout((channels,), input.dtype)
    return Plan([launch], {"out": input, "d_weight": parameter, "d_bias": parameter}, works)


# ---------------------------------------------------------------- group norm


def _groups(x, groups):
    samples, channels = x.shape[:2]
    return row_plan(samples * groups, channels // groups, math.prod(x.shape[2:]), lanes_for(x.scalar))


@plan_for("group_norm_parts")
def group_norm(input: Layout, weight: Layout | None, bias: Layout | None, num_groups, eps: Passed):
    if not _fits(input, weight, bias):
        return None
    names, affine = _given(weight=weight, bias=bias)
    arguments = "input", "out", *names, "mean", "scale", eps, num_groups, input.shape[1] // num_groups
    launch, works = _launch("group_norm", (input.scalar, affine), _groups(input, num_groups), input, arguments)
    statistics = _statistics(input, (input.shape[0], num_groups))
    return Plan([launch], {"out": input, "mean": statistics, "scale": statistics}, works)


@plan_for("group_norm_gradients")
def group_norm_gradients(
    grad: Layout, input: Layout, weight: Layout | None, num_groups, eps: Passed, mean: Layout, scale: Layout
):
    samples, channels = input.shape[:2]
    groups = samples * num_groups
    if not _fits(input, weight) or not _belong(grad, input, groups, (mean, scale), weight, channels):
        return None
    names, affine = _given(weight=weight)
    sizes = num_groups, channels // num_groups
    arguments = "grad", "input", "out", *names, "mean", "scale", input.size // groups, *sizes
    form = input.scalar, affine
    flow, works = _launch("group_norm_gradients", form, _groups(input, num_groups), input, arguments)
    length = math.prod(input.shape[2:])
    rows = row_plan(channels, samples, length, lanes_for(input.scalar), (length, channels * length))
    arguments = "grad", "input", "mean", "scale", "d_weight", "d_bias", *sizes
    sums, further = _launch("group_norm_channels", (input.scalar,), rows, input, arguments)
    parameter = Layout((channels,), input.dtype)
    return Plan([flow, sums], {"out": input, "d_weight": parameter, "d_bias": parameter}, works + further)
