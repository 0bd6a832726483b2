"""pow and rsqrt.

``|x|**y = 2**(y * log2|x|)``. The product's error is multiplied by as much as 1000, so the logarithm needs more digits
than the result: float32 computes it in float64, and float64 in sums of two numbers.
"""

from __future__ import annotations

import math

from .coefficients import ATANH_TAIL, LOG2_FOR_POWER, THIRD, TWICE_LOG2_E
from .exponential import exp2
from .formats import clamp, polynomial
from .logarithm import split

_Y_LIMIT = 2.0**65  # of such powers only 1 is neither 0 nor infinite


def rsqrt(builder, x):
    return 1.0 / builder.unary("sqrt", x)


def power(builder, x, y):
    """C's pow, with its edge cases."""
    a = abs(x)
    magnitude = _single(builder, a, y) if x.type.scalar == "f32" else _double(builder, a, _bounded(builder, y))
    return _with_edges(builder, magnitude, a, x, y)


def _bounded(builder, y):
    return clamp(builder, y, -_Y_LIMIT, _Y_LIMIT)


def _single(builder, a, y):
    """float32 powers of positive finite numbers, by way of float64."""
    f, e = split(builder, builder.convert(a, "f64"))
    logarithm = builder.fma(f, polynomial(builder, f, LOG2_FOR_POWER["f64"]), e)
    found = exp2(builder, _bounded(builder, builder.convert(y, "f64")) * logarithm)
    return builder.convert(found, "f32")


def _product(builder, a, b):
    """``a * b`` of two sums of two numbers, as such a sum."""
    high = a[0] * b[0]
    return high, builder.fma(a[0], b[0], -high) + builder.fma(a[0], b[1], a[1] * b[0])


def _sum(a, b):
    """``a + b`` as a sum of two numbers, where ``|a| >= |b|`` or a is 0; b is one number, or a sum of two."""
    high = a[0] + b[0]
    return high, (a[0] - high + b[0]) + (a[1] + b[1])


def _double(builder, a, y):
    """float64 powers of positive finite numbers: the logarithm is ``2 * atanh(s)`` with ``s = f / (2 + f)``."""
    f, e = split(builder, a)
    zero = builder.constant(0.0, a.type)
    below_sum = f + 2.0
    rest = f - (below_sum - 2.0)
    inverse = 1.0 / below_sum
    quotient = f * inverse
    s = quotient, builder.fma(-quotient, rest, builder.fma(-quotient, below_sum, f)) * inverse
    z = _product(builder, s, s)
    tail = z[0] * polynomial(builder, z[0], ATANH_TAIL["f64"])
    third = tuple(builder.constant(part, a.type) for part in THIRD["f64"])
    found = _sum(s, _product(builder, s, _product(builder, z, _sum(third, (tail, zero)))))
    twice = tuple(builder.constant(part, a.type) for part in TWICE_LOG2_E["f64"])
    logarithm = _sum((e, zero), _product(builder, found, twice))
    exponent, below = _product(builder, (y, zero), logarithm)
    return exp2(builder, exponent, clamp(builder, below, -1.0, 1.0))


def _with_edges(builder, magnitude, a, x, y):
    """The power from its magnitude, which holds for positive finite x: zeros, infinities, NaN, signs, ones."""
    inverted = (a > 1.0) ^ (y < 0.0)
    extreme = builder.select(inverted, builder.constant(math.inf, x.type), 0.0)
    found = builder.select(a.equals(0.0) | a.equals(math.inf), extreme, magnitude)
    found = builder.select(x.differs(x), x, builder.select(y.differs(y), y, found))
    half = y * 0.5
    whole = builder.unary("trunc", y).equals(y)
    odd = whole & builder.unary("trunc", half).differs(half)
    found = builder.select(odd, builder.binary("copysign", found, x), found)
    found = builder.select((x < 0.0) & (x > -math.inf) & ~(whole | y.differs(y)), math.nan, found)
    return builder.select(y.equals(0.0) | x.equals(1.0), 1.0, found)
