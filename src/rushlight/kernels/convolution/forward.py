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


def _plan_sums(source, weight, bias, size, groups, axis, correlations, whole, ways):
    """The Plan of "found", of a size, by a product of matrices or by correlations; and whether what it gives must be looked at.

    ``source``, ``weight``: (name, Layout). ``axis``: the weight's dimension whose channels are added up. ``correlations``:
    makes of the shapes of what is correlated the Operands, and whether they leave no element out. ``whole``: the one
    window is the source.
    """
    (name, x), (of_weight, w), of_bias = source, weight, bias and "bias"
    single, paired = NUMPY["f64" if x.scalar == "f64" else "f32"], pays(x.scalar, x.shape[1] // groups)
    found, before, spaces = Layout(size, x.dtype if paired else single), [], []
    copied = plain_copies(found.dtype, **{name: x, of_weight: w})
    copied |= {} if bias is None else plain_copies(single, bias=bias)
    if paired:
        first, x = plan_pairs(name, x, "pairs", groups)
        second, w = plan_pairs(of_weight, w, "weight_pairs", 1 if axis else groups, axis)
        name, of_weight, before = "pairs", "weight_pairs", [first, second]
        spaces = [(name, x.size, x.dtype), (of_weight, w.size, w.dtype)]
    if whole and not paired:
        matrices = (name, rows_of(x.shape, single)), (of_weight, rows_of(w.shape, single), axis == 1)
        plan, looks, complete = plan_product_of(*matrices, ("found", rows_of(size, single)), of_bias), False, True
    else:
        operands, complete = correlations(x.shape, w.shape)
        names = name, of_weight, of_bias, "found"
        parts = [_correlation(each, x.dtype if paired else single, names, ways) for each in operands]
        plan, looks = joined(Plan([], {}), *[part for part, _ in parts]), any(looks for _, looks in parts)
    return plan._replace(
        launches=[*before, *plan.launches],
        results={"found": found},
        scratch=[*spaces, *plan.scratch],
        copied={**plan.copied, **copied},
        zeroed=plan.zeroed if complete else (*plan.zeroed, "found"),
    ), looks


def forward_operands(input_shape, weight_shape, out, options):
    """The Operands of a convolution, of one correlation that leaves no element out."""
    stride, padding, dilation, groups = options
    axes = lines(forward_axes(input_shape[2:], out, weight_shape[2:], stride, padding, dilation))
    terms, out_channels = math.prod(weight_shape[1:]), weight_shape[0] // groups
    steps = dense_steps(axes)
    sizes = input_shape[0], groups, weight_shape[1], out_channels
    return [Operands(*sizes, axes, np.arange(terms), terms, out_channels * terms, 0, steps)], True


def plan_convolution(input: Spread, weight: Spread, bias: Layout | None, stride, padding, dilation, groups, ways):
    """The Plan of a convolution by one of such ways."""
    scalar, options = common_scalar(input, weight, bias), (stride, padding, dilation, groups)
    if scalar is None:
        return None
    check_fit((input.shape, input.dtype), (weight.shape, weight.dtype), None, *options)
    out = out_lengths(input.shape[2:], weight.shape[2:], *options[:3])
    size = input.shape[0], weight.shape[0], *out
    np.empty(size, input.dtype)  # refused where it is too large, before more is planned
    is_deep = input.is_deep or is_deep_weight(weight)
    operands = "input", "weight", *(() if bias is None else ("bias",))

    def again(ways):
        return lambda x, w, b=None: _convolution(x, w, b, *options, ways)

    found = on_tiles.plan_forward(input, weight, bias, out, scalar, is_deep, options) if ways >= TILES else None
    if found is not None:
        plan, is_exact = found
        return plan if is_exact else computed_again(plan, again(WINOGRAD), *operands)
    whole = is_whole(input.shape[2:], weight.shape[2:], padding, groups)
    sources, correlations = (("input", input), ("weight", weight)), partial(forward_operands, out=out, options=options)
    plan, looks = _plan_sums(*sources, bias, size, groups, 1, correlations, whole, ways)
    plan = computed_again(plan, again(SUMS), *operands) if looks else plan
    return plan._replace(given=given_as(plan.results["found"], input.dtype, is_deep))


_convolution = operation(plan_convolution)


@plan_for("convolution")
def convolution(input: Spread, weight: Spread, bias: Layout | None, stride, padding, dilation, groups):
    """See ``ops.conv.convolution``; half precision is added up in float32."""
    return plan_convolution(input, weight, bias, stride, padding, dilation, groups, TILES)


# ---------------------------------------------------------------- the input's gradient


def gradient_operands(grad_shape, weight_shape, input_size, options):
    """The Operands of the correlations that give an input's gradient, one for each combination of residues; and whether they
    leave no element out."""
    stride, padding, dilation, groups = options
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
    np.empty(input_size, grad.dtype)  # refused where it is too large, before more is planned
    is_deep = grad.is_deep or is_deep_weight(weight)

    def again(ways):
        return lambda g, w: _input_gradient(g, w, input_size, *options, ways)

    look = Condition(partial(_knows_no_zeros, stride), ("found", "weight"))
    found = on_tiles.plan_input_gradient(grad, weight, input_size, scalar, is_deep, options) if ways >= TILES else None
    if found is not None:
        plan, is_exact = found
        plan = plan if is_exact else computed_again(plan, again(WINOGRAD), "grad", "weight")
        return plan._replace(launches=[*plan.launches, look])
    whole = is_whole(input_size[2:], weight.shape[2:], padding, groups)
    sources, correlations = (
        (("grad", grad), ("weight", weight)),
        partial(gradient_operands, input_size=input_size, options=options),
    )
    plan, looks = _plan_sums(*sources, None, input_size, groups, 0, correlations, whole, ways)
    plan = computed_again(plan, again(SUMS), "grad", "weight") if looks else plan
    given = given_as(plan.results["found"], grad.dtype, is_deep)
    return plan._replace(launches=[*plan.launches, look], given=given)


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
