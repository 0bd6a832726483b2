"""Convolution and its input's gradient (which is also the transposed convolution): on the tile unit, or correlations."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...ops.conv_checks import check_fit
from ...ops.moving import write
from ..language.value_types import NUMPY
from ..planning.layout import FLOATS, Layout, Spread, deep, lanes_for, plain_copies
from ..planning.plan import Condition, HostStep, Plan, joined
from ..planning.runner import operation, plan_for
from ..products.matmul import plan_product_of
from ..windows.axes import combined_phases, dense_steps, forward_axes, lines, out_lengths
from . import depthwise, on_tiles, winograd
from .correlation import Correlation, Operands
from .pairs import pays, plan_pairs
from .products import is_whole, rows_of

# Which algorithms are asked. Tiles and Winograd's give NaN where plain sums may not: these are then computed by the next.
SUMS, WINOGRAD, TILES = range(3)


def common_scalar(*layouts):
    """The scalar of floating-point arrays of one dtype that all have elements, but for None; else None."""
    first = layouts[0]
    there = [each for each in layouts if each is not None]
    fits = first.scalar in FLOATS and all(each.dtype == first.dtype and each.size for each in there)
    return first.scalar if fits else None


def is_deep_weight(weight):
    """Whether channels lie side by side; the weight of lines counts as one of images of height 1, as PyTorch makes of it."""
    if weight.ndim == 3:
        (samples, channels, length), (far, near, step) = weight.shape, weight.spread().strides
        weight = Layout((samples, channels, 1, length), weight.dtype, (far, near, length * step, step))
    return weight.is_deep


def given_as(found, dtype, is_deep):
    """For a Plan's ``given``: the dtype and order in which a plain result is returned, where these are others."""
    if found.dtype == dtype and not is_deep:
        return {}
    return {"found": deep(found.shape, dtype) if is_deep else Layout(found.shape, dtype)}


def computed_again(plan, compute, *names):
    """The Plan that lets its result be computed by ``compute``, of arrays of such names, where its "flags" say so."""

    def again(flags, found, *arrays):
        if flags.any():
            write(found, compute(*arrays))

    return plan._replace(launches=[*plan.launches, HostStep(again, ("flags", "found", *names))])


def _correlation(operands, dtype, names, ways):
    """The Plan of a correlation of arrays of such names: source, weight, bias (or None), and what is written; whether what it
    gives must be looked at."""
    # Of a pair of channels each group may have one: that is no depthwise convolution of 32-bit floats.
    scalar = "f64" if dtype.itemsize == 8 else "f32"
    if dtype.kind == "f" and depthwise.applies(operands, lanes_for(scalar)):
        return depthwise.plan_depthwise(operands, scalar, names), False
    if ways >= WINOGRAD and winograd.applies(operands, dtype):
        return winograd.plan_winograd(operands, names), True
    return Correlation(operands, dtype, names[2] is not None).plan(*names), False


def _sources(scalar, groups, channels, source, weight, *axis):
    """How the operands, pairs (name, Layout), are read by correlations over so many channels: {name: dtype of a copy}, launches
    before, scratch memory, and them as such pairs."""
    dtype = NUMPY["f64" if scalar == "f64" else "f32"]
    (name, x), (of_weight, w) = source, weight
    if not pays(scalar, channels):
        pairs = (name, Layout(x.shape, dtype)), (of_weight, Layout(w.shape, dtype))
        return plain_copies(dtype, **dict((source, weight))), [], [], *pairs
    first, x_pairs = plan_pairs(name, x, "source_pairs", groups)
    second, w_pairs = plan_pairs(of_weight, w, "weight_pairs", *axis)
    spaces = [
        (name, layout.size, layout.dtype) for name, layout in (("source_pairs", x_pairs), ("weight_pairs", w_pairs))
    ]
    pairs = ("source_pairs", x_pairs), ("weight_pairs", w_pairs)
    return plain_copies(x.dtype, **dict((source, weight))), [first, second], spaces, *pairs


def forward_operands(input_shape, weight_shape, out, stride, padding, dilation, groups):
    """The Operands of a convolution."""
    axes = lines(forward_axes(input_shape[2:], out, weight_shape[2:], stride, padding, dilation))
    terms, out_channels = math.prod(weight_shape[1:]), weight_shape[0] // groups
    steps = dense_steps(axes)
    sizes = input_shape[0], groups, weight_shape[1], out_channels
    return Operands(*sizes, axes, np.arange(terms), terms, out_channels * terms, 0, steps)


