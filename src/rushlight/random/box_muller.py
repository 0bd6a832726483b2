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
from .mersenne import BLOCK, MersenneTwister
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
_ONE_PASS = 4096  # numbers up to which words are brought together, rather than transformed in two passes
_ZERO = np.array(0.0, np.float32)
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
        part += _ZERO  # zero has no sign, as the sum of a fused multiply-add
        _scale(part, mean, std, wide_x)
        np.copyto(columns, part.reshape(-1, 8))


def _scale(numbers, mean, std, wide):
    """``numbers * std + mean`` in place with one rounding; ``wide`` is a float64 array to compute in, or None."""
    if mean == 0.0:
        np.multiply(numbers, np.array(std, np.float32), numbers)
        if std == 0.0:  # a fused multiply-add leaves no -0.0 here
            np.add(numbers, _ZERO, numbers)
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


def _polar(engine, phase):
    """Radius, cosine and sine of every word of a block, three rows: which of them a word gives depends on its place."""
    block = engine.block
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


def _standard(engine, phase):
    """The normal numbers of a block's groups of sixteen words, the first of which begins at word ``phase``."""
    count = (BLOCK - phase) // 16 * 16
    found = np.empty(count, np.float32)
    kernels = bulk.kernels(count, 150)
    if kernels is not None:
        kernels.normals(engine.block[phase : phase + count], found, 0.0, 1.0)
        return found
    with np.errstate(all="ignore"):
        polar = engine.of_block(_polar)[:, phase : phase + count].reshape(3, -1, 2, 8)
        np.multiply(polar[1:, :, 1].transpose(1, 0, 2), polar[0, :, :1], found.reshape(-1, 2, 8))
        found += _ZERO
    return found


def few_standard(engine, shape, size):
    """``size`` numbers as `_fill_standard` gives, not to be written to; None where their words are not all of one block."""
    return engine.few(_standard, shape, size, 1, 16)


def _fill_standard(engine, flat):
    """Fill a flat float32 array, a multiple of 16, with normal numbers of mean 0 and deviation 1."""
    start, count = 0, flat.size
    while start < count:
        size = min(count - start, engine.ready() // 16 * 16)
        if size == 0:  # sixteen words across two blocks
            size = 16
            _transform_words(engine.take(16), flat[start : start + 16], 0.0, 1.0)
        else:
            phase = engine.position & 15
            numbers = engine.of_block(_standard, phase)
            place = engine.skip(size) - phase
            flat[start : start + size] = numbers[place : place + size]
        start += size


def _transform_words(words, result, mean, std):
    kernels = bulk.kernels(words.size, 60)
    if kernels is not None:
        kernels.normals(words, result, mean, std)
        return
    with np.errstate(all="ignore"):
        transform(words, result, mean, std)


def fill_normal(engine: MersenneTwister, flat: np.ndarray, mean: float, std: float, tail_first: bool = True) -> None:
    """Fill a flat float32 array of at least 16 elements with normal numbers, as PyTorch's vector path.

    Where the size is no multiple of 16, the last 16 elements are drawn again at the end. PyTorch draws (and drops) a
    word for each element of the incomplete group before that, except for float16 and bfloat16: ``tail_first=False``.
    """
    whole = flat.size // 16 * 16
    rest = flat.size - whole
    dropped = rest if tail_first else 0
    if whole <= BLOCK:
        _fill_standard(engine, flat[:whole])
        if rest:
            engine.take(dropped)
            _fill_standard(engine, flat[-16:])
        if std < 1e30 > abs(mean):  # numbers that cannot overflow
            if mean != 0.0 or std != 1.0:
                _scale(flat, float(np.float32(mean)), float(np.float32(std)), None)
        else:
            with np.errstate(all="ignore"):
                _scale(flat, float(np.float32(mean)), float(np.float32(std)), None)
        return
    with np.errstate(over="ignore"):
        mean, std = float(np.float32(mean)), float(np.float32(std))
    if rest and flat.size < _ONE_PASS:  # over the words of both parts
        drawn = engine.take(whole + 16 + dropped)
        numbers = np.empty(whole + 16, np.float32)
        _transform_words(np.concatenate((drawn[:whole], drawn[-16:])), numbers, mean, std)
        flat[:whole] = numbers[:whole]
        flat[-16:] = numbers[whole:]
        return
    for start in range(0, whole, CHUNK):
        part = flat[start : min(start + CHUNK, whole)]
        _transform_words(engine.take(part.size), part, mean, std)
    if rest:
        engine.take(dropped)
        _transform_words(engine.take(16), flat[-16:], mean, std)
