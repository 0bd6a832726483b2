"""The larger and the smaller of two: maximum, minimum, clamp, and the choice between two tensors."""

import numpy as np

from ...base.arrays import putmask
from ...base.dtypes import float64
from ...base.errors import hinted
from ...base.notes import warn_once
from ...base.scalars import check_fits, largest_float
from ..blockwise import FEW, bounded, larger, select, smaller
from ..table import BINARY, ELEMENTWISE, FUSED, MASKED, OWN, RELAXED, composite, functions, is_half, op, widened
from .checks import is_tensor, kind_of, refuse_complex


@op("maximum_backward(Tensor gradient, Tensor self, Tensor other) -> Tensor", kind=FUSED, names=())
class maximum_backward:
    """What the larger of two takes of the gradient: equals share it."""

    light = True

    def element(m, gradient, self, other):
        return m.where(self == other, gradient / 2, m.where(other > self, 0, gradient))


@op("minimum_backward(Tensor gradient, Tensor self, Tensor other) -> Tensor", kind=FUSED, names=())
class minimum_backward:
    """What the smaller of two takes of the gradient: equals share it."""

    light = True

    def element(m, gradient, self, other):
        return m.where(self == other, gradient / 2, m.where(other < self, 0, gradient))


@op("maximum(Tensor self, Tensor other) -> Tensor", kind=BINARY)
class maximum:
    """The larger of two elements; nan where either is nan.

    >>> import rushlight as torch
    >>> torch.maximum(torch.tensor([1, 5]), torch.tensor([3, 2]))
    tensor([3, 5])
    """

    numpy = np.maximum
    check = refuse_complex("maximum not implemented for complex tensors.")

    def d_self(grad, self, other):
        return functions.maximum_backward(grad, self, other)

    def d_other(grad, self, other):
        return functions.maximum_backward(grad, other, self)


@op("minimum(Tensor self, Tensor other) -> Tensor", kind=BINARY)
class minimum:
    """The smaller of two elements; nan where either is nan."""

    numpy = np.minimum
    check = refuse_complex("minimum not implemented for complex tensors.")

    def d_self(grad, self, other):
        return functions.minimum_backward(grad, self, other)

    def d_other(grad, self, other):
        return functions.minimum_backward(grad, other, self)


@op("fmax(Tensor self, Tensor other) -> Tensor", kind=BINARY)
class fmax:
    """The larger of two elements; the other one where one is nan."""

    light = True

    def element(m, self, other):
        return m.where((self >= other) | (other != other), self, other)

    check = refuse_complex("fmax not implemented for complex tensors.")

    def d_self(grad, self, other):
        return grad.masked_fill(((self >= other) | other.isnan()).logical_not(), 0)

    def d_other(grad, self, other):
        return grad.masked_fill((self >= other) | other.isnan(), 0)


@op("fmin(Tensor self, Tensor other) -> Tensor", kind=BINARY)
class fmin:
    """The smaller of two elements; the other one where one is nan."""

    light = True

    def element(m, self, other):
        return m.where((self <= other) | (other != other), self, other)

    check = refuse_complex("fmin not implemented for complex tensors.")

    def d_self(grad, self, other):
        return grad.masked_fill(((self <= other) | other.isnan()).logical_not(), 0)

    def d_other(grad, self, other):
        return grad.masked_fill((self <= other) | other.isnan(), 0)


# ---------------------------------------------------------------- clamp

_no_complex = refuse_complex("clamp is not supported for complex types", NotImplementedError)


def _refuse_complex_bound():
    raise NotImplementedError(hinted("clamp is not supported for complex types", "take the real part of the bound"))


def _refuse_complex_tensors(kernel, *bounds):
    """Bounds that are complex tensors make the common dtype complex, which the kernel does not know."""
    for bound in bounds:
        if is_tensor(bound) and bound.is_complex():
            raise NotImplementedError(
                hinted(f"\"{kernel}\" not implemented for '{bound.dtype.legacy_name}'", "complex numbers have no order")
            )


def _check_complex_bounds(self, *bounds):
    """Beside a floating tensor, bounds without an imaginary part are real numbers."""
    if not self.is_floating_point():
        _refuse_complex_bound()
    for bound in bounds:
        if bound.__class__ is complex:
            check_fits(float64.numpy, bound)


def _refuse_bools(kernel):
    raise NotImplementedError(hinted(f"\"{kernel}\" not implemented for 'Bool'", "bools have no range: take & or |"))


