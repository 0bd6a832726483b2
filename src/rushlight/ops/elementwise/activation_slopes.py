"""Activations with a slope for negative elements: a number, a parameter, or drawn at random."""

import math

import numpy as np

from ...base.dtypes import float16, float64
from ...base.errors import hinted
from ...base.scalars import check_number, number_in
from ..table import ELEMENTWISE, WIDE, composite, functions, op
from .checks import NOT_FLOATING


@op("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", kind=ELEMENTWISE, inplace=True, names=(),
    refuse=NOT_FLOATING)  # fmt: skip
class leaky_relu:
    """``x`` for positive elements, ``negative_slope * x`` for the others."""

    beside = ("self",)

    inplace_node = "LeakyReluBackward1"
    numbers = {"negative_slope": WIDE}

    light = True

    def element(m, self, negative_slope=0.01):
        return _sloped(m, self, negative_slope)

    def d_self(grad, self, negative_slope):
        return functions.leaky_relu_backward(grad, self, negative_slope)


def _sloped(m, x, slope):
    return m.maximum(x * slope, x) if 0 < slope <= 1 else m.where(x > 0, x, x * slope)


@op("prelu_kernel(Tensor self, Tensor weight) -> Tensor", kind=ELEMENTWISE, names=(), refuse=NOT_FLOATING)
class prelu_kernel:
    """``x`` for positive elements, ``weight * x`` for the others."""

    beside = ("self", "weight")

    light = True

    def element(m, self, weight):
        return m.where(self > 0, self, weight * self)

    def d_self(grad, self, weight):
        return functions.prelu_backward(grad, self, weight)

    def d_weight(grad, self):
        return functions.prelu_weight_backward(grad, self)


@composite(names=("torch", "Tensor", "nn.functional"))
def prelu(input, weight):
    """``x`` for positive elements, ``weight * x`` for the others; one weight, or one for each channel (dim 1)."""
    if input.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {input.dtype.legacy_name} and {weight.dtype.legacy_name}"
        )
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if not input.ndim and weight.ndim and weight.numel() != 1:
        raise RuntimeError(hinted("Not allow zero-dim input tensor.", "one number takes one weight"))
    if weight.ndim == 1:
        channels = 1 if input.ndim < 2 else input.shape[1]
        if weight.numel() not in (1, channels):
            raise RuntimeError(
                hinted(
                    "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                    f"{weight.numel()} and channel "
                    f"size = {channels}.",
                    "give one weight, or one for each length of dimension 1",
                )
            )
        weight = weight.reshape(
            (1, -1) + (1,) * (input.ndim - 2) if input.ndim >= 2 else () if input.ndim == 0 else (-1,)
        )
    return functions.prelu_kernel(input, weight)


@op(
    "rrelu_with_noise(Tensor self, Tensor noise) -> Tensor",
    kind=ELEMENTWISE,
    inplace=True,
    names=(),
    refuse=NOT_FLOATING,
)
class rrelu_with_noise:
    """``noise * x``: positive elements have a noise of 1."""

    beside = ("self",)

    kernel = "leaky_relu_cpu"
    inplace_node = "RreluWithNoiseBackward1"

    light = True

    def element(m, self, noise):
        return self * noise

    def d_self(grad, noise):
        return grad * noise


@op(
    "rrelu_with_mean(Tensor self, Scalar negative_slope=0.22916666666666666) -> Tensor",
    kind=ELEMENTWISE,
    inplace=True,
    names=(),
    refuse=NOT_FLOATING,
    node="RreluWithNoiseBackward0",
)
class rrelu_with_mean:
    """`rrelu` in evaluation: the mean of the bounds is the slope of `leaky_relu`."""

    beside = ("self",)

    kernel = "leaky_relu_cpu"
    inplace_node = "RreluWithNoiseBackward1"
    numbers = {"negative_slope": WIDE}

    light = True

    def element(m, self, negative_slope=0.22916666666666666):
        return _sloped(m, self, negative_slope)

    def d_self(grad, self, negative_slope):
        return functions.leaky_relu_backward(grad, self, negative_slope)


def _rrelu_bounds(input, lower, upper, training):
    """The bounds as numbers, checked."""
    for bound in (lower, upper):
        check_number(bound)
    lower, upper = (number_in(float64.numpy, bound) for bound in (lower, upper))
    for name, bound in (("lower", lower), ("upper", upper)):
        if not math.isfinite(bound):
            raise RuntimeError(hinted(f"rrelu: {name} bound must be finite, got {bound:g}", "slopes are numbers"))
    if lower > upper:
        raise RuntimeError(
            hinted("Lower bound should be less than or equal to the upper bound", f"they are {lower} and {upper}")
        )
    if not input.is_floating_point() or (training and input.dtype is float16):
        kernel = "rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu"
        message = f"\"{kernel}\" not implemented for '{input.dtype.legacy_name}'"
        raise NotImplementedError(hinted(message, "convert the input with .float()"))
    return lower, upper


def _rrelu_noise(input, lower, upper, generator):
    """The factor of each element: 1, or for those that are not positive a random slope."""
    if input.is_meta:
        return functions.empty_like(input.detach())
    outside = (input <= 0).detach()
    if input.dtype is not float64:  # PyTorch draws in double precision, between bounds of single precision
        lower, upper = float(np.float32(lower)), float(np.float32(upper))
    slopes = functions.empty(int(outside.sum().item()), dtype=float64).uniform_(lower, upper, generator=generator)
    return functions.ones_like(input.detach()).masked_scatter_(outside, slopes.to(input.dtype))


@composite(names=("torch",))
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """``x`` for positive elements; the others times a slope, random between the bounds in training, else their mean."""
    lower, upper = _rrelu_bounds(input, lower, upper, training)
    if not training:
        return functions.rrelu_with_mean(input, (lower + upper) / 2)
    return functions.rrelu_with_noise(input, _rrelu_noise(input, lower, upper, generator))


@composite(names=("torch",))
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """In-place form of `rrelu`."""
    lower, upper = _rrelu_bounds(input, lower, upper, training)
    if not training:
        return functions.rrelu_with_mean_(input, (lower + upper) / 2)
    return functions.rrelu_with_noise_(input, _rrelu_noise(input, lower, upper, generator))
