"""log, log2, log10 and log1p: ``x = (1 + f) * 2**e`` with ``1 + f`` between sqrt(1/2) and sqrt(2)."""

from __future__ import annotations

import math

from .coefficients import LN2_PARTS, LOG, LOG2, LOG2_FOR_POWER, LOG10, LOG10_2_PARTS
from .formats import bits, coefficients_for, format_of, polynomial, with_sign

_SQRT_HALF_BITS = {"f32": 0x3F3504F3, "f64": 0x3FE6A09E667F3BCD}


def exponent_of(builder, x):
    """e as an integer and ``e << mantissa`` for a positive normal number."""
    form = format_of(x)
    e = (bits(builder, x) - coefficients_for(x, _SQRT_HALF_BITS)) >> form.mantissa
    return e, e << form.mantissa


def split(builder, x):
    """f and e (a float) for a positive number, normal or not."""
    form = format_of(x)
    tiny = x < form.smallest_normal
    x = builder.select(tiny, x * 2.0**form.mantissa, x)
    e, field = exponent_of(builder, x)
    f = builder.bitcast(bits(builder, x) - field, x.type.scalar) - 1.0
    e = builder.convert(e, x.type.scalar)
    return f, builder.select(tiny, e - float(form.mantissa), e)


def natural(builder, f, e):
    """``log((1 + f) * 2**e)``. Rounded to float32, log(2) happens to be right to 28 bits, and needs no second part."""
    high, low = (math.log(2), 0.0) if f.type.scalar == "f32" else LN2_PARTS["f64"]
    start = builder.fma(e, low, f) if low else f
    found = builder.fma(f * f, polynomial(builder, f, coefficients_for(f, LOG)), start)
    return builder.fma(e, high, found)


def _with_edges(builder, found, x, zero):
    """The logarithm where its argument is not positive or infinite; ``zero`` is where it is minus infinity."""
    found = builder.select(x < math.inf, found, x)
    edge = builder.select(x.equals(zero), builder.constant(-math.inf, x.type), math.nan)
    return builder.select(x > zero, found, edge)


def log(builder, x):
    return _with_edges(builder, natural(builder, *split(builder, x)), x, 0.0)


def log_in_double(builder, x, scalar):
    """The logarithm of a float64 value, to the accuracy of a scalar type and a little more."""
    if scalar == "f64":
        return log(builder, x)
    f, e = split(builder, x)
    found = builder.fma(f, polynomial(builder, f, LOG2_FOR_POWER["f64"]), e) * math.log(2)
    return _with_edges(builder, found, x, 0.0)


def log2(builder, x):
    f, e = split(builder, x)
    found = builder.fma(f, polynomial(builder, f, coefficients_for(x, LOG2)), f)
    return _with_edges(builder, found + e, x, 0.0)


def log10(builder, x):
    f, e = split(builder, x)
    high, low = coefficients_for(x, LOG10_2_PARTS)
    found = builder.fma(f, polynomial(builder, f, coefficients_for(x, LOG10)), e * low)
    return _with_edges(builder, builder.fma(e, high, found), x, 0.0)


def finite_log1p(builder, x):
    """log1p for ``-1 < x < inf``, but for the sign of zero. f is computed from x, not from the rounded ``1 + x``."""
    form = format_of(x)
    e, field = exponent_of(builder, x + 1.0)
    scale = builder.bitcast((form.bias + 2 << form.mantissa) - field, x.type.scalar)  # 2**(2 - e), never denormal
    f = builder.fma(x * scale, 0.25, builder.fma(scale, 0.25, -1.0))
    return natural(builder, f, builder.convert(e, x.type.scalar))


def log1p(builder, x):
    return with_sign(builder, _with_edges(builder, finite_log1p(builder, x), x, -1.0), x)
