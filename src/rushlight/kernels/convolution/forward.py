"""Convolution and its input's gradient (which is also the transposed convolution): on the tile unit, or correlations."""

from __future__ import annotations

import math

import numpy as np

from ...ops.conv_checks import check_fit
from ..elementwise.layouts import common_scalar, given, is_deep, is_deep_weight, plain
from ..language.value_types import NUMPY
from ..machine.host import host
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from ..windows.axes import combined_phases, dense_steps, forward_axes, lines, out_lengths
from . import depthwise, on_tiles, winograd
from .correlation import Correlation, Operands
from .pairs import in_pairs, pays
from .products import Whole, WholeInputGradient, is_whole

_forward_plans, _gradient_plans = Plans(), Plans()
_direct_gradients = Plans()  # the same for gradients of the input
_direct = Plans()  # forms of the arrays and options -> (plan, shape of the result): of calls that copy nothing


def _plan(operands, dtype, biased, vector_bytes):
    """What computes a correlation."""

    def plain():
        return Correlation(operands, dtype, biased, vector_bytes)

    # Of a pair of channels each group may have one: that is no depthwise convolution of 32-bit floats.
    if dtype.kind == "f" and depthwise.applies(operands, (vector_bytes or host().vector_bytes) // dtype.itemsize):
        return depthwise.Depthwise(operands, dtype, biased, vector_bytes)
    if winograd.applies(operands, dtype):
        return winograd.Winograd(operands, biased, plain, vector_bytes)
    return plain()


def plan_forward(input_shape, weight_shape, out, dtype, biased, stride, padding, dilation, groups, vector_bytes=None):
    """The Correlation of a convolution, or its like."""
    if dtype.kind == "f" and is_whole(input_shape[2:], weight_shape[2:], padding, groups):
        return Whole()
    axes = lines(forward_axes(input_shape[2:], out, weight_shape[2:], stride, padding, dilation))
    terms = math.prod(weight_shape[1:])
    out_channels = weight_shape[0] // groups
    operands = Operands(
        input_shape[0], groups, weight_shape[1], out_channels, axes, np.arange(terms), terms, out_channels * terms, 0,
        dense_steps(axes),
    )  # fmt: skip
    return _plan(operands, dtype, biased, vector_bytes)


@kernel_for("convolution")
def convolution(input, weight, bias, stride, padding, dilation, groups):
    """See ``ops.conv.convolution``; half precision is added up in float32."""
    options = tuple(stride), tuple(padding), tuple(dilation), groups
    forms = [(a.shape, a.strides, a.dtype) for a in (input, weight, bias) if a is not None]
    key = (*forms, *options)
    direct = _direct.get(key)
    if direct is not None and input.flags.aligned and weight.flags.aligned and (bias is None or bias.flags.aligned):
        plan, shape = direct
        found = np.empty(shape, input.dtype)
        plan(input, weight, bias, found)
        return found
    return _convolution(input, weight, bias, options, key)


def _convolution(input, weight, bias, options, key):
    """As above; where nothing has to be copied or decided anew the plan is kept in ``_direct``."""
    scalar = common_scalar(input, weight, *(() if bias is None else (bias,)))
    if scalar is None:
        return NotImplemented
    check_fit((input.shape, input.dtype), (weight.shape, weight.dtype), None, *options)
    groups = options[-1]
    out = out_lengths(input.shape[2:], weight.shape[2:], *options[:3])
    deep = is_deep(input) or is_deep_weight(weight)
    found = on_tiles.forward(input, weight, bias, out, scalar, deep, options)
    if found is not None:
        return found
    dtype = NUMPY["f64" if scalar == "f64" else "f32"]
    if pays(scalar, weight.shape[1]):
        x, w, result = in_pairs(input, groups), in_pairs(weight), input.dtype
    else:
        x, w, result = plain(input, dtype), plain(weight, dtype), dtype
    b = None if bias is None else plain(bias, dtype)
    found = np.empty(
        (x.shape[0], w.shape[0], *out), result
    )  # refused where it is too large, before anything is planned
    plan = _forward_plans.remembered((x.shape, w.shape, out, x.dtype, b is not None, *options), plan_forward)
    if x is input and w is weight and b is bias and not deep and not on_tiles.may_pay(scalar, weight.shape, groups):
        _direct[key] = plan, found.shape
    plan(x, w, b, found)
    return given(found, input.dtype, deep)


# ---------------------------------------------------------------- the input's gradient


def plan_input_gradient(
    grad_shape, weight_shape, input_size, dtype, stride, padding, dilation, groups, vector_bytes=None
):
    """The correlations, one for each combination of residues; and whether they leave no element out."""
    lengths, taps = input_size[2:], math.prod(weight_shape[2:])
    if dtype.kind == "f" and is_whole(lengths, weight_shape[2:], padding, groups):
        return [WholeInputGradient()], True
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
        found.append(_plan(operands, dtype, False, vector_bytes))
        covered += math.prod(a.out for a in axes)
    return found, covered == math.prod(lengths)


@kernel_for("convolution_input_gradient")
def convolution_input_gradient(grad, weight, input_size, stride, padding, dilation, groups):
    """See ``ops.conv.convolution_input_gradient``; half precision is added up in float32.

    Kernels multiply weights by zeros around the gradient, which gives NaN where a weight is not finite: then NumPy, which
    knows no such zeros, computes it again.
    """
    found = _with_zeros(grad, weight, input_size, stride, padding, dilation, groups)
    if found is NotImplemented or _is_finite_at_corner(found, stride) or np.isfinite(weight).all():
        return found
    return NotImplemented


@kernel_for("transposed_convolution")
def transposed_convolution(input, weight, bias, size, stride, padding, dilation, groups):
    """See ``ops.conv.transposed_convolution``."""
    found = convolution_input_gradient(input, weight, size, stride, padding, dilation, groups)
    if found is not NotImplemented and bias is not None:
        found += bias.reshape((-1,) + (1,) * len(stride))
    return found


def _is_finite_at_corner(found, stride):
    """Whether the first elements of each channel are finite, which a weight that is not reaches if it reaches any."""
    if not found.size:
        return True
    if found.dtype.kind == "f" and not any(s > 1 for s in stride):
        corner = found[(0, slice(None), *(0,) * len(stride))]
        total = corner.dot(corner)
    else:
        total = np.add.reduce(found[(0, slice(None), *(slice(s) for s in stride))], None, np.float64)
    return math.isfinite(total)


def _with_zeros(grad, weight, input_size, stride, padding, dilation, groups):
    input_size, options = tuple(input_size), (tuple(stride), tuple(padding), tuple(dilation), groups)
    key = (grad.shape, grad.strides, grad.dtype, weight.shape, weight.strides, weight.dtype, input_size, *options)
    direct = _direct_gradients.get(key)
    if direct is not None and grad.flags.aligned and weight.flags.aligned:
        correlations, new = direct
        found = new(input_size, grad.dtype)
        for correlation in correlations:
            correlation(grad, weight, None, found)
        return found
    return _input_gradient(grad, weight, input_size, options, key)


def _input_gradient(grad, weight, input_size, options, key):
    """As above; where nothing has to be copied or decided anew the plan is kept in ``_direct_gradients``."""
    scalar, groups = common_scalar(grad, weight), options[-1]
    if scalar is None or 0 in input_size:
        return NotImplemented
    check_fit((input_size, grad.dtype), (weight.shape, weight.dtype), (grad.shape, grad.dtype), *options)
    deep = is_deep(grad) or is_deep_weight(weight)
    found = on_tiles.input_gradient(grad, weight, input_size, scalar, deep, options)
    if found is not None:
        return found
    dtype = NUMPY["f64" if scalar == "f64" else "f32"]
    if pays(scalar, grad.shape[1] // groups):
        g, w, result = in_pairs(grad, groups), in_pairs(weight, groups, 0), grad.dtype
    else:
        g, w, result = plain(grad, dtype), plain(weight, dtype), dtype
    np.empty(input_size, result)  # refused where it is too large, before anything is planned
    arguments = (g.shape, w.shape, input_size, g.dtype, *options)
    correlations, complete = _gradient_plans.remembered(arguments, plan_input_gradient)
    new = np.empty if complete else np.zeros
    found = new(input_size, result)
    if g is grad and w is weight and not deep and not on_tiles.may_pay(scalar, weight.shape, groups):
        _direct_gradients[key] = correlations, new
    for correlation in correlations:
        correlation(g, w, None, found)
    return given(found, grad.dtype, deep)
