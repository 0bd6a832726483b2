"""Convolution and its input's gradient (which is also the transposed convolution), as correlations."""

from __future__ import annotations

import itertools
import math

import numpy as np

from .correlation import Correlation, Operands
from .plans import Plans
from .routing import kernel_for
from .tiles import convolution_plan as tile_convolutions
from .window_staging import SINGLE, Axis

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_forward_plans, _gradient_plans = Plans(), Plans()


def is_plain(*arrays):
    """Whether all are C-contiguous, aligned arrays of one native floating type with elements."""
    kind = arrays[0].dtype
    if kind not in _FLOATS or not kind.isnative:
        return False
    for array in arrays:
        flags = array.flags
        if array.dtype is not kind and array.dtype != kind:
            return False
        if not (flags.c_contiguous and flags.aligned and array.size):
            return False
    return True


def fits_tiles(array, weight_shape, stride, groups):
    """Whether a convolution is one that the tile unit has programs for: plane, float32, stride 1, one group."""
    return len(weight_shape) == 4 and groups == 1 and array.dtype == _FLOATS[0] and max(stride) == 1


def equal_windows(lengths, out):
    """The windows of adaptive pooling where all of them are of one size, else None."""
    if any(m == 0 or n % m for n, m in zip(lengths, out)):
        return None
    return tuple(n // m for n, m in zip(lengths, out))


def three(axes):
    """One to three axes with those that are missing in front."""
    return (*[SINGLE] * (3 - len(axes)), *axes)


def forward_axes(lengths, out, kernel, stride, padding, dilation):
    """The Axes of a convolution."""
    given = zip(lengths, out, kernel, stride, padding, dilation)
    return three([Axis(n, m, s, -p, tuple(range(0, k * d, d))) for n, m, k, s, p, d in given])


def _lines(axes):
    """Axes of a convolution with one tap: as one line, if windows are elements."""
    if all(a.taps == (0,) and a.stride == 1 and a.start == 0 and a.out == a.length for a in axes):
        length = math.prod(a.length for a in axes)
        return (SINGLE, SINGLE, Axis(length, length, 1, 0, (0,)))
    return axes


def dense_steps(axes):
    """Steps between channels, depths, rows and columns of an output without gaps."""
    depth, height, width = (a.out for a in axes)
    return depth * height * width, height * width, width, 1


def plan_forward(input_shape, weight_shape, out, dtype, biased, stride, padding, dilation, groups, vector_bytes=None):
    """The Correlation of a convolution."""
    axes = _lines(forward_axes(input_shape[2:], out, weight_shape[2:], stride, padding, dilation))
    terms = math.prod(weight_shape[1:])
    out_channels = weight_shape[0] // groups
    operands = Operands(
        input_shape[0], groups, weight_shape[1], out_channels, axes, np.arange(terms), terms, out_channels * terms, 0,
        dense_steps(axes),
    )  # fmt: skip
    return Correlation(operands, dtype, biased, vector_bytes)


@kernel_for("convolution")
def convolution(input, weight, bias, stride, padding, dilation, groups):
    """See ``ops.conv.convolution``: float32 and float64, contiguous."""
    if not is_plain(input, weight, *(() if bias is None else (bias,))):
        return NotImplemented
    lengths, kernel = input.shape[2:], weight.shape[2:]
    given = zip(lengths, kernel, stride, padding, dilation)
    out = tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in given)
    if fits_tiles(input, weight.shape, stride, groups) and tile_convolutions.pays(
        input.shape, weight.shape, (len(input), len(weight), *out)
    ):
        return tile_convolutions.forward(input, weight, bias, padding, dilation)
    arguments = (input.shape, weight.shape, out, input.dtype, bias is not None)
    arguments += (tuple(stride), tuple(padding), tuple(dilation), groups)
    plan = _forward_plans.remembered(arguments, plan_forward)
    found = np.empty((input.shape[0], weight.shape[0], *out), input.dtype)
    plan(input, weight, bias, found)
    return found


# ---------------------------------------------------------------- the input's gradient


def _phases(length, out, taps, stride, padding, dilation):
    """For each residue of the input's positions modulo the stride that any tap meets: (its Axis over the output's
    gradient, the taps that meet it)."""
    for residue in range(min(stride, length)):
        met = [t for t in range(taps) if (residue + padding - t * dilation) % stride == 0]
        if met:
            places = [(residue + padding - t * dilation) // stride for t in met]
            start = min(places)
            count = -(-(length - residue) // stride)
            yield residue, met, Axis(out, count, 1, start, tuple(p - start for p in places))


def plan_input_gradient(
    grad_shape, weight_shape, input_size, dtype, stride, padding, dilation, groups, vector_bytes=None
):
    """The correlations, one for each combination of residues; and whether they leave no element out."""
    kernel, lengths = weight_shape[2:], input_size[2:]
    taps = math.prod(kernel)
    out_channels, channels = weight_shape[0] // groups, weight_shape[1]
    tap_numbers = np.arange(taps).reshape(kernel)
    element_steps = [math.prod(lengths[i + 1 :]) for i in range(len(lengths))]
    found, covered = [], 0
    by_axis = [list(_phases(*each)) for each in zip(lengths, grad_shape[2:], kernel, stride, padding, dilation)]
    for phase in itertools.product(*by_axis):
        axes = three([axis for _, _, axis in phase])
        met = tap_numbers[np.ix_(*(taps for _, taps, _ in phase))].reshape(-1)
        terms = (np.arange(out_channels)[:, None] * (channels * taps) + met).reshape(-1)
        steps = [element * step for element, step in zip(element_steps, stride)]
        steps = (math.prod(lengths), *[0] * (3 - len(steps)), *steps)
        begin = sum(residue * element for (residue, _, _), element in zip(phase, element_steps))
        if all(s == 1 for s in stride):
            lined = _lines(axes)
            if lined is not axes:
                axes, steps = lined, dense_steps(lined)
        operands = Operands(
            input_size[0],
            groups,
            out_channels,
            channels,
            axes,
            terms,
            taps,
            out_channels * channels * taps,
            begin,
            steps,
        )
        found.append(Correlation(operands, dtype, False, vector_bytes))
        covered += math.prod(a.out for a in axes)
    return found, covered == math.prod(lengths)


@kernel_for("convolution_input_gradient")
def convolution_input_gradient(grad, weight, input_size, stride, padding, dilation, groups):
    """See ``ops.conv.convolution_input_gradient``: float32 and float64, contiguous."""
    if not is_plain(grad, weight) or 0 in input_size:
        return NotImplemented
    if fits_tiles(grad, weight.shape, stride, groups):
        around = [d * (k - 1) - p for d, k, p in zip(dilation, weight.shape[2:], padding)]
        turned = (weight.shape[1], weight.shape[0], *weight.shape[2:])
        if min(around) >= 0 and tile_convolutions.pays(grad.shape, turned, tuple(input_size)):
            return tile_convolutions.input_gradient(grad, weight, tuple(input_size), padding, dilation)
    arguments = (grad.shape, weight.shape, tuple(input_size), grad.dtype)
    arguments += (tuple(stride), tuple(padding), tuple(dilation), groups)
    correlations, complete = _gradient_plans.remembered(arguments, plan_input_gradient)
    found = (np.empty if complete else np.zeros)(tuple(input_size), grad.dtype)
    for correlation in correlations:
        correlation(grad, weight, None, found)
    return found
