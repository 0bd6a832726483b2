"""Reduction of huge angles modulo pi: Payne and Hanek's method, with the bits of 2 / pi in integers.

``x = m * 2**k`` with an integer m. Of ``m * 2**k * 2 / pi`` modulo 4, the leading bits of 2 / pi that give multiples of
4 do not matter, nor do those far behind; the words between are picked by the exponent, with selects instead of a table.
"""

from __future__ import annotations

import math

from .coefficients import PI_PARTS, TWO_OVER_PI
from .formats import bits, format_of

LEADING_ZEROS = 14  # of TWO_OVER_PI: the window of the smallest argument, 2**40 in float64, begins with its first bit


def reduced_large(builder, x, per_pi, half):
    """r and n (0 or 1, an integer of x's size) with ``|x| = (n - half) * pi / per_pi + r`` modulo ``2 * pi / per_pi``.

    For finite ``|x| >= 2**17`` (float32) or ``2**40`` (float64); infinities give NaN. Where half is 0, r is for x, not
    ``|x|``.
    """
    form = format_of(x)
    field = bits(builder, abs(x))
    start = builder.convert(field >> form.mantissa, "u64") - (form.bias + form.mantissa + LEADING_ZEROS - 26)
    m = builder.convert((field & ((1 << form.mantissa) - 1)) | (1 << form.mantissa), "u64")
    turns, below = _product(builder, m, start, 2 if form.integer == "i32" else 3)
    if per_pi == 2:
        turns, below = (turns << 1) | (below >> 63), below << 1
    turns = turns + (int(2 * half) << 62)
    n = (turns + (1 << 62)) >> 63
    rest = builder.bitcast(turns - (n << 63), "i64")
    r = builder.convert(_in_radians(builder, rest, below, 2.0**-63 / per_pi), x.type.scalar)
    if not half:
        r = builder.select(x < 0.0, -r, r)
    return builder.select(abs(x) < math.inf, r, math.nan), builder.convert(n, form.integer)


def _in_radians(builder, rest, below, unit):
    """``(rest + below * 2**-64) * unit * pi``, where rest is split so that nothing of it is rounded off."""
    high, middle, _ = (part * unit for part in PI_PARTS["f64"])
    leading = builder.convert(rest & -2048, "f64")
    trailing = builder.fma(builder.convert(below, "f64"), 2.0**-64, builder.convert(rest & 2047, "f64"))
    return builder.fma(leading, high, builder.fma(leading, middle, trailing * high))


def _product(builder, m, start, count):
    """``m * 2**k * 2 / pi`` modulo 4 in units of 2**-62, and what is below, in units of 2**-126; by ``count`` words."""
    first, second, *third = _window(builder, start, count)
    turns, below = m * first + _high_product(m, second), m * second
    if third:
        carried = _high_product(m, third[0])
        below = below + carried
        turns = turns + builder.convert(below < carried, "u64")
    return turns, below


def _window(builder, start, count):
    """``count`` words of 2 / pi from the bit numbered ``start`` on."""
    step = 1 if count == 2 else 8  # the greatest power of two in the number of the first word
    words = [builder.constant(word, start.type) for word in TWO_OVER_PI[: count + 2 * step]]
    number, shift = start >> 6, start & 63
    while step:
        chosen = (number & step).differs(0)
        words = [builder.select(chosen, words[k + step], words[k]) for k in range(len(words) - step)]
        step //= 2
    return [(high << shift) | ((low >> 1) >> (63 - shift)) for high, low in zip(words, words[1:])]


def _high_product(m, word):
    """The upper 64 bits of the product of ``m < 2**53`` and a word."""
    mask = (1 << 32) - 1
    m_low, m_high, low, high = m & mask, m >> 32, word & mask, word >> 32
    middle = m_high * low + ((m_low * low) >> 32)
    return m_high * high + (middle >> 32) + ((m_low * high + (middle & mask)) >> 32)
