"""Trigonometry: circular and hyperbolic functions, their inverses, angles."""

import math

import numpy as np

from ..table import BINARY, FLOAT, FUSED, UNARY, conj, functions, op
from .checks import COMPLEX, refuse_complex


@op("sin_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class sin_backward:
    """The gradient of `sin`."""

    def element(m, gradient, self):
        return gradient * m.conj(m.cos(self))


@op("sin(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class sin:
    """The sine of each element, in radians."""

    numpy = np.sin

    def d_self(grad, self):
        return functions.sin_backward(grad, self)


@op("cos_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class cos_backward:
    """The gradient of `cos`."""

    def element(m, gradient, self):
        return gradient * -m.conj(m.sin(self))


@op("cos(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class cos:
    """The cosine of each element, in radians."""

    numpy = np.cos

    def d_self(grad, self):
        return functions.cos_backward(grad, self)


@op("tan(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class tan:
    """The tangent of each element, in radians."""

    numpy = np.tan

    def d_self(grad, result):
        return grad * conj(1 + result * result)


def _names(name):
    """``asin`` is also ``arcsin``."""
    other = "arc" + name[1:]
    return ("torch", "Tensor", f"torch:{other}", f"Tensor:{other}")


@op("asin(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=_names("asin"))
class asin:
    """The angle in [-pi/2, pi/2] with this sine; nan outside [-1, 1]."""

    numpy = np.arcsin

    def d_self(grad, self):
        return grad * conj((1 - self * self).rsqrt())


@op("acos(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=_names("acos"))
class acos:
    """The angle in [0, pi] with this cosine; nan outside [-1, 1]."""

    numpy = np.arccos

    def d_self(grad, self):
        return grad * -conj((1 - self * self).rsqrt())


@op("atan(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=_names("atan"))
class atan:
    """The angle in (-pi/2, pi/2) with this tangent."""

    numpy = np.arctan

    def d_self(grad, self):
        return grad / conj(self * self + 1)


@op("sinh(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class sinh:
    """The hyperbolic sine of each element."""

    numpy = np.sinh

    def d_self(grad, self):
        return grad * conj(self.cosh())


@op("cosh(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class cosh:
    """The hyperbolic cosine of each element."""

    numpy = np.cosh

    def d_self(grad, self):
        return grad * conj(self.sinh())


@op("tanh_backward(Tensor gradient, Tensor output) -> Tensor", kind=BINARY, names=())
class tanh_backward:
    """The gradient of `tanh`, from its result."""

    light = True

    def element(m, gradient, output):
        return gradient * (1 - m.conj(output * output))

    def d_gradient(grad, output):
        return functions.tanh_backward(grad, conj(output))

    def d_output(grad, gradient, output):
        return functions.tanh_bend(grad, gradient, output)


@op("tanh_bend(Tensor outer, Tensor gradient, Tensor output) -> Tensor", kind=FUSED, names=())
class tanh_bend:
    """The gradient of `tanh_backward` for the result of `tanh`."""

    light = True

    def element(m, outer, gradient, output):
        return m.conj(output * -2) * gradient * m.conj(outer)


@op("tanh(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class tanh:
    """The hyperbolic tangent of each element, in (-1, 1).

    >>> import rushlight as torch
    >>> torch.tanh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """

    numpy = np.tanh

    def d_self(grad, result):
        return functions.tanh_backward(grad, result)


@op("asinh(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=_names("asinh"))
class asinh:
    """The number with this hyperbolic sine."""

    numpy = np.arcsinh

    def d_self(grad, self):
        return grad * conj((self * self + 1).rsqrt())


@op("acosh(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=_names("acosh"))
class acosh:
    """The number, not negative, with this hyperbolic cosine; nan below 1."""

    numpy = np.arccosh

    def d_self(grad, self):
        if self.is_complex():
            return grad * conj((self - 1).rsqrt() * (self + 1).rsqrt())
        return grad * (self * self - 1).rsqrt()


@op("atanh(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=_names("atanh"))
class atanh:
    """The number with this hyperbolic tangent; nan outside [-1, 1]."""

    numpy = np.arctanh

    def d_self(grad, self):
        return grad / conj(1 - self.pow(2))


@op("atan2(Tensor self, Tensor other) -> Tensor", kind=BINARY, dtype=FLOAT, inplace=True, refuse=COMPLEX,
    names=("torch", "Tensor", "torch:arctan2", "Tensor:arctan2"))  # fmt: skip
class atan2:
    """The angle in (-pi, pi] of the point (other, self)."""

    numpy = np.arctan2

    def d_self(grad, self, other):
        return grad * other * _inverse_square(self, other)

    def d_other(grad, self, other):
        return grad * -self * _inverse_square(self, other)


def _inverse_square(x, y):
    """``1 / (x² + y²)``, 0 where the squares are."""
    squares = x * x + y * y
    return squares.reciprocal().masked_fill(squares == 0, 0)


@op("sinc(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=("torch", "Tensor", "special"))
class sinc:
    """``sin(pi x) / (pi x)``, 1 at zero."""

    def element(m, self):
        angle = self * math.pi
        return m.where(self == 0, m.ones_like(self), m.sin(angle) / angle)

    def d_self(grad, self):
        angle, square = self * math.pi, self * self * math.pi  # which may be 0 where the element is not
        slope = grad * conj((angle * angle.cos() - angle.sin()) / square)
        return functions.where_select(square == 0, 0, slope)


@op("deg2rad(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class deg2rad:
    """Degrees in radians."""

    check = refuse_complex("deg2rad is not supported for complex tensors.")

    light = True

    def element(m, self):
        return self * (math.pi / 180)

    def d_self(grad):
        return grad * (math.pi / 180)


@op("rad2deg(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class rad2deg:
    """Radians in degrees."""

    check = refuse_complex("rad2deg is not supported for complex tensors.")

    light = True

    def element(m, self):
        return self * (180 / math.pi)

    def d_self(grad):
        return grad * (180 / math.pi)
