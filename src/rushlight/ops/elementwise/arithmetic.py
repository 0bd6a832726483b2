"""Arithmetic: sums, products, quotients, remainders, and operations made of them."""

import numpy as np

from ...base.dtypes import from_numpy
from ...base.errors import hinted
from ...base.scalars import c_name, number_array, wrapped
from ..numpy_math import numpy_math
from ..table import (
    BINARY,
    ELEMENTWISE,
    FLOAT,
    FUSED,
    OWN,
    PROMOTE,
    UNARY,
    WIDE,
    composite,
    conj,
    functions,
    is_half,
    op,
    widened,
)
from .checks import (
    BOOL,
    COMPLEX,
    INTEGERS,
    check_alpha,
    check_negation,
    check_subtraction,
    is_bool,
    is_tensor,
    kind_of,
    no_derivative,
)
from .complex_parts import times_conjugate


def scaled(value, factor):
    """``value * factor``, without an operation where the factor is one."""
    return value if factor.__class__ is int and factor == 1 else value * factor


def times_alpha(array, alpha):
    """``alpha * array`` in the array's own dtype; half precision is multiplied in float32."""
    return array * number_array(array.dtype, alpha)


def accumulate(ufunc, first, second, alpha):
    """``first ± alpha * second``: half precision is rounded once, at the end."""
    if alpha.__class__ is int and alpha == 1:
        return ufunc(first, second)
    if is_half(first.dtype):
        return ufunc(widened(first), widened(second) * number_array(second.dtype, alpha).astype(np.float32)).astype(
            first.dtype
        )
    if first.dtype.kind == "b":
        return ufunc(first, second & bool(alpha))
    return ufunc(first, times_alpha(second, alpha))


@op("add(Operand self, Operand other, *, Scalar alpha=1) -> Tensor", kind=BINARY, inplace=True)
class add:
    """``self + alpha * other``, with broadcasting and type promotion.

    >>> import rushlight as torch
    >>> torch.add(torch.tensor([1, 2]), torch.tensor([0.5]), alpha=2)
    tensor([2., 3.])
    """

    ufunc = np.add
    numbers = {"alpha": OWN}

    def check(self, other, alpha):
        check_alpha(alpha, self, other)

    def numpy(self, other, alpha=1):
        return accumulate(np.add, self, other, alpha)

    def element(m, self, other, alpha=1):
        return self + scaled(other, alpha)

    def d_self(grad):
        return grad

    def d_other(grad, alpha):
        return scaled(grad, conj(alpha))


@op("sub(Operand self, Operand other, *, Scalar alpha=1) -> Tensor", kind=BINARY, inplace=True,
    names=("torch", "Tensor", "torch:subtract", "Tensor:subtract"))  # fmt: skip
class sub:
    """``self - alpha * other``, with broadcasting and type promotion."""

    ufunc = np.subtract
    numbers = {"alpha": OWN}
    check = check_subtraction

    def numpy(self, other, alpha=1):
        return accumulate(np.subtract, self, other, alpha)

    def element(m, self, other, alpha=1):
        return self - scaled(other, alpha)

    def d_self(grad):
        return grad

    def d_other(grad, alpha):
        return scaled(-grad, conj(alpha))


def _reversed_difference(self, other):
    return np.subtract(other, self)


@op("rsub(Tensor self, Operand other, *, Scalar alpha=1) -> Tensor", kind=BINARY, names=("torch",),
    node=lambda self, other, alpha: "RsubBackward0" if is_tensor(other) else "RsubBackward1")  # fmt: skip
class rsub:
    """``other - alpha * self``: subtraction with the operands in the other order."""

    backwards = True

    ufunc = _reversed_difference
    numbers = {"alpha": OWN}
    check = check_subtraction

    def numpy(self, other, alpha=1):
        return accumulate(np.subtract, other, self, alpha)

    def element(m, self, other, alpha=1):
        return other - scaled(self, alpha)

    def patterns(self, other):
        return other, self

    def d_self(grad, alpha):
        return scaled(-grad, conj(alpha))

    def d_other(grad):
        return grad