def plan_convolution(input: Spread, weight: Spread, bias: Layout | None, stride, padding, dilation, groups, ways):
    """The Plan of a convolution by one of such ways."""
    scalar, options = common_scalar(input, weight, bias), (stride, padding, dilation, groups)
    if scalar is None:
        return None
    check_fit((input.shape, input.dtype), (weight.shape, weight.dtype), None, *options)
    out = out_lengths(input.shape[2:], weight.shape[2:], *options[:3])
    is_deep = input.is_deep or is_deep_weight(weight)
    operands = "input", "weight", *(() if bias is None else ("bias",))
    of_bias = None if bias is None else "bias"

    def again(ways):
        return lambda x, w, b=None: _convolution(x, w, b, *options, ways)

    found = on_tiles.plan_forward(input, weight, bias, out, scalar, is_deep, options) if ways >= TILES else None
    if found is not None:
        plan, is_exact = found
        return plan if is_exact else computed_again(plan, again(WINOGRAD), *operands)
    channels = weight.shape[1]
    copied, before, spaces, (source, x), (of_weight, w) = _sources(
        scalar, groups, channels, ("input", input), ("weight", weight)
    )
    single = NUMPY["f64" if scalar == "f64" else "f32"]
    copied |= {} if bias is None else plain_copies(single, bias=bias)
    result = Layout((input.shape[0], weight.shape[0], *out), input.dtype if before else single)
    if x.dtype.kind == "f" and is_whole(x.shape[2:], w.shape[2:], padding, groups):
        rows = ("found", rows_of(result.shape, single))
        matrices = (source, rows_of(x.shape, single)), (of_weight, rows_of(w.shape, single), True)
        plan, looks = plan_product_of(*matrices, rows, of_bias), False
    else:
        correlated = forward_operands(x.shape, w.shape, out, *options)
        plan, looks = _correlation(correlated, x.dtype, (source, of_weight, of_bias, "found"), ways)
    plan = computed_again(plan, again(SUMS), *operands) if looks else plan
    return plan._replace(
        launches=[*before, *plan.launches],
        results={"found": result},
        scratch=[*spaces, *plan.scratch],
        copied={**plan.copied, **copied},
        given=given_as(result, input.dtype, is_deep),
    )


_convolution = operation(plan_convolution)


@plan_for("convolution")
def convolution(input: Spread, weight: Spread, bias: Layout | None, stride, padding, dilation, groups):
    """See ``ops.conv.convolution``; half precision is added up in float32."""
    return plan_convolution(input, weight, bias, stride, padding, dilation, groups, TILES)


# ---------------------------------------------------------------- the input's gradient


def gradient_operands(grad_shape, weight_shape, input_size, stride, padding, dilation, groups):
    """The Operands of the correlations that give an input's gradient, one for each combination of residues; and whether they
    leave no element out."""
    lengths, taps = input_size[2:], math.prod(weight_shape[2:])
    out_channels, channels = weight_shape[0] // groups, weight_shape[1]
    element_steps = [math.prod(lengths[i + 1 :]) for i in range(len(lengths))]
    whole_steps = [0] * (3 - len(lengths)) + element_steps
    found, covered = [], 0
    for axes, places, residues in combined_phases(lengths, grad_shape[2:], weight_shape[2:], stride, padding, dilation):
        terms = (np.arange(out_channels)[:, None] * (channels * taps) + np.array(places)).reshape(-1)
        steps = [element * step for element, step in zip(element_steps, stride)]
        steps = (math.prod(lengths), *[0] * (3 - len(steps)), *steps)
        begin = sum(residue * element for residue, element in zip(residues, whole_steps))
        if all(s == 1 for s in stride) and lines(axes) is not axes:
            axes = lines(axes)
            steps = dense_steps(axes)
        operands = Operands(
            input_size[0], groups, out_channels, channels, axes, terms, taps, out_channels * channels * taps, begin, steps
        )  # fmt: skip
        found.append(operands)
        covered += math.prod(a.out for a in axes)
    return found, covered == math.prod(lengths)


