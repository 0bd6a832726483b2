"""The functions that an element formula may use, on NumPy arrays: what ``m`` is in ``element(m, x)``."""

import numpy as np

from . import special_bessel, special_gamma, special_math
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
    if x.dtype.kind in "fV":  # the larger and the smaller than 0: where neither is a number, both are 0
        zero = _zeros.get(x.dtype, 0)
        return np.add(np.fmax(found, zero), np.fmin(found, zero))
    return found


def where_any(condition, value, otherwise):
    """``value()`` where the condition holds, ``otherwise`` elsewhere; kernels compute neither it nor what it needs where the
    condition holds for none of the elements at hand."""
    return select(condition, value(), otherwise)


class _NumpyMath:
    """NumPy's functions under the names that formulas use; special ones come from `special_math`, `special_gamma`, `special_bessel`."""

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
    erf, erfc = staticmethod(special_math.erf), staticmethod(special_math.erfc)
    erfcx, erfinv = staticmethod(special_math.erfcx), staticmethod(special_math.erfinv)
    ndtri, lgamma = staticmethod(special_math.ndtri), staticmethod(special_gamma.lgamma)
    digamma, trigamma = staticmethod(special_gamma.digamma), staticmethod(special_gamma.trigamma)
    i0, i0e = staticmethod(special_bessel.i0), staticmethod(special_bessel.i0e)
    i1, i1e = staticmethod(special_bessel.i1), staticmethod(special_bessel.i1e)
    bessel_j0, bessel_j1 = staticmethod(special_bessel.bessel_j0), staticmethod(special_bessel.bessel_j1)
    bessel_y0, bessel_y1 = staticmethod(special_bessel.bessel_y0), staticmethod(special_bessel.bessel_y1)
    modified_bessel_k0 = staticmethod(special_bessel.modified_bessel_k0)
    modified_bessel_k1 = staticmethod(special_bessel.modified_bessel_k1)
    scaled_modified_bessel_k0 = staticmethod(special_bessel.scaled_modified_bessel_k0)
    scaled_modified_bessel_k1 = staticmethod(special_bessel.scaled_modified_bessel_k1)
    spherical_bessel_j0 = staticmethod(special_bessel.spherical_bessel_j0)
    sigmoid, clamp, where_any = staticmethod(sigmoid), staticmethod(bounded), staticmethod(where_any)


numpy_math = _NumpyMath()