def _check_bools(self, min, max):
    """Refuse bounds of bools, unless it is one tensor, of which the larger or the smaller is taken."""
    bounds = [bound for bound in (min, max) if bound is not None]
    if any(kind_of(value) != "b" for value in (self, *bounds)) or (len(bounds) == 1 and is_tensor(bounds[0])):
        return
    side = "" if len(bounds) == 2 else "_min" if max is None else "_max"
    _refuse_bools("clamp_cpu" if is_tensor(bounds[0]) else f"clamp{side}_scalar_cpu")


_USUAL_BOUNDS = frozenset((int, float, type(None)))


def _check_clamp(self, min, max):
    usual = min.__class__ in _USUAL_BOUNDS and max.__class__ in _USUAL_BOUNDS and min is not max
    if usual and self._array.dtype.kind == "f":
        return
    _no_complex(self)
    if min.__class__ is complex or max.__class__ is complex:
        _check_complex_bounds(self, min, max)
    if min is max is None:
        raise RuntimeError(
            hinted(
                "torch.clamp: At least one of 'min' or 'max' must not be None",
                "give a lower bound, an upper one, or both",
            )
        )
    if is_tensor(min) or is_tensor(max):
        kernel = "maximum_cpu" if max is None else "minimum_cpu" if min is None else "clamp_cpu"
        _refuse_complex_tensors(kernel, min, max)
    _check_bools(self, min, max)
    if min.__class__ is max.__class__ or min is None or max is None:
        return
    if is_tensor(min) != is_tensor(max):
        bound = min if is_tensor(min) else max
        if not bound.ndim and not bound.requires_grad:  # stands for its number
            return
        kinds = {
            "min": "Tensor" if is_tensor(min) else type(min).__name__,
            "max": "Tensor" if is_tensor(max) else type(max).__name__,
        }
        raise TypeError(
            hinted(
                f"clamp() received an invalid combination of arguments - got (Tensor, max={kinds['max']}, "
                f"min={kinds['min']}), but "
                "expected one of:",
                "both bounds are tensors or both are numbers",
            )
        )


@op("clamp(Tensor self, Operand? min=None, Operand? max=None) -> Tensor", kind=ELEMENTWISE, inplace=True,
    node=lambda self, min, max: f"ClampBackward{int(not (is_tensor(min) or is_tensor(max)))}",
    names=("torch", "Tensor", "torch:clip", "Tensor:clip"))  # fmt: skip
class clamp:
    """Each element, but at least ``min`` and at most ``max``; bounds are numbers or tensors, either may be left away.

    >>> import rushlight as torch
    >>> torch.clamp(torch.tensor([-1.0, 0.5, 2.0]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """

    check = _check_clamp
    numbers = {"min": OWN, "max": OWN}
    aside = "f"

    def numpy(self, min, max):
        return bounded(self, min, max)

    def element(m, self, min, max):
        return m.clamp(self, min, max)

    def d_self(grad, self, min, max):
        return functions.clamp_backward(grad, self, min, max)

    def d_min(grad, self, min, max):
        below = self < min
        return functions.where_select(below if max is None else below & (min < max), grad, 0)

    def d_max(grad, self, min, max):
        above = self > max
        return functions.where_select(above if min is None else above | (max < min), grad, 0)


@op("clamp_backward(Tensor gradient, Tensor self, Operand? min, Operand? max) -> Tensor", kind=FUSED, names=())
class clamp_backward:
    """The gradient where an element lies within its bounds, which belong to the inside; 0 elsewhere."""

    light = True

    def element(m, gradient, self, min, max):
        if min is None:
            return m.where(self <= max, gradient, 0)
        if max is None:
            return m.where(self >= min, gradient, 0)
        return m.where((self >= min) & (self <= max), gradient, 0)


def _checks_bound(name, kernel):
    def check(self, bound):
        if is_tensor(bound):
            _refuse_complex_tensors(kernel, self, bound)
            return
        _no_complex(self)
        if kind_of(self) == kind_of(bound) == "b":
            _refuse_bools(f"{name}_scalar_cpu")
        if bound.__class__ is complex:
            _refuse_complex_bound()

    return check


@op("clamp_min(Tensor self, Operand min) -> Tensor", kind=BINARY, inplace=True,
    node=lambda self, min: f"ClampMinBackward{int(is_tensor(min))}")  # fmt: skip
class clamp_min:
    """Each element, but at least ``min``: a number or a tensor."""

    numpy = larger
    check = _checks_bound("clamp_min", "maximum_cpu")
    numbers = {"min": OWN}

    def element(m, self, min):
        return m.maximum(min, self)

    def d_self(grad, self, min):
        return functions.clamp_backward(grad, self, min, None)

    def d_min(grad, self, min):
        return functions.where_select(self < min, grad, 0)


@op("clamp_max(Tensor self, Operand max) -> Tensor", kind=BINARY, inplace=True,
    node=lambda self, max: f"ClampMaxBackward{int(is_tensor(max))}")  # fmt: skip
