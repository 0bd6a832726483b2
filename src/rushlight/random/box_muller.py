"""The float32 Box-Muller transform of PyTorch's vector path, reproduced bit for bit with NumPy.

PyTorch turns sixteen words at a time into sixteen normal numbers: the first eight give radii, the other eight angles.
Its log, sine and cosine are the Cephes single-precision polynomials, evaluated with fused multiply-adds. Here a fused
multiply-add is a float64 multiply and add rounded to float32 at once: a product of two float32 numbers is exact in
float64. All 2**24 possible radii and angles were compared with that definition in extended precision; where a step
below leaves out a rounding or joins constants, it does so because none of the 2**24 results changes.
"""

from __future__ import annotations

import numpy as np

from . import bulk
from .mersenne import MersenneTwister
from .words import CHUNK, LOW_24_BITS


def _single(*constants):
    return tuple(float(np.float32(constant)) for constant in constants)


_LOG = _single(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
               2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)  # fmt: skip
_SINE = _single(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COSINE = _single(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_LN2_LOW, _LN2_HIGH = np.float32(-2.12194440e-4), np.float32(0.693359375)  # ln 2 = high + low
# Minus a quarter turn, as the sum of the three parts that the argument reduction subtracts.
_QUARTER_TURN = 2.0 * sum(_single(-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8))
_STEP = np.float32(2.0**-24)
_TURN_STEP = np.float32(2.0 * np.pi) * _STEP
_ONE, _HALF, _MINUS_TWO = np.float32(1.0), np.float32(0.5), np.float32(-2.0)
_SQRT_HALF_BITS = np.int32(0x3F3504F3)
_MANTISSA = np.int32(0x7FFFFF)
_SIGN = np.int32(-(2**31))
_EIGHTH, _QUARTER = np.int32(1 << 21), np.int32(1 << 22)  # of a turn, as a 24-bit fraction


def _narrow(destination, source):
    np.copyto(destination, source, casting="same_kind")


def _radii(fraction, x, y, z, exponent, wide_x, wide_y):
    """sqrt(-2 log(1 - fraction / 2**24)) into ``x``; ``fraction`` (int32) and the other arrays are overwritten."""
    np.copyto(x, fraction, casting="unsafe")
    x *= -_STEP
    x += _ONE
    bits = x.view(np.int32)
    bits -= _SQRT_HALF_BITS
    np.right_shift(bits, np.int32(23), fraction)
    np.copyto(exponent, fraction, casting="unsafe")
    bits &= _MANTISSA
    bits += _SQRT_HALF_BITS
    x -= _ONE  # now 1 - fraction / 2**24 = 2**exponent * (1 + x), 1 + x in [sqrt(1/2), sqrt(2))
    np.copyto(wide_x, x)
    np.multiply(wide_x, _LOG[0], wide_y)
    wide_y += _LOG[1]
    for coefficient in _LOG[2:]:
        _narrow(y, wide_y)
        np.copyto(wide_y, y)
        wide_y *= wide_x
        wide_y += coefficient
    _narrow(y, wide_y)
    y *= x
    np.multiply(x, x, z)
    np.copyto(wide_y, y)
    np.copyto(wide_x, z)
    wide_y *= wide_x
    np.multiply(exponent, _LN2_LOW, y)
    np.copyto(wide_x, y)
    wide_y += wide_x
    _narrow(y, wide_y)
    z *= _HALF
    y -= z
    x += y
    exponent *= _LN2_HIGH
    x += exponent
    x *= _MINUS_TWO
    np.sqrt(x, x)


def _cosines_and_sines(fraction, x, z, cosine, sine, mask, wide_z, wide_y):
    """Both of 2 pi fraction / 2**24 into ``cosine`` and ``sine``; ``fraction`` (int32) is overwritten too."""
    np.copyto(x, fraction, casting="unsafe")
    x *= _TURN_STEP
    fraction += _EIGHTH  # bits 22 and 23 now number the nearest quarter turn
    np.right_shift(fraction, np.int32(22), mask)
    np.copyto(wide_z, mask)
    wide_z *= _QUARTER_TURN
    np.copyto(wide_y, x)
    wide_z += wide_y
    _narrow(x, wide_z)  # the angle's distance from that quarter turn
    np.multiply(x, x, z)
    np.copyto(wide_z, z)
    _two_steps(_COSINE, wide_z, wide_y, cosine)
    cosine *= z
    np.copyto(wide_y, cosine)
    wide_y -= 0.5
    wide_y *= wide_z
    _narrow(cosine, wide_y)
    cosine += _ONE
    _two_steps(_SINE, wide_z, wide_y, sine)
    sine *= z
    np.copyto(wide_y, sine)
    np.copyto(wide_z, x)
    wide_y *= wide_z
    wide_y += wide_z
    _narrow(sine, wide_y)
    _turn(fraction, cosine.view(np.int32), sine.view(np.int32), mask, z.view(np.int32))


def _two_steps(coefficients, wide_z, wide_y, result):
    first, second, third = coefficients
    np.multiply(wide_z, first, wide_y)
    wide_y += second
    _narrow(result, wide_y)
    np.copyto(wide_y, result)
    wide_y *= wide_z
    wide_y += third
    _narrow(result, wide_y)


def _turn(quarters, cosine, sine, mask, swap):
    """Rotate by the quarter turns in bits 22 and 23: exchange the two in odd quarters, then set the signs."""
    np.left_shift(quarters, np.int32(9), mask)
    mask >>= np.int32(31)
    np.bitwise_xor(cosine, sine, swap)
    swap &= mask
    np.left_shift(quarters, np.int32(8), mask)
    mask &= _SIGN
    sine ^= swap
    sine ^= mask
    quarters += _QUARTER
    quarters <<= np.int32(8)
    quarters &= _SIGN
    cosine ^= swap
    cosine ^= quarters


class _Workspace:
    """The arrays that one pass over up to ``CHUNK`` words needs, made once for all passes of a call."""

    def __init__(self, words):
        self.single = np.empty((7, words // 2), np.float32)
        self.wide = np.empty((2, words // 2))


def _transform(words, result, mean, std, workspace):
    """Normal numbers from ``words`` (uint32, a multiple of 16) into the flat float32 array ``result``."""
    half = words.size // 2
    first, second, x, y, z, exponent, radius = workspace.single[:, :half]
    wide_x, wide_y = workspace.wide[:, :half]
    first, second = first.view(np.int32), second.view(np.int32)
    rows = words.reshape(-1, 16)
    np.bitwise_and(rows[:, :8], LOW_24_BITS, first.view(np.uint32).reshape(-1, 8))
    np.bitwise_and(rows[:, 8:], LOW_24_BITS, second.view(np.uint32).reshape(-1, 8))
    _radii(first, radius, y, z, exponent, wide_x, wide_y)
    cosine, sine = y, exponent
    _cosines_and_sines(second, x, z, cosine, sine, first, wide_x, wide_y)
    rows = result.reshape(-1, 16)
    for part, columns in ((cosine, rows[:, :8]), (sine, rows[:, 8:])):
        part *= radius
        _scale(part, mean, std, wide_x)
        np.copyto(columns, part.reshape(-1, 8))


def _scale(numbers, mean, std, wide):
    """``numbers * std + mean`` in place with one rounding; ``wide`` is a float64 array to compute in, or None."""
    if mean == 0.0:
        numbers *= np.float32(std)
        numbers += np.float32(0.0)  # a fused multiply-add leaves no -0.0 here
        return
    wide = np.multiply(numbers, std, out=wide, dtype=np.float64)
    wide += mean
    _narrow(numbers, wide)


def transform(words, result, mean, std):
    """Normal numbers from ``words`` (uint32, a multiple of 16) into the flat float32 array ``result``; ``mean`` and
    ``std`` come rounded to float32."""
    workspace = _Workspace(min(words.size, CHUNK))
    for start in range(0, words.size, CHUNK):
        _transform(words[start : start + CHUNK], result[start : start + CHUNK], mean, std, workspace)


def _polar(block):
    """Radius, cosine and sine of every word of a block, three rows: which of them a word gives depends on its place."""
    workspace = _Workspace(2 * block.size)
    fraction, x, y, z, exponent, mask, _ = workspace.single
    wide = workspace.wide
    rows = np.empty((3, block.size), np.float32)
    fraction = fraction.view(np.int32)
    np.bitwise_and(block, LOW_24_BITS, fraction.view(np.uint32))
    _radii(fraction, rows[0], y, z, exponent, *wide)
    np.bitwise_and(block, LOW_24_BITS, fraction.view(np.uint32))
    _cosines_and_sines(fraction, x, z, rows[1], rows[2], mask.view(np.int32), *wide)
    return rows


def _few(engine, count, mean, std):
    """``count`` numbers (a multiple of 16, all words in the engine's block) as a new float32 array."""
    polar = engine.take_derived(count, _polar).reshape(3, -1, 2, 8)
    result = polar[1:, :, 1].transpose(1, 0, 2) * polar[0, :, :1]
    _scale(result, mean, std, None)
    return result.reshape(-1)


def fill_normal(engine: MersenneTwister, flat: np.ndarray, mean: float, std: float, tail_first: bool = True) -> None:
    """Fill a flat float32 array of at least 16 elements with normal numbers, as PyTorch's vector path.

    Where the size is no multiple of 16, the last 16 elements are drawn again at the end. PyTorch draws (and drops) a
    word for each element of the incomplete group before that, except for float16 and bfloat16: ``tail_first=False``.
    """
    with np.errstate(all="ignore"):
        mean, std = float(np.float32(mean)), float(np.float32(std))
        _fill(engine, flat, mean, std, tail_first)


def _fill(engine, flat, mean, std, tail_first):
    whole = flat.size // 16 * 16
    rest = flat.size - whole
    kernels = bulk.kernels(flat.size)
    if kernels is None and flat.size + 16 <= engine.available:
        flat[:whole] = _few(engine, whole, mean, std)
        if rest:
            engine.take(rest if tail_first else 0)
            flat[-16:] = _few(engine, 16, mean, std)
        return
    transform_words = transform if kernels is None else kernels.normals
    if rest and flat.size < CHUNK - 16 and kernels is None:  # one pass over the words of both parts
        drawn = engine.take(whole + 16 + (rest if tail_first else 0))
        numbers = np.empty(whole + 16, np.float32)
        transform_words(np.concatenate((drawn[:whole], drawn[-16:])), numbers, mean, std)
        flat[:whole] = numbers[:whole]
        flat[-16:] = numbers[whole:]
        return
    for start in range(0, whole, CHUNK):
        part = flat[start : min(start + CHUNK, whole)]
        transform_words(engine.take(part.size), part, mean, std)
    if rest:
        engine.take(rest if tail_first else 0)
        transform_words(engine.take(16), flat[-16:], mean, std)
