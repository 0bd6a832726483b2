"""Comparisons, and questions about each element: equal, less, nan, inf, close."""

import math

import numpy as np

from ...base.arrays import count_nonzero
from ...base.dtypes import get_default_dtype
from ...base.errors import hinted
from ...base.lazy import LAZY, is_meta, no_shape
from ..blockwise import FEW
from ..schema import TENSOR_CLASSES
from ..table import BINARY, COMPARE, UNARY, composite, functions, op
from .checks import COMPLEX, kind_of, refuse_complex


def flat(grad):
    """The gradient of a step: zero."""
    return functions.zeros_like(grad)


def _comparison(name, alias, ufunc, words, refuse=()):
    """A record of a comparison."""
    names = ("torch", "Tensor") if alias is None else ("torch", "Tensor", f"torch:{alias}", f"Tensor:{alias}")
    body = {
        "numpy": ufunc,
        "__doc__": f"{words}, element by element, as a bool tensor.",
        "inplace_node": f"{name.capitalize()}Backward1",  # in place the result is a number and has a gradient: zero
        "d_self": flat,
        "d_other": flat,
    }
    schema = f"{name}(Tensor self, Operand other) -> Tensor"
    decorate = op(schema, kind=BINARY, dtype=COMPARE, inplace=True, names=names, refuse=refuse)
    return decorate(type(name, (), body))


eq = _comparison("eq", None, np.equal, "Whether ``self == other``")
ne = _comparison("ne", "not_equal", np.not_equal, "Whether ``self != other``")
lt = _comparison("lt", "less", np.less, "Whether ``self < other``", COMPLEX)
le = _comparison("le", "less_equal", np.less_equal, "Whether ``self <= other``", COMPLEX)
gt = _comparison("gt", "greater", np.greater, "Whether ``self > other``", COMPLEX)
ge = _comparison("ge", "greater_equal", np.greater_equal, "Whether ``self >= other``", COMPLEX)


def _is_nan(array):
    return np.isnan(array) if array.dtype.kind in "fcV" else np.zeros(array.shape, bool)


@op("isnan(Tensor self) -> Tensor", kind=UNARY, dtype=COMPARE)
class isnan:
    """Whether each element is nan."""

    numpy = ufunc = _is_nan

    def element(m, self):
        return m.isnan(self)


def _is_infinite(array):
    return np.isinf(array) if array.dtype.kind in "fcV" else np.zeros(array.shape, bool)


@op("isinf(Tensor self) -> Tensor", kind=UNARY, dtype=COMPARE)
class isinf:
    """Whether each element is infinite."""

    numpy = _is_infinite

    def element(m, self):
        return m.isinf(self)


def _is_finite(array):
    return np.isfinite(array) if array.dtype.kind in "fcV" else np.ones(array.shape, bool)


@op("isfinite(Tensor self) -> Tensor", kind=UNARY, dtype=COMPARE)
class isfinite:
    """Whether each element is neither infinite nor nan."""

    numpy = _is_finite

    def element(m, self):
        return m.isfinite(self)


@op("isreal(Tensor self) -> Tensor", kind=UNARY, dtype=COMPARE)
class isreal:
    """Whether each element has no imaginary part."""

    def numpy(self):
        return self.imag == 0 if self.dtype.kind == "c" else np.ones(self.shape, bool)


def _infinite_of_sign(array, positive):
    if array.dtype.kind not in "fV":
        return np.zeros(array.shape, bool)
    return array == array.dtype.type(float("inf") if positive else float("-inf"))


@op("isposinf(Tensor self) -> Tensor", kind=UNARY, dtype=COMPARE)
class isposinf:
    """Whether each element is +inf."""

    check = refuse_complex("isposinf does not support complex inputs.")

    def numpy(self):
        return _infinite_of_sign(self, True)

    def element(m, self):
        return self == math.inf


@op("isneginf(Tensor self) -> Tensor", kind=UNARY, dtype=COMPARE)
class isneginf:
    """Whether each element is -inf."""

    check = refuse_complex("isneginf does not support complex inputs.")

    def numpy(self):
        return _infinite_of_sign(self, False)

    def element(m, self):
        return self == -math.inf


@op("signbit(Tensor self) -> Tensor", kind=UNARY, dtype=COMPARE)
class signbit:
    """Whether the sign bit of each element is set; so it is for -0.0."""

    check = refuse_complex("signbit is not implemented for complex tensors.", NotImplementedError)

    def numpy(self):
        return (
            np.signbit(self)
            if self.dtype.kind in "fV"
            else self < 0
            if self.dtype.kind == "i"
            else np.zeros(self.shape, bool)
        )


@composite
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether ``|input - other| <= atol + rtol * |other|``; equal infinities are close, nans only with ``equal_nan``.

    >>> import rushlight as torch
    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1e-7, 2.1]))
    tensor([ True, False])
    """
    if input.dtype is not other.dtype:
        raise RuntimeError(
            hinted(
                f"{_written(input.dtype)} did not match {_written(other.dtype)}",
                "convert one of the tensors with .to(dtype)",
            )
        )
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    close = input == other
    if equal_nan and kind_of(input) in "fc":
        close = close | (input.isnan() & other.isnan())
    if rtol == 0 and atol == 0:
        return close
    if kind_of(input) not in "fc":
        input, other = input.to(get_default_dtype()), other.to(get_default_dtype())
    distance = (input - other).abs()
    return close | (distance.isfinite() & (distance <= atol + (rtol * other).abs()))


def _written(dtype):
    return {"float32": "Float", "float64": "Double"}.get(dtype.name, dtype.legacy_name)


@composite
def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements are close, as one Python bool: see `isclose`."""
    return functions.isclose(input, other, rtol, atol, equal_nan).all().item()


@composite
def equal(input, other):
    """Whether two tensors have the same shape and elements, as one Python bool."""
    if input.__class__ in TENSOR_CLASSES and other.__class__ in TENSOR_CLASSES and not functions.interposers:
        first, second = input._array, other._array
        if LAZY and (is_meta(first) or is_meta(second)):
            raise no_shape("equal")
        if first.shape != second.shape:
            return False
        if first.dtype is second.dtype and first.size <= FEW:
            return bool(count_nonzero(np.equal(first, second)) == first.size)
    for position, (name, value) in enumerate((("input", input), ("other", other)), 1):
        if not hasattr(value, "_edge"):
            kind = type(value).__name__
            raise TypeError(
                hinted(f"equal(): argument '{name}' (position {position}) must be Tensor, not {kind}", "use eq() or ==")
            )
    return input._array.shape == other._array.shape and (input == other).all().item()
