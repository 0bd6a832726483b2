"""Signs and magnitudes: absolute values, signs, copysign, steps, neighbours, greatest common divisors."""

import numpy as np

from ...base.errors import hinted
from ..numpy_math import sign as sign_of
from ..table import BINARY, FLOAT, FUSED, UNARY, conj, functions, op
from .checks import BOOL, COMPLEX, INTEGERS, NOT_INTEGRAL, is_tensor, no_derivative, refuse_complex
from .complex_arrays import sign as complex_sign


@op("abs_backward(Tensor gradient, Tensor self) -> Tensor", kind=FUSED, names=())
class abs_backward:
    """The gradient of `abs`."""

    light = True

    def element(m, gradient, self):
        return gradient * m.sgn(self)


@op("abs(Tensor self) -> Tensor", kind=UNARY, inplace=True, refuse=BOOL,
    names=("torch", "Tensor", "torch:absolute", "Tensor:absolute", "Tensor:__abs__"))  # fmt: skip
class abs:
    """The absolute value of each element; of a complex one its distance from zero, a real number."""

    numpy = np.abs
    check_written = refuse_complex("In-place abs is not supported for complex tensors.")

    def d_self(grad, self):
        return functions.abs_backward(grad, self)


def _sign(array):
    return array.copy() if array.dtype.kind == "b" else sign_of(array)


def _direction(array):
    return complex_sign(array) if array.dtype.kind == "c" else _sign(array)


def _sign_element(m, self):
    return m.sign(self)


@op("sign(Tensor self) -> Tensor", kind=UNARY, inplace=True)
class sign:
    """-1, 0 or 1: the sign of each element."""

    numpy = ufunc = _sign
    element = _sign_element
    check = refuse_complex(
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
        NotImplementedError,
    )

    def d_self(grad):
        return functions.zeros_like(grad)


@op("sgn(Tensor self) -> Tensor", kind=UNARY, inplace=True)
class sgn:
    """`sign` for real elements; a complex one divided by its absolute value."""

    numpy = ufunc = _direction
    element = _sign_element

    def d_self(grad, self, result):
        if not self.is_complex():
            return functions.zeros_like(grad)
        size = self.abs()
        across = (grad - result * result * conj(grad)) / (2 * size)
        return across.masked_fill(size == 0, 0)


@op("copysign(Tensor self, Operand other) -> Tensor", kind=BINARY, dtype=FLOAT, inplace=True, refuse=COMPLEX,
    node=lambda self, other: f"CopysignBackward{int(not is_tensor(other))}")  # fmt: skip
class copysign:
    """The magnitude of ``self`` with the sign of ``other``."""

    numpy = np.copysign

    def d_self(grad, self, result):
        return grad * (result / self).masked_fill(self == 0, 0)

    def d_other(grad, result):  # PyTorch saves it for either operand
        return functions.zeros_like(grad)


def _check_step(self, values):
    if self.is_complex() or values.is_complex():
        raise RuntimeError(
            hinted("heaviside is not yet implemented for complex tensors.", "complex numbers have no order")
        )
    if self.dtype is not values.dtype:
        raise RuntimeError(
            hinted("heaviside is not yet implemented for tensors with different dtypes.", "convert both to one dtype")
        )


@op("heaviside(Tensor self, Tensor values) -> Tensor", kind=BINARY, inplace=True, node="NotImplemented")
class heaviside:
    """1 for positive elements, ``values`` where they are zero, 0 for others."""

    check = _check_step

    def numpy(self, values):
        return np.where(self == 0, values, (self > 0).astype(self.dtype))

    def element(m, self, values):
        return m.where(self == 0, values, m.where(self > 0, 1, 0))

    d_self = d_values = no_derivative("heaviside")


@op("nextafter(Tensor self, Tensor other) -> Tensor", kind=BINARY, inplace=True, refuse=(*BOOL, *INTEGERS, *COMPLEX))
class nextafter:
    """The next floating-point number after ``self`` toward ``other``."""

    numpy = np.nextafter

    def d_self(grad, self, other):
        return grad.masked_fill(self == other, 0)

    def d_other(grad):
        return functions.zeros_like(grad)


def _divisor(self, other):
    found = np.gcd(self, other)
    if self.dtype.kind == "i":
        lowest = np.iinfo(self.dtype).min
        has_lowest = (self == lowest) | (other == lowest)
        if has_lowest.any():
            first, second = (np.broadcast_to(np.abs(each), has_lowest.shape)[has_lowest] for each in (self, other))
            found = np.asarray(found)
            found[has_lowest] = _last_remainder(first, second)
    return found


def _last_remainder(first, second):
    """Euclid's algorithm with the remainders of C, which keep the sign of what is divided: the lowest number has no positive
    counterpart."""
    with np.errstate(divide="ignore"):
        while first.any():
            is_open = first != 0
            first, second = np.where(is_open, np.fmod(second, first), 0), np.where(is_open, first, second)
    return second


@op("gcd(Tensor self, Tensor other) -> Tensor", kind=BINARY, inplace=True, refuse=(*BOOL, *NOT_INTEGRAL))
class gcd:
    """The greatest common divisor of integers. Beside the lowest number of a dtype it may be negative."""

    numpy = _divisor

    def element(m, self, other):
        return m.gcd(self, other)


def _multiple(self, other):
    found = np.lcm(self, other)
    return np.abs(found) if self.itemsize >= 4 else found  # a product too large may have wrapped to a negative number


@op("lcm(Tensor self, Tensor other) -> Tensor", kind=BINARY, inplace=True, refuse=(*BOOL, *NOT_INTEGRAL))
class lcm:
    """The least common multiple of integers."""

    numpy = _multiple

    def element(m, self, other):
        return m.lcm(self, other)