class clamp_max:
    """Each element, but at most ``max``: a number or a tensor."""

    numpy = smaller
    check = _checks_bound("clamp_max", "minimum_cpu")
    numbers = {"max": OWN}

    def element(m, self, max):
        return m.minimum(max, self)

    def d_self(grad, self, max):
        return functions.clamp_backward(grad, self, None, max)

    def d_max(grad, self, max):
        return functions.where_select(self > max, grad, 0)


# ---------------------------------------------------------------- choice


def _check_condition(condition, self, other):
    if condition._array.dtype.kind == "b":
        return
    if condition.dtype.name == "uint8":
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of "
            "PyTorch. Use a boolean condition instead."
        )
    else:
        raise RuntimeError(
            hinted(
                "where expected condition to be a boolean tensor, but got a tensor with dtype "
                f"{condition.dtype.legacy_name}",
                "compare it with something first: condition != 0",
            )
        )


@op("where_select(Tensor condition, Operand self, Operand other) -> Tensor", kind=ELEMENTWISE, dtype=MASKED, names=(),
    node="WhereBackward0")  # fmt: skip
class where_select:
    """``self`` where the condition holds, else ``other``."""

    check = _check_condition
    numbers = {"self": RELAXED, "other": RELAXED}

    def numpy(condition, self, other):
        by_rows = condition.flags.c_contiguous and self.flags.c_contiguous and other.flags.c_contiguous
        alike = by_rows and self.dtype is other.dtype and condition.shape == other.shape and other.size <= FEW
        if alike and (self.shape == other.shape or not self.ndim):
            found = other.copy()
            putmask(found, condition, self)
            return found
        return select(condition, self, other)

    def element(m, condition, self, other):
        return m.where(condition, self, other)

    def d_self(grad, condition):
        return functions.where_select(condition, grad, 0)

    def d_other(grad, condition):
        return functions.where_select(condition, 0, grad)


@composite(names=("Tensor:where",))
def where_method(input, condition, other):
    """The tensor's elements where the condition holds, those of ``other`` elsewhere."""
    return functions.where_select(condition, input, other)


@composite(names=("torch",), short="where_select")
def where(condition, input=None, other=None, *, out=None):
    """``input`` where the condition holds, else ``other``; with the condition alone, the indices where it holds.

    >>> import rushlight as torch
    >>> x = torch.tensor([1.0, -2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([1., 0.])
    >>> torch.where(x > 0)
    (tensor([0]),)
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if input is None or other is None:
        raise TypeError(
            hinted(
                "where() received an invalid combination of arguments - got (Tensor, Tensor), but expected one of:",
                "where(condition) or where(condition, input, other)",
            )
        )
    if out is not None:
        return functions.where_select(condition, input, other, out=out)
    return functions.where_select(condition, input, other)


_LIMITS = {"posinf": "max", "neginf": "min"}


@op(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
    kind=ELEMENTWISE,
    inplace=True,
)
class nan_to_num:
    """nan, inf and -inf replaced: by 0 and the largest and smallest numbers of the dtype unless given."""

    def numpy(self, nan=None, posinf=None, neginf=None):
        if self.dtype.kind in "iub":
            return self.copy()
        if self.dtype.kind == "c":
            parts = [nan_to_num_real(part, nan, posinf, neginf) for part in (self.real, self.imag)]
            found = np.empty(self.shape, self.dtype)
            found.real, found.imag = parts
            return found
        return nan_to_num_real(self, nan, posinf, neginf)

    def element(m, self, nan, posinf, neginf):
        if self.dtype.kind != "f":
            return NotImplemented
        largest = float(np.finfo(self.dtype).max)
        found = m.where(self == np.inf, largest if posinf is None else posinf, self)
        found = m.where(self == -np.inf, -largest if neginf is None else neginf, found)
        return m.where(m.isnan(self), 0.0 if nan is None else nan, found)

    def d_self(grad, self):
        if self.is_complex():
            real, imag = self.real, self.imag
            return functions.complex(grad.real * real.isfinite(), grad.imag * imag.isfinite())
        return grad * self.isfinite()


def nan_to_num_real(array, nan, posinf, neginf):
    """`nan_to_num` of a real array."""
    dtype = array.dtype
    wide = widened(array)
    largest = largest_float(dtype)
    found = np.where(np.isnan(wide), wide.dtype.type(0 if nan is None else nan), wide)
    found = np.where(wide == np.inf, wide.dtype.type(largest if posinf is None else posinf), found)
    found = np.where(wide == -np.inf, wide.dtype.type(-largest if neginf is None else neginf), found)
    return found.astype(dtype) if is_half(dtype) else found
