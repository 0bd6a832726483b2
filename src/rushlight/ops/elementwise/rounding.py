"""Rounding: floor, ceil, round, trunc, frac. Integers are returned as they are."""

import numpy as np

from ..table import UNARY, functions, is_half, op, widened
from .checks import BOOL, COMPLEX, INTEGERS, refuse_complex


def _rounding(ufunc):
    return lambda array: ufunc(array) if array.dtype.kind not in "iu" else array.copy()


def flat(grad):
    """The gradient of a piecewise constant function."""
    return functions.zeros_like(grad)


@op("floor(Tensor self) -> Tensor", kind=UNARY, inplace=True, refuse=BOOL)
class floor:
    """The largest integer that is not larger."""

    kernel = "floor_vml_cpu"
    numpy = _rounding(np.floor)
    ufunc = np.floor

    def element(m, self):
        return m.floor(self)

    check = refuse_complex("floor is not supported for complex inputs", NotImplementedError)
    d_self = flat


@op("ceil(Tensor self) -> Tensor", kind=UNARY, inplace=True, refuse=BOOL)
class ceil:
    """The smallest integer that is not smaller."""

    kernel = "ceil_vml_cpu"
    numpy = _rounding(np.ceil)
    ufunc = np.ceil

    def element(m, self):
        return m.ceil(self)

    check = refuse_complex("ceil is not supported for complex inputs", NotImplementedError)
    d_self = flat


@op("trunc(Tensor self) -> Tensor", kind=UNARY, inplace=True, refuse=BOOL,
    names=("torch", "Tensor", "torch:fix", "Tensor:fix"))  # fmt: skip
class trunc:
    """The integer part, rounded toward zero."""

    kernel = "trunc_vml_cpu"
    numpy = _rounding(np.trunc)
    ufunc = np.trunc

    def element(m, self):
        return m.trunc(self)

    check = refuse_complex("trunc is not supported for complex inputs", NotImplementedError)
    d_self = flat


@op("frac(Tensor self) -> Tensor", kind=UNARY, inplace=True, refuse=(*BOOL, *INTEGERS, *COMPLEX))
class frac:
    """What `trunc` leaves: the part after the point, with the sign of the number."""

    light = True

    def element(m, self):
        return self - m.trunc(self)

    def d_self(grad):
        return grad


def _check_round(self, decimals):
    if decimals and not self.dtype.is_floating_point:
        raise NotImplementedError(f"\"round_cpu\" not implemented for '{self.dtype.legacy_name}'")


@op("round(Tensor self, *, int decimals=0) -> Tensor", kind=UNARY, inplace=True, refuse=(*BOOL, *COMPLEX),
    node=lambda self, decimals: f"RoundBackward{int(decimals != 0)}", names=("torch", "Tensor", "special"))  # fmt: skip
class round:
    """The nearest integer, halves to the even one; or the nearest number with ``decimals`` digits after the point.

    >>> import rushlight as torch
    >>> torch.round(torch.tensor([0.5, 1.5, 2.5]))
    tensor([0., 2., 2.])
    """

    kernel = "round_vml_cpu"
    ufunc = np.rint
    check = _check_round

    def numpy(self, decimals=0):
        if self.dtype.kind in "iu":
            return self.copy()
        if decimals == 0:
            return np.rint(self)
        wide = widened(self)
        scale = wide.dtype.type(10.0 ** abs(decimals))
        found = np.rint(wide * scale) / scale if decimals > 0 else np.rint(wide / scale) * scale
        return found.astype(self.dtype) if is_half(self.dtype) else found

    def element(m, self, decimals=0):
        if decimals == 0:
            return m.round(self)
        scale = 10.0 ** abs(decimals)
        return m.round(self * scale) / scale if decimals > 0 else m.round(self / scale) * scale

    d_self = flat
