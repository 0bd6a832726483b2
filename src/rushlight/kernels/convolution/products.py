"""Convolutions that are one product of matrices: of a kernel as large as the input, and weights' gradients."""

from __future__ import annotations

import math

import numpy as np

from ...base.arrays import strided_view
from ...ops.conv import padded
from ..elementwise.layouts import copied
from ..machine.scratch import scratch
from ..products.matmul import product

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


class Whole:
    """A convolution with one window, which is the whole input: call it with source, weight, bias (or None) and output."""

    def __call__(self, source, weight, bias, out):
        product(rows(source), rows(weight).T, out=rows(out), bias=bias)


class WholeInputGradient:
    """What flows back to that input: call it with the output's gradient, the weight, None and the result."""

    def __call__(self, grad, weight, bias, found):
        product(rows(grad), rows(weight), out=rows(found))


class WholeWeightGradient:
    """What flows back to that weight: call it with the output's gradient, the input and the result."""

    def __call__(self, grad, input, found):
        product(rows(grad).T, rows(input), out=rows(found))


def rows(array):
    """A contiguous array as a matrix, a row for each index of its first dimension."""
    return array.reshape(len(array), -1)


def pays_as_product(samples, weight_shape, out, padding, groups):
    """Whether the weight's gradient of a convolution is best computed as one product: see the numbers above."""
    if groups != 1:
        return False
    outputs, channels = weight_shape[:2]
    if math.prod(weight_shape[2:]) == 1 and not any(padding):
        return samples == 1 or outputs * channels >= _WORTH_COPYING * (outputs + channels)
    few = samples * math.prod(out) <= _FEW_PIXELS
    return few and outputs >= _MANY_OUTPUTS and math.prod(weight_shape) >= _LARGE_WEIGHT


class WeightGradientOfWindows:
    """The weight's gradient of a convolution as one product: of the output's gradient and the elements that each tap meets,
    both with the pixels of all samples side by side. Call it with the output's gradient, the input and the result."""

    def __init__(self, kernel, out, stride, padding, dilation):
        self.kernel, self.out, self.stride, self.padding, self.dilation = kernel, out, stride, padding, dilation

    def __call__(self, grad, input, found):
        outputs, channels = found.shape[:2]
        flowing = side_by_side("pixels of outputs", grad, outputs, len(self.out))
        windows = side_by_side(
            "windows", self._windows(padded(input, self.padding)), channels * math.prod(self.kernel), len(self.out)
        )
        product(flowing, windows.T, out=rows(found))

    def _windows(self, source):
        """(samples, channels, *kernel, *out): for each tap the elements that it meets."""
        steps = source.strides[2:]
        by_tap = (size * step for size, step in zip(steps, self.dilation))
        by_window = (size * step for size, step in zip(steps, self.stride))
        shape = (*source.shape[:2], *self.kernel, *self.out)
        return strided_view(source, shape, (*source.strides[:2], *by_tap, *by_window))


def side_by_side(use, images, count, pixel_axes):
    """A matrix of ``count`` rows: what (samples, channels, ...) holds, channel by channel, the samples behind one another;
    copied where it does not lie like that."""
    if len(images) == 1 and images.flags.c_contiguous:
        return images.reshape(count, -1)
    found = scratch(use, images.size, images.dtype)[: images.size]
    turned = np.moveaxis(images, 0, images.ndim - pixel_axes - 1)
    copied(turned, found.reshape(turned.shape))
    return found.reshape(count, -1)
