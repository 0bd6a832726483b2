"""fmod: what division rounded towards zero leaves, exactly; quotients and divisors of integers by way of floats; shifts."""

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


def shifted(builder, opcode, a, b):
    """Integers moved by ``b`` bits (``shl``, ``shr``), which machines do for fewer bits than there are: all go otherwise."""
    width = 8 * a.type.size
    inside = (b & -width).equals(0)
    found = builder.binary(opcode, a, b & (width - 1))
    gone = a >> (width - 1) if opcode == "shr" and a.type.is_signed else builder.constant(0, a.type)
    return builder.select(inside, found, gone)


_EXACT_BITS = 22  # of integers whose quotients in float32, rounded down, are right


def greatest_divisor(builder, a, b):
    """Of integers; negative where C's remainders make it so, beside the lowest number, which has no positive counterpart."""
    found, is_odd = _divisor(builder, a, b)
    if not a.type.is_signed:
        return found
    lowest = -1 << 8 * a.type.size - 1
    # Remainders have the sign of what is divided: of the lowest number every second one is negative.
    is_negative = (a.equals(lowest) | b.equals(lowest)) & is_odd.equals(0)
    return builder.select(is_negative, -found, found)


def _divisor(builder, a, b):
    """The divisor's absolute value, and 1 where it was found in an odd number of steps, else 0.

    By Euclid's algorithm: float32's division for lanes of small ones, that of integers for others.
    """
    scalar = a.type.scalar
    unsigned = a.type.with_scalar("u" + scalar[1:]).scalar
    if a.type.is_signed:
        a, b = (builder.convert(abs(x), unsigned) for x in (a, b))
    x, y = builder.maximum(a, b), builder.minimum(a, b)

    def by_floats():
        found = _divided(builder, *(builder.convert(v, "f32") for v in (x, y)), _float_rest)
        return [builder.convert(v, unsigned) for v in found]

    def by_integers():
        return _divided(builder, x, y, _integer_rest)

    if a.type.size < 4:
        found = by_floats()
    else:
        is_large = (x >> _EXACT_BITS).differs(0)
        found = builder.choose(builder.reduce(is_large, "or"), by_integers, by_floats)
    return [builder.convert(v, scalar) for v in found]


def _divided(builder, x, y, rest_of):
    """What is left of ``x >= y`` when one has divided the other, in turn, until nothing is left of any lane; and whether that
    took an odd number of steps.

    Numbers of n bits take fewer steps than the Fibonacci numbers up to them are.
    """
    most = builder.convert(builder.reduce(y, "max"), "f32")
    form = format_of(most)
    steps = builder.convert(bits(builder, most) >> form.mantissa, "i64") - (form.bias - 1)
    with builder.loop(0, ((steps * 93) >> 6) + 2, 1, [x, y, builder.constant(0, x.type)]) as loop:
        x, y, is_odd = loop.carry
        done = y.equals(0)
        rest = rest_of(builder, x, y, done)
        changed = (x, y, is_odd), (y, rest, 1 - is_odd)
        loop.carry = [builder.select(done, old, new) for old, new in zip(*changed)]
    found, _, is_odd = loop.results
    return [found, is_odd]


def _float_rest(builder, x, y, done):
    return builder.fma(-builder.unary("trunc", x / y), y, x)


def _integer_rest(builder, x, y, done):
    return builder.binary("rem", x, builder.select(done, builder.constant(1, y.type), y))


def least_multiple(builder, a, b):
    """Of integers; 0 where one is. Products too large wrap around: narrow ones without, wide ones with their sign."""
    divisor, _ = _divisor(builder, a, b)
    narrow = a.type.is_signed and a.type.size < 4
    first, second = (abs(a), abs(b)) if narrow else (a, b)
    quotient = floored_quotient(builder, first, builder.select(divisor.equals(0), builder.constant(1, a.type), divisor))
    product = quotient * second
    return abs(product) if a.type.is_signed and not narrow else product


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
