"""Powers and roots: reciprocal, square, square roots, powers with any exponent, hypot."""

import numpy as np

from ...base.dtypes import complex128, float64, int64
from ...base.errors import hinted
from ...base.scalars import check_fits, check_number
from ..table import BINARY, ELEMENTWISE, FLOAT, FUSED, UNARY, composite, conj, functions, is_half, op, widened
from .checks import BOOL, COMPLEX, INTEGERS, is_bool, is_tensor
from .complex_arrays import power as complex_power
from .complex_arrays import reciprocal as inverse


@op("reciprocal_backward(Tensor gradient, Tensor result) -> Tensor", kind=FUSED, names=())
class reciprocal_backward:
    """The gradient of `reciprocal`, from its result."""

    light = True

    def element(m, gradient, result):
        return -gradient * m.conj(result * result)


@op("reciprocal(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class reciprocal:
    """One divided by each element."""

    numpy = inverse
    ufunc = np.reciprocal

    def element(m, self):
        return 1 / self

    def d_self(grad, result):
        return functions.reciprocal_backward(grad, result)


@op("sqrt_backward(Tensor gradient, Tensor result) -> Tensor", kind=FUSED, names=())
class sqrt_backward:
    """The gradient of `sqrt`, from its result."""

    light = True

    def element(m, gradient, result):
        return gradient / (2 * m.conj(result))


@op("sqrt(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class sqrt:
    """The square root of each element; nan for negative numbers.

    >>> import rushlight as torch
    >>> torch.sqrt(torch.tensor([4.0, 2.25]))
    tensor([2.0000, 1.5000])
    """

    numpy = np.sqrt

    def d_self(grad, result):
        return functions.sqrt_backward(grad, result)


def _reciprocal_root(array):
    if is_half(array.dtype):
        return np.reciprocal(np.sqrt(widened(array))).astype(array.dtype)
    found = np.sqrt(array)
    return np.reciprocal(found, out=found) if found.ndim and found.dtype.kind != "c" else inverse(found)


@op("rsqrt_backward(Tensor gradient, Tensor result) -> Tensor", kind=FUSED, names=())
class rsqrt_backward:
    """The gradient of `rsqrt`, from its result."""

    light = True

    def element(m, gradient, result):
        return -0.5 * gradient * m.conj(result * result * result)


@op("rsqrt(Tensor self) -> Tensor", kind=UNARY, dtype=FLOAT, inplace=True)
class rsqrt:
    """One divided by the square root of each element."""

    numpy = ufunc = _reciprocal_root

    def element(m, self):
        return 1 / m.sqrt(self)

    def d_self(grad, result):
        return functions.rsqrt_backward(grad, result)


# Exponents whose power takes a multiplication, a division or a root.
_SHORT_POWERS = {
    2: lambda x: x * x,
    3: lambda x: x * x * x,
    0.5: np.sqrt,
    -0.5: _reciprocal_root,
    -1: inverse,
    -2: lambda x: inverse(x * x),
    1: lambda x: x.copy(),
}


def power_of_number(base, exponent):
    """``base ** exponent`` of a floating or complex array and a Python number."""
    short = _SHORT_POWERS.get(exponent)
    if short is None:
        check_number(exponent)
        wide = widened(base)
        number = wide.dtype.type(exponent)
        found = np.power(wide, number) if wide.dtype.kind != "c" or exponent == 0 else complex_power(wide, number)
    else:
        found = short(widened(base))
    return found.astype(base.dtype) if found.dtype is not base.dtype and is_half(base.dtype) else found


def power(base, exponent):
    """``base ** exponent`` of arrays of one dtype; a 0-dim exponent is a tensor, not a number (`power_of_number`)."""
    kind = base.dtype.kind
    if exponent.ndim == 0 and kind in "fV" and abs(exponent.item()) == 0.5:
        # NumPy takes the square root, which differs from the power at -0 and -infinity.
        base = np.where(base == -np.inf, np.inf, base + 0).astype(base.dtype, copy=False)
    if kind in "iu":
        return _integer_power(base, exponent)
    if is_half(base.dtype):
        return np.power(widened(base), widened(exponent)).astype(base.dtype)
    return complex_power(base, exponent) if kind == "c" else np.power(base, exponent)


def _integer_power(base, exponent):
    """Integer powers; to a negative one, 1 and -1 stay units and everything else is 0."""
    if exponent.dtype.kind == "u" or not (exponent < 0).any():
        return np.power(base, exponent)
    found = np.power(base, np.maximum(exponent, 0))
    unit = np.where(base == 1, 1, np.where(base == -1, 1 - 2 * (exponent & 1), 0))
    return np.where(exponent < 0, unit, found).astype(base.dtype)


def _check_exponent(self, exponent):
    """A number as exponent has to have a place among integers and in half precision, and is a double otherwise."""
    dtype = self._array.dtype
    if dtype.kind in "biu" and isinstance(exponent, int):
        check_fits(int64.numpy, exponent)
        check_fits(dtype if dtype.kind != "b" else int64.numpy, exponent)
    elif is_half(dtype) and exponent.__class__ is not complex:
        check_fits(dtype, exponent)


def _check_power(self, exponent):
    if not is_tensor(exponent):
        if exponent.__class__ is int and exponent < 0 and not (self.dtype.is_floating_point or self.is_complex()):
            raise RuntimeError(
                hinted(
                    "Integers to negative integer powers are not allowed.",
                    "convert the tensor with .float(), or give a float exponent",
                )
            )
        _check_exponent(self, exponent)
    if is_tensor(exponent) and is_bool(self) and is_bool(exponent):
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")


def power_element(m, base, exponent):
    """The formula of ``base ** exponent`` where the exponent is a number."""
    if exponent in (1, 2, 3):
        return base if exponent == 1 else base * base if exponent == 2 else base * base * base
    if exponent in (-1, -2):
        return 1 / base if exponent == -1 else 1 / (base * base)
    if exponent in (0.5, -0.5):
        return m.sqrt(base) if exponent == 0.5 else 1 / m.sqrt(base)
    return m.power(base, exponent)


def _power_node(self, exponent):
    return "PowBackward0" if not is_tensor(exponent) else "PowBackward1" if is_tensor(self) else "PowBackward2"


@op("pow_backward(Tensor gradient, Tensor self, Scalar exponent) -> Tensor", kind=FUSED, names=())
class pow_backward:
    """The gradient of a power's base, where the exponent is a number."""

    light = True

    def element(m, gradient, self, exponent):
        return gradient * m.conj(power_element(m, self, exponent - 1) * exponent)


def power_gradient(grad, base, exponent):
    """The gradient of ``base ** exponent`` with respect to the base."""
    if not is_tensor(exponent):
        if (
            exponent in (1, 2) and not functions.is_grad_enabled()
        ):  # while recording, PyTorch keeps the power in the graph
            return grad if exponent == 1 else grad * (conj(base) * 2)
        if exponent == 0:
            return grad.new_zeros(grad.shape)
        if not functions.is_grad_enabled():
            return functions.pow_backward(grad, base, exponent)
        return grad * conj(base ** (exponent - 1) * exponent)
    slope = grad * conj(exponent * base ** (exponent - 1))
    return functions.where(exponent == 0, functions.zeros_like(slope), slope)


@op("pow(Operand self, Operand exponent) -> Tensor", kind=BINARY, inplace=True, node=_power_node)
class pow:
    """``self ** exponent``, element by element; either may be a number.

    >>> import rushlight as torch
    >>> torch.tensor([1.0, 2.0, 3.0]) ** 2
    tensor([1., 4., 9.])
    """

    numpy = ufunc = power
    with_number = power_of_number
    number_first_by_rows = True
    check = _check_power
    kernel = "pow"

    def element(m, self, exponent):
        if isinstance(exponent, (int, float)):
            return power_element(m, self, exponent)
        return m.power(self, exponent)

    def d_self(grad, self, exponent):
        return power_gradient(grad, self, exponent)

    def d_exponent(grad, self, exponent, result):
        if is_tensor(self):
            undefined = (self == 0) & ((exponent.real if exponent.is_complex() else exponent) >= 0)
            base = self.to(functions.result_type(self, exponent))  # negative numbers have complex logarithms
            slope = grad * conj(result * base.log())
            return slope.masked_fill(undefined, 0)
        if self == 0:
            return grad * conj(result * float("-inf")).masked_fill(exponent >= 0, 0)
        return grad * conj(result * functions.log(functions.scalar_tensor(self, dtype=result.dtype)))


def _float_power_operands(input, exponent):
    """Both in float64, or in complex128 where one is complex."""
    operands = (input, exponent)
    if not is_tensor(input) and not is_tensor(exponent):
        raise TypeError(
            hinted(
                f"float_power() received an invalid combination of arguments - got ({type(input).__name__}, "
                f"{type(exponent).__name__}), but expected one of:",
                "one operand must be a Tensor",
            )
        )
    for value in operands:
        check_number(value)
    wide = any(v.is_complex() if is_tensor(v) else isinstance(v, complex) for v in operands)
    dtype = complex128 if wide else float64
    return dtype, [v.to(dtype) if is_tensor(v) else complex(v) if wide else float(v) for v in operands]


def _wrong_float_power(what, own, needed):
    return RuntimeError(
        hinted(
            f"the {what} has dtype {own.legacy_name} but the operation's result requires dtype {needed.legacy_name}",
            "use float_power(), which makes a new tensor",
        )
    )


@composite
def float_power(input, exponent, *, out=None):
    """`pow` computed in float64, or complex128 where an operand is complex."""
    dtype, operands = _float_power_operands(input, exponent)
    if out is None:
        return functions.pow(*operands)
    if out.dtype is not dtype:
        raise _wrong_float_power("output given to float_power", out.dtype, dtype)
    return functions.pow(*operands, out=out)


@composite(names=("Tensor",))
def float_power_(input, exponent):
    """In-place form of `float_power`, for float64 and complex128 tensors."""
    dtype, (_, exponent) = _float_power_operands(input, exponent)
    if input.dtype is not dtype:
        raise _wrong_float_power("base given to float_power_", input.dtype, dtype)
    return functions.pow_(input, exponent)


@composite
def square(input, *, out=None):
    """Each element times itself."""
    return functions.pow(input, 2) if out is None else functions.pow(input, 2, out=out)


@composite
def square_(input):
    """In-place form of `square`."""
    return functions.pow_(input, 2)


@op("hypot(Tensor self, Tensor other) -> Tensor", kind=BINARY, inplace=True, refuse=(*BOOL, *INTEGERS, *COMPLEX))
class hypot:
    """``sqrt(self**2 + other**2)`` without overflow on the way."""

    numpy = np.hypot

    def d_self(grad, self, result):
        return grad * (self / result)

    def d_other(grad, other, result):
        return grad * (other / result)


@op("ldexp(Tensor self, Tensor other) -> Tensor", kind=ELEMENTWISE, dtype=FLOAT, inplace=True)
class ldexp:
    """``self * 2**other``."""

    def check(self, other):
        if is_bool(other) and self.dtype.is_floating_point:
            raise NotImplementedError("\"ldexp_cpu_exp\" not implemented for 'Bool'")

    def element(m, self, other):
        return self * m.exp2(other)

    def patterns(self, other):
        return self, np.empty(other.shape, np.bool_)  # PyTorch's power of two lies row by row

    def d_self(grad, other, result):  # PyTorch saves the result for either operand
        return grad * conj(functions.exp2(other))

    def d_other(grad, result):
        return grad * conj(result) * float(np.log(2.0))