@op("mul(Operand self, Operand other) -> Tensor", kind=BINARY, inplace=True,
    names=("torch", "Tensor", "torch:multiply", "Tensor:multiply"))  # fmt: skip
class mul:
    """Product, element by element, with broadcasting and type promotion.

    >>> import rushlight as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """

    numpy = np.multiply
    wide_numbers = True

    def d_self(grad, other):
        return times_conjugate(grad, other)

    def d_other(grad, self):
        return times_conjugate(grad, self)


def _kind(operand):
    if is_tensor(operand):
        return operand._array.dtype.kind
    return {bool: "b", int: "i"}.get(operand.__class__, "f")


def _refuse_zero_divisor(self, other):
    """C has no integer quotient by zero."""
    if other.__class__ is int and other and -128 <= other < 128:  # zero in no dtype
        return
    kind, other_kind = _kind(self), _kind(other)
    if kind not in "iub" or other_kind not in "iub" or kind == other_kind == "b":
        return
    divisor = other._array if is_tensor(other) else np.asarray(other)
    if not divisor.ndim and is_tensor(self) and self._array.ndim and kind != "b":
        divisor = wrapped(self._array.dtype, divisor.item())
    if not divisor.all():
        raise RuntimeError(
            hinted("ZeroDivisionError", "an integer divisor is zero; floating-point division gives inf or nan")
        )


def _no_rounded_quotient(dtype, mode):
    name = from_numpy(dtype).legacy_name
    return NotImplementedError(f"\"div_{mode}_cpu\" not implemented for '{name}'")


def floor_quotient(self, other):
    """The quotient rounded down; of integers, floats and bools of one dtype."""
    if self.dtype.kind in "bc":
        raise _no_rounded_quotient(self.dtype, "floor")
    if is_half(self.dtype):
        return _floored(numpy_math, self, other)  # each step rounds
    return np.floor_divide(self, other)


def _floor_quotient_element(m, self, other):
    """The floored quotient of elements."""
    return _floored(m, self, other) if self.dtype.kind == "f" else m.floored_quotient(self, other)


def _floored(m, self, other):
    """The floored quotient of floats, by way of the remainder: rounded first, it might be the next integer already."""
    exact = self / other
    rest = m.fmod(self, other)
    is_overflow = m.isinf(exact) & m.isfinite(self)
    found = m.where(is_overflow, self, self - rest) / other
    found = m.where((rest != 0) & ((other < 0) ^ (rest < 0)), found - 1, found)
    floored = m.floor(found)
    floored = m.where(found - floored > 0.5, floored + 1, floored)
    floored = m.where(found == 0, m.copysign(0.0, exact), floored)
    return m.where(other == 0, exact, floored)


def truncated_quotient(self, other):
    """The quotient rounded toward zero."""
    if self.dtype.kind == "u":
        return self // other
    if self.dtype.kind in "bc":
        raise _no_rounded_quotient(self.dtype, "trunc")
    if self.dtype.kind == "i":
        return (self - np.fmod(self, other)) // other
    return np.trunc(np.true_divide(self, other))


def _check_rounding(self, other, rounding_mode):
    if rounding_mode not in (None, "trunc", "floor"):
        raise RuntimeError(
            hinted(
                f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'",
                "'trunc' rounds toward zero, 'floor' down",
            )
        )
    if rounding_mode is not None:
        _refuse_zero_divisor(self, other)


@op("div_other_backward(Tensor gradient, Operand self, Tensor other) -> Tensor", kind=FUSED, names=())
class div_other_backward:
    """The gradient of a quotient's divisor."""

    light = True

    def element(m, gradient, self, other):
        return -gradient * m.conj(self / other / other)


@op("div(Operand self, Operand other, *, str? rounding_mode=None) -> Tensor", kind=BINARY, inplace=True,
    dtype=lambda rounding_mode=None: FLOAT if rounding_mode is None else PROMOTE,
    node=lambda self, other, rounding_mode: "DivBackward0" if rounding_mode is None else "DivBackward2",
    names=("torch", "Tensor", "torch:divide", "Tensor:divide"))  # fmt: skip
