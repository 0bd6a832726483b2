"""Gradients of activations: one formula each, run at once, or on Tensors for derivatives of higher order."""

import math

from ..table import BINARY, FUSED, conj, functions, op
from .activation import GELU_SCALE, SQRT_HALF, tanh_of_softplus
from .checks import no_derivative

_DENSITY = 1 / math.sqrt(2 * math.pi)  # the normal density at 0


@op("threshold_backward(Tensor gradient, Tensor self, Scalar threshold) -> Tensor", kind=FUSED, names=())
class threshold_backward:
    """The gradient where the element is above the threshold, else 0."""

    light = True

    def element(m, gradient, self, threshold):
        return m.where(self <= threshold, 0, gradient)

    def d_gradient(grad, self, threshold):
        return functions.threshold_backward(grad, self, threshold)

    def d_self(grad):
        return functions.zeros_like(grad)


@op("sigmoid_backward(Tensor gradient, Tensor output) -> Tensor", kind=BINARY, names=())
class sigmoid_backward:
    """The gradient of `sigmoid`, from its result."""

    light = True

    def element(m, gradient, output):
        return gradient * m.conj((1 - output) * output)

    def d_gradient(grad, output):
        return functions.sigmoid_backward(grad, conj(output))

    def d_output(grad, gradient, output):
        return functions.sigmoid_bend(grad, gradient, output)


@op("sigmoid_bend(Tensor outer, Tensor gradient, Tensor output) -> Tensor", kind=FUSED, names=())
class sigmoid_bend:
    """The gradient of `sigmoid_backward` for the result of `sigmoid`."""

    light = True

    def element(m, outer, gradient, output):
        return m.conj(output * -2 + 1) * gradient * m.conj(outer)


@op("gelu_backward(Tensor gradient, Tensor self, str approximate) -> Tensor", kind=FUSED, names=())
class gelu_backward:
    """The gradient of `gelu`."""

    def element(m, gradient, self, approximate):
        if approximate == "none":
            share = (m.erf(self * SQRT_HALF) + 1) * 0.5
            return gradient * (m.exp(self * self * -0.5) * self * _DENSITY + share)
        square = self * self
        bend = m.tanh((square * 0.044715 + 1) * self * GELU_SCALE)
        slope = (1 - bend * bend) * (square * (3 * 0.044715) + 1) * self * (0.5 * GELU_SCALE)
        return gradient * ((bend + 1) * 0.5 + slope)


@op("silu_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class silu_backward:
    """The gradient of `silu`."""

    def element(m, gradient, self):
        gate = m.sigmoid(self)
        return gradient * m.conj(gate * ((1 - gate) * self + 1))


@op("mish_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class mish_backward:
    """The gradient of `mish`."""

    def element(m, gradient, self):
        bend = tanh_of_softplus(m, self)
        return gradient * ((1 - bend * bend) * self * m.sigmoid(self) + bend)


@op("softplus_backward(Tensor gradient, Tensor self, Scalar beta, Scalar threshold) -> Tensor", kind=FUSED, names=())
class softplus_backward:
    """The gradient of `softplus`."""

    def element(m, gradient, self, beta, threshold):
        scaled = self * beta
        return m.where(scaled > threshold, gradient, gradient * m.sigmoid(scaled))


@op(
    "elu_backward(Tensor gradient, Tensor self, Scalar alpha, Scalar scale, Scalar input_scale) -> Tensor",
    kind=FUSED,
    names=(),
)
class elu_backward:
    """The gradient of `elu`, and of `celu`."""

    def element(m, gradient, self, alpha, scale, input_scale):
        def below():
            return m.exp(m.clamp(self, None, 0) * input_scale) * (alpha * scale * input_scale)

        return gradient * m.where_any(self <= 0, below, scale)

    def d_gradient(grad, self, alpha, scale, input_scale):
        return functions.elu_backward(grad, self, alpha, scale, input_scale)

    def d_self(grad, gradient, self, alpha, scale, input_scale):
        bend = functions.elu_backward(grad * gradient, self, alpha, scale, input_scale) * input_scale
        return functions.where_select(self < 0, bend, 0)  # at 0, where slopes meet, none


@op("leaky_relu_backward(Tensor gradient, Tensor self, Scalar negative_slope) -> Tensor", kind=FUSED, names=())
class leaky_relu_backward:
    """The gradient of `leaky_relu`."""

    light = True

    def element(m, gradient, self, negative_slope):
        return m.where(self > 0, gradient, gradient * negative_slope)


@op("hardtanh_backward(Tensor gradient, Tensor self, Scalar min_val, Scalar max_val) -> Tensor", kind=FUSED, names=())
class hardtanh_backward:
    """The gradient of `hardtanh`: none at the bounds and outside."""

    light = True

    def element(m, gradient, self, min_val, max_val):
        return m.where((self <= min_val) | (self >= max_val), 0, gradient)


@op("hardsigmoid_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=(), node="NotImplemented")
class hardsigmoid_backward:
    """The gradient of `hardsigmoid`."""

    def element(m, gradient, self):
        return m.where((self > -3) & (self < 3), gradient / 6, 0)

    d_gradient = d_self = no_derivative("hardsigmoid_backward")


@op("hardswish_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class hardswish_backward:
    """The gradient of `hardswish`."""

    def element(m, gradient, self):
        return m.where(self <= -3, 0, m.where(self < 3, gradient * (self / 3 + 0.5), gradient))


@op("hardshrink_backward(Tensor gradient, Tensor self, Scalar lambd) -> Tensor", kind=FUSED, names=())
class hardshrink_backward:
    """The gradient of `hardshrink`, and of `softshrink`."""

    light = True

    def element(m, gradient, self, lambd):
        return m.where((self >= -lambd) & (self <= lambd), 0, gradient)


@op("logsigmoid_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class logsigmoid_backward:
    """The gradient of `logsigmoid`."""

    def element(m, gradient, self):
        return gradient * m.sigmoid(-self)


@op("prelu_backward(Tensor gradient, Tensor self, Tensor weight) -> Tensor", kind=FUSED, names=())
class prelu_backward:
    """The gradient of `prelu_kernel` for the elements."""

    light = True

    def element(m, gradient, self, weight):
        return m.where(self > 0, gradient, weight * gradient)


@op("prelu_weight_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class prelu_weight_backward:
    """The gradient of `prelu_kernel` for the weights, not yet summed."""

    light = True

    def element(m, gradient, self):
        return gradient * m.clamp(self, None, 0)
