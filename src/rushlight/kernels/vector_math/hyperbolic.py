"""sinh, cosh, tanh and their inverses."""

from __future__ import annotations

import math

from .coefficients import ATANH, SINH, TANH, TANH_TAIL
from .exponential import LOG2_E, rough_exp2, scaled_exp
from .formats import coefficients_for, in_double, odd_polynomial, polynomial, with_sign
from .logarithm import log, log1p

_TANH_LIMIT = {"f32": 9.05, "f64": 20.0}  # beyond, tanh is 1
_SINH_LIMIT = {"f32": 89.6, "f64": 710.6}  # beyond, sinh and cosh are infinite


def tanh(builder, x):
    """A polynomial where ``|x| < 0.9``; beyond, ``1 - w * p(w)`` with ``w = e**(-2 * a)`` and a polynomial p for
    ``2 / (1 + w)``: there is no division, and w need not be accurate.
    """
    a = abs(x)
    near = odd_polynomial(builder, a, coefficients_for(x, TANH))
    bounded = builder.minimum(coefficients_for(x, _TANH_LIMIT), a)
    w = rough_exp2(builder, bounded, -2.0 * LOG2_E)
    far = builder.fma(-w, polynomial(builder, w, coefficients_for(x, TANH_TAIL)), 1.0)
    return with_sign(builder, builder.select(a < 0.9, near, far), x)


def _half_exp(builder, a):
    """``e**a / 2``, which overflows only where sinh and cosh do."""
    quarter = scaled_exp(builder, builder.minimum(coefficients_for(a, _SINH_LIMIT), a), -2)
    return quarter + quarter


def cosh(builder, x):
    half = _half_exp(builder, abs(x))
    return half + 0.25 / half


def sinh(builder, x):
    a = abs(x)
    half = _half_exp(builder, a)
    small = odd_polynomial(builder, a, coefficients_for(x, SINH))
    return with_sign(builder, builder.select(a < 1.0, small, half - 0.25 / half), x)


@in_double
def asinh(builder, x):
    """``log1p(a + a**2 / (1 + sqrt(a**2 + 1)))``; where squares would overflow, ``log(2) + log1p(a)``."""
    a = abs(x)
    huge = a > 2.0**500
    z = a * a
    small = a + z / (builder.unary("sqrt", z + 1.0) + 1.0)
    found = log1p(builder, builder.select(huge, a, small))
    return with_sign(builder, builder.select(huge, found + math.log(2), found), x)


@in_double
def acosh(builder, x):
    """``log1p(t + sqrt(t * (t + 2)))`` with ``t = x - 1``; where squares would overflow, ``log(2) + log1p(x)``."""
    huge = x > 2.0**500
    t = x - 1.0
    small = t + builder.unary("sqrt", t * (t + 2.0))
    found = log1p(builder, builder.select(huge, x, small))
    return builder.select(x < 1.0, math.nan, builder.select(huge, found + math.log(2), found))


def atanh(builder, x):
    """``log1p(2 * a / (1 - a)) / 2``; in float32 a polynomial up to 1/2, and ``log((1 + a) / (1 - a)) / 2`` beyond."""
    a = abs(x)
    if x.type.scalar == "f64":
        return with_sign(builder, log1p(builder, (a + a) / (1.0 - a)) * 0.5, x)
    far = log(builder, (a + 1.0) / (1.0 - a)) * 0.5
    return with_sign(builder, builder.select(a < 0.5, odd_polynomial(builder, a, ATANH["f32"]), far), x)