def plan_input_gradient(grad: Spread, weight: Spread, input_size, stride, padding, dilation, groups, ways):
    """The Plan of the gradient of a convolution's input by one of such ways.

    Kernels multiply weights by zeros around the gradient, which gives NaN where a weight is not finite: then NumPy, which
    knows no such zeros, computes it again.
    """
    scalar, options = common_scalar(grad, weight), (stride, padding, dilation, groups)
    if scalar is None or 0 in input_size:
        return None
    check_fit((input_size, grad.dtype), (weight.shape, weight.dtype), (grad.shape, grad.dtype), *options)
    is_deep = grad.is_deep or is_deep_weight(weight)

    def again(ways):
        return lambda g, w: _input_gradient(g, w, input_size, *options, ways)

    look = Condition(partial(_knows_no_zeros, stride), ("found", "weight"))
    found = on_tiles.plan_input_gradient(grad, weight, input_size, scalar, is_deep, options) if ways >= TILES else None
    if found is not None:
        plan, is_exact = found
        plan = plan if is_exact else computed_again(plan, again(WINOGRAD), "grad", "weight")
        return plan._replace(launches=[*plan.launches, look])
    copied, before, spaces, (source, g), (of_weight, w) = _sources(
        scalar, groups, grad.shape[1] // groups, ("grad", grad), ("weight", weight), groups, 0
    )
    single, zeroed = NUMPY["f64" if scalar == "f64" else "f32"], ()
    result = Layout(input_size, grad.dtype if before else single)
    if g.dtype.kind == "f" and is_whole(input_size[2:], w.shape[2:], padding, groups):
        rows = ("found", rows_of(input_size, single))
        plan = plan_product_of((source, rows_of(g.shape, single)), (of_weight, rows_of(w.shape, single)), rows)
    else:
        phases, complete = gradient_operands(g.shape, w.shape, input_size, *options)
        names = source, of_weight, None, "found"
        parts = [_correlation(each, g.dtype, names, ways) for each in phases]
        plan = joined(Plan([], {}), *[part for part, _ in parts])
        plan = computed_again(plan, again(SUMS), "grad", "weight") if any(looks for _, looks in parts) else plan
        zeroed = () if complete else ("found",)
    return plan._replace(
        launches=[*before, *plan.launches, look],
        results={"found": result},
        scratch=[*spaces, *plan.scratch],
        copied={**plan.copied, **copied},
        given=given_as(result, grad.dtype, is_deep),
        zeroed=(*plan.zeroed, *zeroed),
    )


_input_gradient = operation(plan_input_gradient)


def _knows_no_zeros(stride, found, weight):
    """Whether no weight that is not finite was multiplied by a zero around the gradient."""
    return _is_finite_at_corner(found, stride) or bool(np.isfinite(weight).all())


def _is_finite_at_corner(found, stride):
    """Whether the first elements of each channel are finite, which a weight that is not reaches if it reaches any."""
    if found.dtype.kind == "f" and not any(s > 1 for s in stride):
        corner = found[(0, slice(None), *(0,) * len(stride))]
        total = corner.dot(corner)
    else:
        total = np.add.reduce(found[(0, slice(None), *(slice(s) for s in stride))], None, np.float64)
    return math.isfinite(total)


@plan_for("convolution_input_gradient")
def convolution_input_gradient(grad: Spread, weight: Spread, input_size, stride, padding, dilation, groups):
    """See ``ops.conv.convolution_input_gradient``; half precision is added up in float32."""
    return plan_input_gradient(grad, weight, input_size, stride, padding, dilation, groups, TILES)


@plan_for("transposed_convolution")
def transposed_convolution(input: Spread, weight: Spread, bias: Layout | None, size, stride, padding, dilation, groups):
    """See ``ops.conv.transposed_convolution``: the bias is added to what is given without one."""
    plan = plan_input_gradient(input, weight, size, stride, padding, dilation, groups, TILES)
    plan = plan and plan.named({"grad": "input"})
    if plan is None or bias is None:
        return plan
    add = HostStep(_add_bias, ("found", "bias"))
    if not plan.given:
        return plan._replace(launches=[*plan.launches, add])
    given, sums = plan.given["found"], plan.results["found"]
    plan = plan._replace(given={}).named({"found": "sums"})
    scratch = [*plan.scratch, ("sums", sums.shape, sums.dtype)]
    launches = [*plan.launches, HostStep(write, ("found", "sums")), add]
    return plan._replace(launches=launches, results={"found": given}, scratch=scratch)


def _add_bias(found, bias):
    found += bias.reshape((-1,) + (1,) * (found.ndim - 2))
