"""exp, exp2, expm1 and sigmoid.

Most write ``e**x = e**r * s * s``, where s is a power of two and ``|r| <= ln 2``. Since s is applied twice, it stays
within the normal numbers where the result overflows or is denormal, and is made with one shift.
"""

from __future__ import annotations

import math

from .coefficients import EXP2, EXP2_NARROW, EXPM1, EXPM1_NARROW, TWICE_LN2
from .formats import bits, clamp, coefficients_for, format_of, polynomial, with_sign

LOG2_E = 1.4426950408889634

# Beyond these, exp is 0 or infinite in the type.
_EXP_RANGE = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}
_EXP2_RANGE = {"f32": (-153.0, 131.0), "f64": (-1078.0, 1027.0)}  # and 1 beyond, for ``below``
_EXPM1_RANGE = {"f32": (-20.0, 89.0), "f64": (-40.0, 710.0)}  # below, expm1 is -1
_SIGMOID_RANGE = {"f32": (-104.0, 20.0), "f64": (-746.0, 40.0)}  # beyond, sigmoid is 0 or 1
_SIGMOID_SCALE = {"f32": 64, "f64": 512}


def _reduced(builder, x):
    """r and s with ``e**x = e**r * s * s``."""
    form = format_of(x)
    high, low = coefficients_for(x, TWICE_LN2)
    shifter = form.magic + form.bias  # the low bits of the sum are the exponent field of s
    shifted = builder.fma(x, 0.5 * LOG2_E, shifter)
    n = shifted - shifter
    r = builder.fma(n, -low, builder.fma(n, -high, x))
    return r, _scale(builder, shifted)


def _scale(builder, shifted):
    form = format_of(shifted)
    return builder.bitcast(bits(builder, shifted) << form.mantissa, shifted.type.scalar)


def scaled_exp(builder, x, scale=0):
    """``e**x * 2**scale``, exact to 1 ulp, where that is a normal number."""
    form = format_of(x)
    high, low = coefficients_for(x, TWICE_LN2)
    shifter = form.magic + form.bias + scale
    shifted = builder.fma(x, LOG2_E, shifter)
    n = shifted - shifter
    r = builder.fma(n, -0.5 * low, builder.fma(n, -0.5 * high, x))
    p = builder.fma(r * r, polynomial(builder, r, coefficients_for(r, EXPM1_NARROW)), r)
    s = _scale(builder, shifted)
    return builder.fma(s, p, s)


def short_exp(builder, x):
    """``e**x`` of float64 values, to the accuracy of float32 and a little more, where it is no denormal float64."""
    form = format_of(x)
    shifter = form.magic + form.bias
    shifted = builder.fma(x, LOG2_E, shifter)
    r = builder.fma(shifted - shifter, -math.log(2), x)
    p = builder.fma(r * r, polynomial(builder, r, EXPM1_NARROW["f32"]), r)
    s = _scale(builder, shifted)
    return builder.fma(s, p, s)


def rough_exp2(builder, x, factor):
    """``2**(x * factor)`` where that is a normal number, with an error that grows with x to many ulp."""
    form = format_of(x)
    shifter = form.magic + form.bias
    shifted = builder.fma(x, factor, shifter)
    f = builder.fma(x, factor, shifter - shifted)
    return polynomial(builder, f, (1.0, *coefficients_for(x, EXP2_NARROW))) * _scale(builder, shifted)


def _reciprocal_scale(builder, s):
    """1 / s for a power of two, by its exponent."""
    form = format_of(s)
    return builder.bitcast((2 * form.bias << form.mantissa) - bits(builder, s), s.type.scalar)


def _small_expm1(builder, r):
    """``e**r - 1`` for ``|r| <= ln 2``."""
    return builder.fma(r * r, polynomial(builder, r, coefficients_for(r, EXPM1)), r)


def exp(builder, x):
    r, s = _reduced(builder, clamp(builder, x, *coefficients_for(x, _EXP_RANGE)))
    return builder.fma(s, _small_expm1(builder, r), s) * s


def exp2(builder, x, below=None):
    """``2**x``, or ``2**(x + below)`` with ``|below| <= 1``, where the sum would be rounded."""
    form = format_of(x)
    x = clamp(builder, x, *coefficients_for(x, _EXP2_RANGE))
    shifter = form.magic + form.bias
    shifted = builder.fma(x, 0.5, shifter)
    n = shifted - shifter
    f = builder.fma(n, -2.0, x)
    if below is not None:
        f = f + below
    s = _scale(builder, shifted)
    return polynomial(builder, f, (1.0, *coefficients_for(x, EXP2))) * s * s


def expm1(builder, x):
    """``s * (s * p + s - 1 / s)`` with ``p = e**r - 1``: nothing cancels where x is small, since s is 1 then."""
    r, s = _reduced(builder, clamp(builder, x, *coefficients_for(x, _EXPM1_RANGE)))
    difference = s - _reciprocal_scale(builder, s)
    return with_sign(builder, builder.fma(s, _small_expm1(builder, r), difference) * s, x)


def sigmoid(builder, x):
    """``e**x / (1 + e**x)``, both times a power of two that keeps the quotient's parts normal where it is denormal."""
    scale = coefficients_for(x, _SIGMOID_SCALE)
    scaled = scaled_exp(builder, clamp(builder, x, *coefficients_for(x, _SIGMOID_RANGE)), scale)
    return scaled / (scaled + 2.0**scale)
