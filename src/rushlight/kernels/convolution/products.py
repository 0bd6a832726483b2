"""Convolutions that are one product of matrices: of a kernel as large as the input, and weights' gradients."""

from __future__ import annotations

import functools
import math

import numpy as np

from ...base.arrays import strided_view
from ...ops.conv import padded
from ...ops.moving import write
from ..planning.layout import Layout
from ..planning.plan import HostStep
from ..products.matmul import plan_product_of

# Multiplications for each element that is copied. 8 samples: 64 x 256 channels (51) of 56 x 56 take 4.4 ms as a product,
# 3.1 otherwise; 128 x 512 (102) of 28 x 28 2.5 against 2.9; 512 x 2048 of 7 x 7 2.1 against 4.6. One sample, nothing copied:
# 64 x 256 of 56 x 56 0.33 against 1.4.
_WORTH_COPYING = 96
# Sums over few pixels for large weights, which pass through the caches once less as a product's result. 512 x 512 channels, 3 x 3:
# 49 pixels 0.58 ms against 1.3, 196 2.3 against 3.3; 256 x 512 49 pixels 0.31 against 0.51; 128 x 128 0.20 against 0.18;
# 512 x 64 0.52 against 0.42; 256 x 512 1,568 pixels 21 against 19.
_FEW_PIXELS, _MANY_OUTPUTS, _LARGE_WEIGHT = 512, 128, 1 << 18


def is_whole(lengths, kernel, padding, groups):
    """Whether the one window of a convolution is its input: then it is a linear layer."""
    return groups == 1 and tuple(kernel) == tuple(lengths) and not any(padding)


def pays_as_product(samples, weight_shape, out, padding, groups):
    """Whether the weight's gradient of a convolution is best computed as one product: see the numbers above."""
    if groups != 1:
        return False
    outputs, channels = weight_shape[:2]
    if math.prod(weight_shape[2:]) == 1 and not any(padding):
        return samples == 1 or outputs * channels >= _WORTH_COPYING * (outputs + channels)
    few = samples * math.prod(out) <= _FEW_PIXELS
    return few and outputs >= _MANY_OUTPUTS and math.prod(weight_shape) >= _LARGE_WEIGHT


def rows_of(shape, dtype):
    """The Layout of a plain array as a matrix, a row for each index of its first dimension."""
    return Layout((shape[0], math.prod(shape[1:])), dtype)


def plan_windows(grad_shape, input_shape, weight_shape, dtype, stride, padding, dilation):
    """The Plan of the weight's gradient of a convolution as one product, of the output's gradient and the elements that each
    tap meets, both with the pixels of all samples side by side: "found" from "grad" and "input"."""
    (outputs, *taps), out = weight_shape, grad_shape[2:]
    pixels = grad_shape[0] * math.prod(out)
    flowing, windows = Layout((outputs, pixels), dtype), Layout((math.prod(taps), pixels), dtype)
    is_one = grad_shape[0] == 1
    steps = [] if is_one else [HostStep(_side_by_side, ("grad", "flowing"))]
    spaces = [] if is_one else [("flowing", flowing.size, dtype)]
    source = "input"
    if is_one and math.prod(taps[1:]) == 1 and set(stride) == {1} and not any(padding):
        windows = Layout((taps[0], pixels), dtype)
    else:
        source = "pixels"
        window = taps[1:], out, stride, padding, dilation
        steps.append(HostStep(functools.partial(_windows, *window), ("input", source)))
        spaces.append((source, windows.size, dtype))
    given = ("grad" if is_one else "flowing", flowing), (source, windows, True)
    plan = plan_product_of(*given, ("found", rows_of(weight_shape, dtype)))
    return plan._replace(launches=[*steps, *plan.launches], scratch=[*plan.scratch, *spaces])


def _windows(kernel, out, stride, padding, dilation, input, pixels):
    """For each channel and tap the elements that it meets."""
    source = padded(input, padding)
    steps = source.strides[2:]
    by_tap = (size * step for size, step in zip(steps, dilation))
    by_window = (size * step for size, step in zip(steps, stride))
    shape = (*source.shape[:2], *kernel, *out)
    _side_by_side(strided_view(source, shape, (*source.strides[:2], *by_tap, *by_window)), pixels, len(out))


def _side_by_side(images, found, pixel_axes=None):
    """What (samples, channels, ...) holds, channel by channel, the samples behind one another before the axes of pixels."""
    turned = np.moveaxis(images, 0, images.ndim - (pixel_axes or images.ndim - 2) - 1)
    write(found[: images.size].reshape(turned.shape), turned)
