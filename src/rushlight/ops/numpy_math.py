"""The functions that an element formula may use, on NumPy arrays: what ``m`` is in ``element(m, x)``."""

import math
from importlib import import_module

import numpy as np

from .blockwise import bounded, select

# NumPy takes a 0-dim array faster than a Python number.
_ones = {np.dtype(kind): np.ones((), kind) for kind in (np.float32, np.float64)}
_zeros = {np.dtype(kind): np.zeros((), kind) for kind in (np.float32, np.float64)}


def sigmoid(x):
    """``1 / (1 + exp(-x))``, finite at both ends: exp(-x) may become inf."""
    found = np.exp(np.negative(x))
    if found.__class__ is not np.ndarray:
        return np.true_divide(1, found + 1)
    np.add(found, _ones.get(found.dtype, 1), found)
    return np.true_divide(1, found) if found.dtype.kind == "c" else np.reciprocal(found, found)


def sign(x):
    """-1, 0 or 1, and 0 for NaN, where NumPy has NaN; of complex numbers NumPy's."""
    found = np.sign(x)
    zero = _zeros.get(x.dtype)
    if zero is not None:
        flat = found.reshape(-1)
        if not math.isnan(flat.dot(flat)):
            return found
    if x.dtype.kind in "fV":  # the larger and the smaller than 0: where neither is a number, both are 0
        zero = 0 if zero is None else zero
        return np.add(np.fmax(found, zero), np.fmin(found, zero))
    return found


def where_any(condition, value, otherwise):
    """``value()`` where the condition holds, ``otherwise`` elsewhere; kernels compute neither it nor what it needs where the
    condition holds for none of the elements at hand."""
    return select(condition, value(), otherwise)


_SPECIAL = {
    **dict.fromkeys(("erf", "erfc", "erfcx", "erfinv", "ndtri"), "special_math"),
    **dict.fromkeys(("lgamma", "digamma", "trigamma"), "special_gamma"),
    **dict.fromkeys(
        ("i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0", "modified_bessel_k1",
         "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"),
        "special_bessel",
    ),
}  # fmt: skip


class _NumpyMath:
    """NumPy's functions under the names that formulas use; special ones of modules that are imported when a formula uses one."""

    exp, exp2, expm1 = staticmethod(np.exp), staticmethod(np.exp2), staticmethod(np.expm1)
    log, log2, log10, log1p = (
        staticmethod(np.log),
        staticmethod(np.log2),
        staticmethod(np.log10),
        staticmethod(np.log1p),
    )
    sqrt, abs, floor = staticmethod(np.sqrt), staticmethod(np.abs), staticmethod(np.floor)
    sign, sgn = staticmethod(sign), staticmethod(sign)
    ceil, trunc, conj = staticmethod(np.ceil), staticmethod(np.trunc), staticmethod(np.conjugate)
    sin, cos, tan = staticmethod(np.sin), staticmethod(np.cos), staticmethod(np.tan)
    sinh, cosh, tanh = staticmethod(np.sinh), staticmethod(np.cosh), staticmethod(np.tanh)
    arcsin, arccos, arctan, arctan2 = (staticmethod(f) for f in (np.arcsin, np.arccos, np.arctan, np.arctan2))
    maximum, minimum, power = staticmethod(np.maximum), staticmethod(np.minimum), staticmethod(np.power)
    isnan, isinf, isfinite = staticmethod(np.isnan), staticmethod(np.isinf), staticmethod(np.isfinite)
    where, ones_like = staticmethod(select), staticmethod(np.ones_like)
    copysign, fmod = staticmethod(np.copysign), staticmethod(np.fmod)
    sigmoid, clamp, where_any = staticmethod(sigmoid), staticmethod(bounded), staticmethod(where_any)

    def __getattr__(self, name):
        if name not in _SPECIAL:
            raise AttributeError(f"formulas have no function '{name}'")
        found = getattr(import_module(f"rushlight.ops.{_SPECIAL[name]}"), name)
        setattr(self, name, found)
        return found


numpy_math = _NumpyMath()
