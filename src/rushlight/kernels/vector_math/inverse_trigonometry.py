"""asin, acos, atan and atan2."""

from __future__ import annotations

from .coefficients import ASIN, ATAN, PI_PARTS
from .formats import bits, coefficients_for, odd_polynomial, with_sign


def _pi(x, factor=1.0):
    """pi times a power of two, in two parts."""
    high, low, _ = coefficients_for(x, PI_PARTS)
    return high * factor, low * factor


def _arc(builder, a):
    """``a > 0.6`` and asin(a) up to there, asin(sqrt((1 - a) / 2)) above: ``asin(a) = pi / 2 - 2 * asin(...)``."""
    is_steep = a > 0.6
    root = builder.unary("sqrt", builder.fma(a, -0.5, 0.5))
    return is_steep, odd_polynomial(builder, builder.select(is_steep, root, a), coefficients_for(a, ASIN))


def asin(builder, x):
    is_steep, arc = _arc(builder, abs(x))
    high, low = _pi(x, 0.5)
    return with_sign(builder, builder.select(is_steep, high - (arc + arc - low), arc), x)


def acos(builder, x):
    is_steep, arc = _arc(builder, abs(x))
    half, half_low = _pi(x, 0.5)
    whole, whole_low = _pi(x)
    twice = arc + arc
    steep = builder.select(x < 0.0, whole - (twice - whole_low), twice)
    return builder.select(is_steep, steep, half - (with_sign(builder, arc, x) - half_low))


def atan(builder, x):
    """Of ``1 / x`` and from pi / 2 back where ``|x| > 1``."""
    a = abs(x)
    is_steep = a > 1.0
    arc = odd_polynomial(builder, builder.select(is_steep, 1.0 / a, a), coefficients_for(x, ATAN))
    high, low = _pi(x, 0.5)
    return with_sign(builder, builder.select(is_steep, high - (arc - low), arc), x)


def atan2(builder, y, x):
    """Of the smaller over the greater side, then mirrored into the octant."""
    a, b = abs(y), abs(x)
    is_steep = a > b
    small, great = builder.select(is_steep, b, a), builder.select(is_steep, a, b)
    quotient = builder.select(small.equals(great), 1.0, small / great)  # of infinities
    quotient = builder.select(great.equals(0.0), small, quotient)  # 0 / 0, unless one of them is NaN
    arc = odd_polynomial(builder, quotient, coefficients_for(x, ATAN))
    high, low = _pi(x, 0.5)
    arc = builder.select(is_steep, high - (arc - low), arc)
    high, low = _pi(x)
    arc = builder.select(bits(builder, x) < 0, high - (arc - low), arc)
    return with_sign(builder, arc, y)
