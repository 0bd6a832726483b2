"""Convolutions that are one product of matrices: of a kernel as large as the input, and the weight's gradient of a 1 x 1 one."""

from __future__ import annotations

import math

import numpy as np

from .convolution_layouts import copied
from .matmul import product
from .scratch import scratch

# Multiplications for each element that is copied. 8 samples: 64 x 256 channels (51) of 56 x 56 take 4.4 ms as a product,
# 3.1 otherwise; 128 x 512 (102) of 28 x 28 2.5 against 2.9; 512 x 2048 of 7 x 7 2.1 against 4.6. One sample, nothing copied:
# 64 x 256 of 56 x 56 0.33 against 1.4.
_WORTH_COPYING = 96


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


def pays_as_product(samples, weight_shape, padding, groups):
    """Whether the weight's gradient of a convolution is best computed as one product: it has one tap, and so many channels
    that laying the pixels of several samples side by side does not count."""
    if groups != 1 or math.prod(weight_shape[2:]) > 1 or any(padding):
        return False
    outputs, channels = weight_shape[:2]
    return samples == 1 or outputs * channels >= _WORTH_COPYING * (outputs + channels)


class PointwiseWeightGradient:
    """The weight's gradient of a convolution with one tap: a sum over pixels, those of all samples side by side."""

    def __init__(self, stride, out):
        self.stride, self.out = stride, out

    def __call__(self, grad, input, found):
        product(self._pixels("of outputs", grad), self._pixels("of inputs", self._met(input)).T, out=rows(found))

    def _met(self, input):
        """The elements that some window sees."""
        if all(step == 1 for step in self.stride):
            return input
        return input[(..., *(slice(0, (n - 1) * step + 1, step) for n, step in zip(self.out, self.stride)))]

    def _pixels(self, use, images):
        """A row for each channel: its pixels in all samples."""
        channels = images.shape[1]
        if len(images) == 1 and images.flags.c_contiguous:
            return images.reshape(channels, -1)
        found = scratch(f"pixels {use}", images.size, images.dtype)[: images.size]
        turned = np.moveaxis(images, 1, 0)
        copied(turned, found.reshape(turned.shape))
        return found.reshape(channels, -1)
