"""fmod: what division rounded towards zero leaves, exactly; and quotients of integers by way of floats."""

from __future__ import annotations

from .formats import bits, format_of, with_sign

# From the greatest ratio of finite numbers to one of fewer bits than the mantissa has, by so many steps of two bits less.
_STEPS = {"f32": 14, "f64": 42}


def fmod(builder, a, b):
    """The quotient of fewer bits than the mantissa is one too large at most; larger ones go the long way, bits by bits."""
    x, y = abs(a), abs(b)
    is_large = x / y >= 2.0 ** format_of(a).mantissa
    (x,) = builder.choose(builder.reduce(is_large, "or"), lambda: [_divided_down(builder, x, y)], lambda: [x])
    return with_sign(builder, _step(builder, x, y), a)


def floored_quotient(builder, a, b):
    """The quotient of integers rounded down, anything for a divisor of zero.

    Processors divide no vectors of integers. Where a float holds them exactly, its rounded quotient is no integer that the
    true one is below; float64 leaves a rest of 64 bits that a second quotient makes as small as the divisor.
    """
    scalar, wide = a.type.scalar, "f32" if a.type.size <= 2 else "f64"
    divisor = builder.convert(b, wide)

    def quotient(x):
        return builder.convert(builder.unary("floor", builder.convert(x, wide) / divisor), scalar)

    found = quotient(a)
    if a.type.size < 8:
        return found
    found = found + quotient(a - found * b)
    rest = a - found * b  # beyond the divisor or on the other side of zero where the second quotient was rounded, too
    below = rest.differs(0) & ((rest ^ b) < 0)
    beyond = builder.select(b < 0, rest <= b, rest >= b)
    return builder.select(below, found - 1, builder.select(beyond, found + 1, found))


def _step(builder, x, y):
    """``x`` modulo ``y``: the products are fused, so that nothing of the rest is lost."""
    rest = builder.fma(-builder.unary("trunc", x / y), y, x)
    return builder.select(x < y, x, builder.select(rest < 0.0, rest + y, rest))


def _divided_down(builder, x, y):
    """``x`` modulo a multiple of ``y`` by a power of two, small enough for one more step."""
    form = format_of(x)
    normal = builder.select(y < form.smallest_normal, y * 2.0 ** (form.mantissa + 1), y)
    digits = bits(builder, normal) & ((1 << form.mantissa) - 1)
    with builder.loop(0, _STEPS[x.type.scalar], 1, [x]) as loop:
        exponent = (bits(builder, loop.carry[0]) >> form.mantissa) - (form.mantissa - 2)
        multiple = digits | (builder.maximum(exponent, 1) << form.mantissa)
        divisor = builder.maximum(builder.bitcast(multiple, x.type.scalar), y)
        loop.carry = [_step(builder, loop.carry[0], divisor)]
    return loop.results[0]
