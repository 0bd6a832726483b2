"""From 32-bit words to uniform numbers: 24-bit float32, 53-bit float64 and 64-bit integers."""

from __future__ import annotations

import math
import sys

import numpy as np

from . import bulk
from .mersenne import BLOCK, MersenneTwister

CHUNK = 32768  # words a pass: what a pass reads and writes stays in the second-level cache
LOW_24_BITS = np.uint32(0xFFFFFF)
_LOW_21_BITS = np.uint32(0x1FFFFF)
_LOW_53_BITS = np.uint64((1 << 53) - 1)
_HALF = np.uint64(32)
_SCALE_24, _SCALE_53 = 2.0**-24, 2.0**-53


def integers64(engine: MersenneTwister, count: int) -> np.ndarray:
    """``count`` 64-bit integers as uint64; the first word of each pair is the high half."""
    return _joined(engine, np.empty(count, np.uint64), np.empty(count, np.uint64))


def _joined(engine, result, scratch):
    pairs = engine.take(2 * result.size)
    if pairs.__array_interface__["data"][0] % 8:
        pairs = pairs.copy()
    pairs = pairs.view(np.uint64)
    if sys.byteorder == "little":
        np.left_shift(pairs, _HALF, result)
        np.right_shift(pairs, _HALF, scratch)
        result |= scratch
    else:
        result[...] = pairs
    return result


def doubles(engine: MersenneTwister, count: int) -> np.ndarray:
    """``count`` float64 numbers in [0, 1): the low 53 bits of a 64-bit integer each."""
    result = np.empty(count)
    fill_doubles(engine, result)
    return result


def fill_doubles(engine: MersenneTwister, flat: np.ndarray) -> None:
    """Fill a flat float64 array with numbers as ``doubles`` gives."""
    count = flat.size
    found = few_doubles(engine, flat.shape, count)
    if found is not None:
        flat[...] = found
        return
    kernels = bulk.kernels(count, 10)
    if kernels is not None:
        for start in range(0, count, CHUNK):
            part = flat[start : start + CHUNK]
            kernels.doubles(engine.take(2 * part.size), part)
        return
    scratch = np.empty((2, min(count, CHUNK)), np.uint64)
    for start in range(0, count, CHUNK):
        part = flat[start : start + CHUNK]
        _convert(_joined(engine, *scratch[:, : part.size]), part)


def _convert(integers, doubles):
    integers &= _LOW_53_BITS
    np.copyto(doubles, integers.view(np.int64))
    doubles *= _SCALE_53


def few_doubles(engine, shape, count):
    """``count`` numbers as ``doubles`` gives, not to be written to; None where their words are not all of one block."""
    return engine.few(doubles_of_block, shape, count, 2, 2)


def doubles_of_block(engine, phase):
    """The numbers of a block's pairs of words, the first of which begins at word ``phase``."""
    pairs = engine.block[phase : BLOCK - phase % 2].astype(np.uint64).reshape(-1, 2)
    integers = pairs[:, 0] << _HALF
    integers |= pairs[:, 1]
    result = np.empty(integers.size)
    _convert(integers, result)
    return result


def double_list(engine: MersenneTwister, count: int) -> list[float]:
    """``count`` numbers as ``doubles`` gives, as Python floats: quicker than an array for a few."""
    words = engine.take(2 * count).tolist()
    return [((words[i] & 0x1FFFFF) << 32 | words[i + 1]) * _SCALE_53 for i in range(0, 2 * count, 2)]


def few_floats(engine, shape, count):
    """``count`` float32 numbers in [0, 1), not to be written to; None where their words are not all of one block."""
    return engine.few(_units, shape, count)


def _units(engine, phase):
    units = (engine.block & LOW_24_BITS).view(np.int32).astype(np.float32)
    units *= np.float32(_SCALE_24)
    return units


def fill_floats(engine: MersenneTwister, flat: np.ndarray, low: float, high: float) -> None:
    """Fill a flat float32 array with ``u * (high - low) + low``, rounded once, ``u`` having 24 random bits.

    A number that rounds up to ``high`` becomes ``low``, which keeps the interval half open.
    """
    count = flat.size
    if count <= BLOCK:
        _fill_units(engine, flat)
        if low != 0.0 or high != 1.0:
            _spread(flat, flat, 1.0, *_bounds(low, high))
        return
    low, high, span = _bounds(low, high)
    kernels = bulk.kernels(count, 15)
    if kernels is not None:
        for start in range(0, count, CHUNK):
            part = flat[start : start + CHUNK]
            kernels.floats(engine.take(part.size), part, low, high, span)
        return
    scratch = np.empty(min(count, CHUNK), np.uint32)
    for start in range(0, count, CHUNK):
        part = flat[start : start + CHUNK]
        integers = np.bitwise_and(engine.take(part.size), LOW_24_BITS, scratch[: part.size]).view(np.int32)
        if low == 0.0:
            np.copyto(part, integers, casting="unsafe")
        _spread(integers, part, _SCALE_24, low, high, span)


def _fill_units(engine, flat):
    """Fill a flat float32 array with numbers in [0, 1)."""
    start, count = 0, flat.size
    while start < count:
        end = min(count, start + engine.ready())
        units = engine.of_block(_units)
        place = engine.skip(end - start)
        flat[start:end] = units[place : place + end - start]
        start = end


def _bounds(low, high):
    """The bounds and their distance, rounded to float32."""
    low, high = np.float32(low), np.float32(high)
    return float(low), float(high), float(high - low)


def _spread(numbers, flat, unit, low, high, span):
    """``numbers * unit``, which lie in [0, 1), spread over [low, high) into ``flat``, which holds them already."""
    if low == 0.0:
        np.multiply(flat, np.array(span * unit, np.float32), flat)
        return
    exact = numbers.astype(np.float64)
    np.multiply(exact, np.array(span * unit), exact)
    np.add(exact, np.array(low), exact)
    flat[...] = exact
    if np.float32((1.0 - _SCALE_24) * span + low) >= high:
        wrap_to_low(flat, low, high)


def wrap_to_low(values: np.ndarray, low: float, high: float) -> None:
    """Replace, in place, numbers that equal ``high`` by ``low``."""
    reached = values == high
    if reached.any():
        values[reached] = low


def below(engine: MersenneTwister, count: int, probability: float) -> np.ndarray:
    """``count`` booleans, each ``u < probability`` for a 53-bit uniform ``u``.

    The high words nearly always decide; the low ones are looked at only where the high parts are equal.
    """
    found = few_doubles(engine, (count,), count)
    if found is not None:
        return np.less(found, probability)
    threshold = math.ceil(probability * 2.0**53)
    result = np.empty(count, np.bool_)
    kernels = bulk.kernels(count, 10)
    if kernels is not None:
        for start in range(0, count, CHUNK):
            part = result[start : start + CHUNK]
            kernels.below(engine.take(2 * part.size), part, threshold)
        return result
    high, low = threshold >> 32, threshold & 0xFFFFFFFF
    for start in range(0, count, CHUNK):
        part = result[start : start + CHUNK]
        words = engine.take(2 * part.size)
        tops = words[0::2] & _LOW_21_BITS
        np.less(tops, np.uint32(high), part)
        if low:
            tied = np.flatnonzero(tops == high)
            if tied.size:
                part[tied] = words[1::2][tied] < low
    return result