class div:
    """Quotient, element by element; ``rounding_mode`` "trunc" rounds it toward zero, "floor" down.

    Integers are divided in the default float unless a rounding mode is given.

    >>> import rushlight as torch
    >>> torch.div(torch.tensor([7, -7]), 2, rounding_mode="floor")
    tensor([ 3, -4])
    """

    ufunc = np.true_divide
    wide_numbers = True
    check = _check_rounding

    def numpy(self, other, rounding_mode=None):
        if rounding_mode is None:
            return np.true_divide(self, other)
        return floor_quotient(self, other) if rounding_mode == "floor" else truncated_quotient(self, other)

    def rounds_inside(rounding_mode=None):
        return rounding_mode is not None

    def element(m, self, other, rounding_mode=None):
        if rounding_mode == "floor":
            return _floor_quotient_element(m, self, other)
        if rounding_mode is None:
            return self / other
        if self.dtype.kind == "f":
            return m.trunc(self / other)
        found = m.floored_quotient(self, other)
        return m.where((found * other != self) & ((self < 0) ^ (other < 0)), found + 1, found)

    def d_self(grad, other, rounding_mode):
        return grad / conj(other) if rounding_mode is None else grad.new_zeros(grad.shape)

    def d_other(grad, self, other, rounding_mode):
        if rounding_mode is not None:
            return grad.new_zeros(grad.shape)
        return functions.div_other_backward(grad, self, other)


@composite
def true_divide(input, other, *, out=None):
    """Quotient, element by element: `div` without a rounding mode."""
    return functions.div(input, other) if out is None else functions.div(input, other, out=out)


@composite
def true_divide_(input, other):
    """In-place form of `true_divide`."""
    return functions.div_(input, other)


@op(
    "floor_divide(Operand self, Operand other) -> Tensor",
    kind=BINARY,
    inplace=True,
    node="NotImplemented",
    refuse=(*BOOL, *COMPLEX),
)
class floor_divide:
    """The quotient rounded down, as Python's ``//``."""

    kernel = "div_floor_cpu"
    wide_numbers = True
    check = _refuse_zero_divisor

    def numpy(self, other):
        return floor_quotient(self, other)

    def rounds_inside():
        return True

    def element(m, self, other):
        return _floor_quotient_element(m, self, other)

    d_self = d_other = no_derivative("floor_divide")


def _remainder_node(name):
    return lambda self, other: f"{name}Backward{int(is_tensor(other))}"


@op("remainder(Operand self, Operand other) -> Tensor", kind=BINARY, inplace=True, node=_remainder_node("Remainder"),
    refuse=(*BOOL, *COMPLEX))  # fmt: skip
class remainder:
    """What division rounded down leaves, as Python's ``%``: it has the sign of the divisor."""

    check = _refuse_zero_divisor

    def numpy(self, other):
        found = np.remainder(self, other)
        if found.dtype.kind in "iu" or found.all():
            return found
        return np.where(found == 0, np.copysign(found, self), found)  # NumPy's zeros have the sign of the divisor

    def element(m, self, other):
        if self.dtype.kind != "f":
            return self - m.floored_quotient(self, other) * other
        rest = m.fmod(self, other)
        return m.where((rest != 0) & ((other < 0) ^ (rest < 0)), rest + other, rest)

    def d_self(grad):
        return grad

    def d_other(grad, self, other):
        return -grad * functions.div(self, other, rounding_mode="floor")


@op("fmod(Tensor self, Operand other) -> Tensor", kind=BINARY, inplace=True, node=_remainder_node("Fmod"),
    refuse=(*BOOL, *COMPLEX))  # fmt: skip
class fmod:
    """What division rounded toward zero leaves, as C's fmod: it has the sign of the dividend."""

    check = _refuse_zero_divisor

    def numpy(self, other):
        return np.fmod(widened(self), widened(other)).astype(self.dtype, copy=False)

    def element(m, self, other):
        if self.dtype.kind == "f":
            return m.fmod(self, other)
        rest = self - m.floored_quotient(self, other) * other
        return m.where((rest != 0) & ((self < 0) ^ (other < 0)), rest - other, rest)

    def d_self(grad):
        return grad

    def d_other(grad, self, other):
        return -grad * self.div(other, rounding_mode="trunc")


