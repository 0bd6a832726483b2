"""Exponentials and logarithms."""

import math

import numpy as np

from ..numpy_math import numpy_math
from ..table import BINARY, ELEMENTWISE, FLOAT, FUSED, UNARY, conj, functions, is_half, op, widened
from .checks import BOOL, COMPLEX, INTEGERS, is_tensor

LN2, LN10 = math.log(2), math.log(10)


@op("exp(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class exp:
    """e to the power of each element.

    >>> import rushlight as torch
    >>> torch.exp(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """

    numpy = np.exp

    def d_self(grad, result):
        return grad * conj(result)


@op("exp2(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=("torch", "Tensor", "special"))
class exp2:
    """2 to the power of each element."""

    numpy = np.exp2

    def d_self(grad, result):
        return grad * conj(result) * LN2


@op("expm1_backward(Tensor gradient, Tensor result) -> Tensor", kind=FUSED, names=())
class expm1_backward:
    """The gradient of `expm1`, from its result."""

    light = True

    def element(m, gradient, result):
        return gradient * m.conj(result + 1)


@op("expm1(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=("torch", "Tensor", "special"))
class expm1:
    """``exp(x) - 1``, exact near zero."""

    numpy = np.expm1

    def d_self(grad, result):
        return functions.expm1_backward(grad, result)


@op("log(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class log:
    """The natural logarithm of each element; nan for negative numbers."""

    numpy = np.log

    def d_self(grad, self):
        return grad / conj(self)


@op("log2_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class log2_backward:
    """The gradient of `log2`."""

    light = True

    def element(m, gradient, self):
        return gradient / (m.conj(self) * LN2)


@op("log2(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class log2:
    """The logarithm of base 2 of each element."""

    numpy = np.log2

    def d_self(grad, self):
        return functions.log2_backward(grad, self)


@op("log10_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class log10_backward:
    """The gradient of `log10`."""

    light = True

    def element(m, gradient, self):
        return gradient / (m.conj(self) * LN10)


@op("log10(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class log10:
    """The logarithm of base 10 of each element."""

    numpy = np.log10

    def d_self(grad, self):
        return functions.log10_backward(grad, self)


@op("log1p_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class log1p_backward:
    """The gradient of `log1p`."""

    light = True

    def element(m, gradient, self):
        return gradient / m.conj(self + 1)


@op("log1p(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True, names=("torch", "Tensor", "special"))
class log1p:
    """``log(1 + x)``, exact near zero."""

    numpy = np.log1p

    def d_self(grad, self):
        return functions.log1p_backward(grad, self)


def _log_sum(self, other):
    if self.dtype.kind != "c":
        return np.logaddexp(self, other)
    larger = np.where(self.real >= other.real, self, other)
    smaller = np.where(self.real >= other.real, other, self)
    found = larger + np.log1p(np.exp(smaller - larger))
    if np.isfinite(self).all() and np.isfinite(other).all():
        return found
    alike = np.isinf(self.real) & (self.real == other.real)  # inf - inf above
    found = np.where(alike, np.where(self.real > 0, np.log(np.exp(self) + np.exp(other)), other), found)
    return np.where(np.isnan(self) | np.isnan(other), found.dtype.type(complex(np.nan, np.nan)), found)


@op("logaddexp(Tensor self, Tensor other) -> Tensor", kind=BINARY, refuse=(*BOOL, *INTEGERS))
class logaddexp:
    """``log(exp(self) + exp(other))`` without overflow."""

    numpy = _log_sum

    def element(m, self, other):
        larger, smaller = m.maximum(self, other), m.minimum(self, other)
        # Equal operands may be infinite: their difference would be NaN.
        distance = m.where(self == other, 0.0, smaller - larger)
        return larger + m.log1p(m.exp(distance))

    def d_self(grad, self, other):
        return grad / conj(1 + functions.exp(other - self))

    def d_other(grad, self, other):
        return grad / conj(1 + functions.exp(self - other))


@op("logaddexp2(Tensor self, Tensor other) -> Tensor", kind=BINARY, refuse=(*BOOL, *INTEGERS, *COMPLEX))
class logaddexp2:
    """``log2(2**self + 2**other)`` without overflow."""

    numpy = np.logaddexp2

    def element(m, self, other):
        larger, smaller = m.maximum(self, other), m.minimum(self, other)
        distance = m.where(self == other, 0.0, smaller - larger)  # see `logaddexp`
        return larger + m.log1p(m.exp2(distance)) * (1 / math.log(2))

    def d_self(grad, self, other):
        return grad / (1 + functions.exp2(other - self))

    def d_other(grad, self, other):
        return grad / (1 + functions.exp2(self - other))


def product_with_log(m, self, other, log):
    """``self * log(other)``, 0 where self is 0, nan where other is."""
    return m.where(m.isnan(other), other, m.where(self == 0, 0, self * log(other)))


def product_with_rounded_log(self, other, log):
    """The same on arrays: in half precision the logarithm is rounded before the product, as PyTorch does."""
    if not is_half(self.dtype):
        return product_with_log(numpy_math, self, other, log)
    wide, logs = widened(self), log(widened(other)).astype(self.dtype)
    found = np.where(wide == 0, np.float32(0), wide * widened(logs))
    return np.where(np.isnan(logs) & np.isnan(widened(other)), np.float32(np.nan), found).astype(self.dtype)


def by_operands(name):
    """The node names of PyTorch's three overloads."""
    return lambda self, other: (
        f"{name}Backward{0 if is_tensor(self) and is_tensor(other) else 2 if is_tensor(self) else 1}"
    )


@op("xlogy(Operand self, Operand other) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, inplace=True, refuse=COMPLEX,
    node=by_operands("Xlogy"), names=("torch", "Tensor", "special"))  # fmt: skip
class xlogy:
    """``self * log(other)``, 0 where self is 0."""

    rounds_inside = lambda: True

    def numpy(self, other):
        return product_with_rounded_log(self, other, np.log)

    def element(m, self, other):
        return product_with_log(m, self, other, m.log)

    def d_self(grad, self, other):
        undefined = (self == 0) & (other <= 0)
        return functions.where_select(undefined, 0, functions.xlogy(grad, other))  # 0 where no gradient comes in

    def d_other(grad, self, other):
        return grad * self / other


@op("special_xlog1py(Operand self, Operand other) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, refuse=COMPLEX,
    node=by_operands("SpecialXlog1Py"), names=("special:xlog1py",))  # fmt: skip
class special_xlog1py:
    """``self * log1p(other)``, 0 where self is 0."""

    kernel = "xlog1py_cpu"

    rounds_inside = lambda: True

    def numpy(self, other):
        return product_with_rounded_log(self, other, np.log1p)

    def element(m, self, other):
        return product_with_log(m, self, other, m.log1p)

    def d_self(grad, self, other):
        undefined = (self == 0) & (other <= -1)
        return functions.where_select(undefined, 0, functions.special_xlog1py(grad, other))

    def d_other(grad, self, other):
        return grad * self / (other + 1)
