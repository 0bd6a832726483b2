"""Convolutions and their input's gradients as the tile unit takes them: plans from shapes, and the arrays they need."""

from __future__ import annotations

import math

import numpy as np

from ..planning.layout import Layout, deep, plain_copies
from ..planning.plan import HostStep
from ..windows.axes import combined_phases, forward_axes, lines
from .tiles.forward import Form
from .tiles.forward_plan import Convolution, Phase, dense, is_there, pays, storing_of
from .tiles.weight_plan import WeightGradient

_SINGLE = np.dtype(np.float32)
_FEWEST_CHANNELS = 8


def _forward(shape, weight_shape, out, scalar, deep, deep_result, stride, padding, dilation, groups):
    """The Convolution for such shapes; False where it does not pay."""
    outputs, inputs, taps = weight_shape[0] // groups, weight_shape[1], math.prod(weight_shape[2:])
    axes = forward_axes(shape[2:], out, weight_shape[2:], stride, padding, dilation)
    if not deep and not deep_result:
        axes = lines(axes)
    source = dense(shape[1], [axis.length for axis in axes], deep)
    result = dense(weight_shape[0], [axis.out for axis in axes], deep_result)
    phases = [Phase(tuple(axes), tuple(range(taps)), 0)]
    steps = result[2:]
    form = Form(scalar, source.deep, False, storing_of(result, steps, axes), False)
    weights = outputs * inputs * taps, inputs * taps, taps, taps
    plan = Convolution(shape[0], groups, inputs, outputs, phases, source, result, steps, weights, form)
    return pays(plan, shape[0] * groups * outputs * inputs * taps * math.prod(out)) and plan


def _input_gradient(grad_shape, weight_shape, input_size, scalar, deep, deep_result, stride, padding, dilation, groups):
    """The Convolution for the gradient of such inputs, and whether it leaves no element out; False if it does not pay."""
    outputs, inputs, taps = weight_shape[1], weight_shape[0] // groups, math.prod(weight_shape[2:])
    lengths = (1,) * (5 - len(input_size)) + tuple(input_size[2:])
    result = dense(input_size[1], lengths, deep_result)
    strides = (1,) * (3 - len(stride)) + tuple(stride)
    phases, covered = [], 0
    for axes, places, residues in combined_phases(
        input_size[2:], grad_shape[2:], weight_shape[2:], stride, padding, dilation
    ):
        if not deep and not deep_result and max(strides) == 1:
            axes = lines(axes)
        start = sum(residue * step for residue, step in zip(residues, result[2:]))
        phases.append(Phase(tuple(axes), places, start))
        covered += math.prod(axis.out for axis in axes)
    if not phases:
        return False
    if len(phases) == 1 and phases[0].axes[2].out == math.prod(lengths):
        lengths = (1, 1, math.prod(lengths))  # windows are elements
        result = dense(input_size[1], lengths, deep_result)
    steps = tuple(step * s for step, s in zip(result[2:], strides))
    source = dense(grad_shape[1], [axis.length for axis in phases[0].axes], deep)
    form = Form(scalar, source.deep, True, storing_of(result, steps, phases[0].axes), False)
    weights = inputs * outputs * taps, taps, outputs * taps, taps
    plan = Convolution(grad_shape[0], groups, inputs, outputs, phases, source, result, steps, weights, form)
    done = grad_shape[0] * groups * inputs * outputs * sum(
        len(p.places) * math.prod(axis.out for axis in p.axes) for p in phases
    )  # fmt: skip
    return pays(plan, done) and (plan, covered == math.prod(lengths))


def may_pay(scalar, weight_size, groups):
    """Whether the tile unit is asked for convolutions with a weight of such lengths at all."""
    return scalar != "f64" and is_there() and min(weight_size[0] // groups, weight_size[1]) >= _FEWEST_CHANNELS


def plan_forward(input, weight, bias, out, scalar, deep_result, options):
    """The Plan of the convolution of "input", "weight" and "bias" (or None); None where the tile unit is not there or does not
    pay. Where a number of its scratch array "flags" is not 0 the result, "found", must be computed in another way."""
    if not may_pay(scalar, weight.shape, options[-1]):
        return None
    is_deep = input.is_deep
    convolution = _forward(input.shape, weight.shape, out, scalar, is_deep, deep_result, *options)
    if not convolution:
        return None
    lies = deep if deep_result else Layout
    found = lies((input.shape[0], weight.shape[0], *out), input.dtype)
    copied = {} if is_deep else plain_copies(input.dtype, input=input)
    copied |= plain_copies(weight.dtype, weight=weight)
    given = "bias"
    if bias is None:
        given = np.zeros(weight.shape[0], np.float32)
    else:
        copied |= plain_copies(_SINGLE, bias=bias)
    plan = convolution.plan("input", "weight", given, "found")
    return plan._replace(results={"found": found}, copied=copied), convolution.is_exact


def plan_input_gradient(grad, weight, input_size, scalar, deep_result, options):
    """The same for the gradient of a convolution's input, of "grad" and "weight"."""
    if not may_pay(scalar, weight.shape, options[-1]):
        return None
    is_deep = grad.is_deep
    made = _input_gradient(grad.shape, weight.shape, input_size, scalar, is_deep, deep_result, *options)
    if not made:
        return None
    convolution, complete = made
    plan = convolution.plan("grad", "weight", np.zeros(input_size[1], np.float32), "found")
    clear = [] if complete else [HostStep(np.ndarray.fill, ("found", 0))]
    copied = {} if is_deep else plain_copies(grad.dtype, grad=grad)
    copied |= plain_copies(weight.dtype, weight=weight)
    found = (deep if deep_result else Layout)(input_size, grad.dtype)
    plan = plan._replace(launches=[*clear, *plan.launches], results={"found": found}, copied=copied)
    return plan, convolution.is_exact


def _weight_gradient(shape, weight_size, out, scalar, stride, padding, dilation, groups):
    """The WeightGradient for such shapes; False where it does not pay."""
    outputs, inputs, taps = weight_size[0] // groups, weight_size[1], math.prod(weight_size[2:])
    axes = lines(forward_axes(shape[2:], out, weight_size[2:], stride, padding, dilation))
    source, result = (
        dense(channels, lengths, False)
        for channels, lengths in ((shape[1], [a.length for a in axes]), (weight_size[0], [a.out for a in axes]))
    )
    phase = Phase(tuple(axes), tuple(range(taps)), 0)
    plan = WeightGradient(shape[0], groups, inputs, outputs, phase, source, result, scalar)
    return pays(plan, shape[0] * groups * outputs * inputs * taps * math.prod(out)) and plan


def plan_weight_gradient(grad, input, weight_size, scalar, options):
    """The same for the gradient of a convolution's weight, in float32, of "grad" and "input"."""
    if not may_pay(scalar, weight_size, options[-1]):
        return None
    gradient = _weight_gradient(input.shape, weight_size, grad.shape[2:], scalar, *options)
    if not gradient:
        return None
    copied = plain_copies(grad.dtype, grad=grad, input=input)
    return gradient.plan()._replace(results={"found": Layout(weight_size, _SINGLE)}, copied=copied), gradient.is_exact
