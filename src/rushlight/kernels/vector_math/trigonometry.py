"""sin, cos and tan.

The argument is reduced to ``|r| <= pi / 2`` by multiples of pi (sin and cos, one polynomial) or to ``|r| <= pi / 4`` by
multiples of pi / 2 (tan), pi being split in three parts of which fused multiply-adds lose nothing. Arguments so large
that this fails take a slow path, which is left out of the way by a branch.
"""

from __future__ import annotations

from .coefficients import PI_PARTS, SIN, TAN
from .formats import bits, coefficients_for, format_of, in_double, odd_polynomial, with_sign
from .large_arguments import reduced_large

_INVERSE_PI = 0.3183098861837907

# Up to here n * pi is right to the last bit: n must be known to a small fraction, and be an integer of few bits.
_LIMIT = {"f32": 2.0**17, "f64": 2.0**40}


def _reduced(builder, x, per_pi, half):
    """r and n (integers) with ``x = (n - half) * pi / per_pi + r``; half is 0 or 1/2.

    The parts of pi are all positive: so a negative zero stays one.
    """
    form = format_of(x)
    high, middle, low = (part / per_pi for part in coefficients_for(x, PI_PARTS))
    if half:
        shifted = builder.fma(x, per_pi * _INVERSE_PI, half) + form.magic
        count = shifted - form.magic - half
    else:
        shifted = builder.fma(x, per_pi * _INVERSE_PI, form.magic)
        count = shifted - form.magic
    r = builder.fma(count, -high, x)
    r = builder.fma(count, -low, builder.fma(count, -middle, r))
    n = bits(builder, shifted)
    is_large = abs(x) > coefficients_for(x, _LIMIT)
    return builder.choose(
        builder.reduce(is_large, "or"),
        lambda: _replaced(builder, is_large, x, per_pi, half, r, n),
        lambda: [r, n],
    )


def _replaced(builder, is_large, x, per_pi, half, r, n):
    large_r, large_n = reduced_large(builder, x, per_pi, half)
    return [builder.select(is_large, large_r, r), builder.select(is_large, large_n, n)]


def _sin_of(builder, r, n):
    """``(-1)**n * sin(r)``."""
    found = odd_polynomial(builder, r, coefficients_for(r, SIN))
    sign = bits(builder, r) ^ (n << format_of(r).sign_bit)
    return with_sign(builder, found, builder.bitcast(sign, r.type.scalar))


def sin(builder, x):
    return _sin_of(builder, *_reduced(builder, x, 1, 0))


def cos(builder, x):
    """``sin(x + pi / 2)``."""
    return _sin_of(builder, *_reduced(builder, x, 1, 0.5))


@in_double
def tan(builder, x):
    """``tan(r)``, or ``-1 / tan(r)`` for odd n."""
    r, n = _reduced(builder, x, 2, 0)
    found = odd_polynomial(builder, r, coefficients_for(x, TAN))
    odd = (n & 1).differs(0)
    one = builder.constant(1.0, x.type)
    return builder.select(odd, -one, found) / builder.select(odd, found, one)