@op("neg(Tensor self) -> Tensor", kind=UNARY, inplace=True,
    names=("torch", "Tensor", "torch:negative", "Tensor:negative", "Tensor:__neg__"))  # fmt: skip
class neg:
    """The negative of each element."""

    numpy = np.negative
    check = check_negation

    def d_self(grad):
        return -grad


@composite(names=("torch", "Tensor", "Tensor:__pos__"))
def positive(input):
    """The tensor itself; bool tensors are refused."""
    if is_bool(input):
        raise RuntimeError(
            hinted("The `+` operator, on a bool tensor is not supported.", "convert it with .int() to compute with it")
        )
    return input


def _check_quotient(self, tensor1, tensor2, value):
    if not {kind_of(tensor) for tensor in (tensor1, tensor2)} & {"f", "c"}:
        raise RuntimeError(
            hinted(
                "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will "
                "perform a true "
                "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
                "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * "
                "tensor1 / tensor2) "
                "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value "
                "* tensor1 / tensor2), for all dtypes.",
                "convert the operands with .float()",
            )
        )


@op(
    "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    kind=ELEMENTWISE,
    inplace=True,
    refuse=BOOL,
)
class addcmul:
    """``self + value * tensor1 * tensor2``."""

    kernel = "addcmul_cpu_out"
    numbers = {"value": WIDE}

    light = True

    def element(m, self, tensor1, tensor2, value=1):
        return self + (tensor1 * tensor2 if value == 1 else tensor1 * value * tensor2)

    def d_self(grad):
        return grad

    def d_tensor1(grad, tensor2, value):
        return grad * conj(scaled(tensor2, value))

    def d_tensor2(grad, tensor1, value):
        return grad * conj(scaled(tensor1, value))


@op("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", kind=ELEMENTWISE, inplace=True)
class addcdiv:
    """``self + value * tensor1 / tensor2``."""

    check = _check_quotient
    numbers = {"value": WIDE}

    light = True

    def element(m, self, tensor1, tensor2, value=1):
        return self + (tensor1 if value == 1 else tensor1 * value) / tensor2

    def d_self(grad):
        return grad

    def d_tensor1(grad, tensor2, value):
        return scaled(grad, conj(value)) / conj(tensor2)

    def d_tensor2(grad, tensor1, tensor2, value):
        return scaled(-grad, conj(value)) * conj(tensor1 / (tensor2 * tensor2))


def _check_lerp(self, end, weight):
    kind = self._array.dtype
    if end._array.dtype is kind and (weight.__class__ is float or not is_tensor(weight)):
        return
    for name, value in (("end", end), ("weight", weight)):
        if is_tensor(value) and value.dtype is not self.dtype:
            own, given = c_name(self.dtype), c_name(value.dtype)
            raise RuntimeError(
                hinted(f"expected dtype {own} for `{name}` but got dtype {given}", "convert them to one dtype first")
            )


@op("lerp(Tensor self, Tensor end, Operand weight) -> Tensor", kind=ELEMENTWISE, inplace=True,
    node=lambda self, end, weight: f"LerpBackward{int(is_tensor(weight))}",
    refuse=(*BOOL, *INTEGERS))  # fmt: skip
class lerp:
    """The point between ``self`` and ``end`` at ``weight``: 0 is ``self``, 1 is ``end``."""

    check = _check_lerp
    kernel = "lerp_kernel_scalar"
    numbers = {"weight": WIDE}
    aside = "biufc"
    wide_numbers = True

    light = True

    def element(m, self, end, weight):
        distance = end - self
        if weight.ndim == 0:
            return self + weight * distance if abs(weight.item()) < 0.5 else end - distance * (1 - weight)
        return m.where(abs(weight) < 0.5, self + weight * distance, end - distance * (1 - weight))

    def d_self(grad, weight):
        return grad * conj(1 - weight)

    def d_end(grad, weight):
        return grad * conj(weight)

    def d_weight(grad, self, end):
        return grad * conj(end - self)
