"""From 32-bit words to uniform numbers: 24-bit float32, 53-bit float64 and 64-bit integers."""

from __future__ import annotations

import math
import sys

import numpy as np

from . import bulk
from .mersenne import MersenneTwister

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
    kernels = bulk.kernels(flat.size)
    if kernels is not None:
        for start in range(0, flat.size, CHUNK):
            part = flat[start : start + CHUNK]
            kernels.doubles(engine.take(2 * part.size), part)
        return
    scratch = np.empty((2, min(flat.size, CHUNK)), np.uint64)
    for start in range(0, flat.size, CHUNK):
        part = flat[start : start + CHUNK]
        integers = _joined(engine, *scratch[:, : part.size])
        integers &= _LOW_53_BITS
        np.copyto(part, integers.view(np.int64))
        part *= _SCALE_53


def few_doubles(engine: MersenneTwister, count: int) -> list[float]:
    """``count`` numbers as ``doubles`` gives, as Python floats: quicker than an array for a few."""
    words = engine.take(2 * count).tolist()
    return [((words[i] & 0x1FFFFF) << 32 | words[i + 1]) * _SCALE_53 for i in range(0, 2 * count, 2)]


def _units(block):
    units = (block & LOW_24_BITS).view(np.int32).astype(np.float32)
    units *= np.float32(_SCALE_24)
    return units


def fill_floats(engine: MersenneTwister, flat: np.ndarray, low: float, high: float) -> None:
    """Fill a flat float32 array with ``u * (high - low) + low``, rounded once, ``u`` having 24 random bits.

    A number that rounds up to ``high`` becomes ``low``, which keeps the interval half open.
    """
    span = float(np.float32(high) - np.float32(low))
    count = flat.size
    if low == 0.0 and count <= engine.available:
        if count:
            units = engine.take_derived(count, _units)
            np.copyto(flat, units) if span == 1.0 else np.multiply(units, np.float32(span), flat)
        return
    low, high = float(np.float32(low)), float(np.float32(high))
    kernels = bulk.kernels(count)
    if kernels is not None:
        for start in range(0, count, CHUNK):
            part = flat[start : start + CHUNK]
            kernels.floats(engine.take(part.size), part, low, high, span)
        return
    scratch = np.empty(min(count, CHUNK), np.uint32)
    wide = np.empty(0 if low == 0.0 else scratch.size)
    for start in range(0, count, CHUNK):
        part = flat[start : start + CHUNK]
        integers = np.bitwise_and(engine.take(part.size), LOW_24_BITS, scratch[: part.size]).view(np.int32)
        if low == 0.0:
            np.copyto(part, integers, casting="unsafe")
            part *= np.float32(span * _SCALE_24)
            continue
        exact = wide[: part.size]
        np.copyto(exact, integers)
        exact *= span * _SCALE_24
        exact += low
        np.copyto(part, exact, casting="same_kind")
        wrap_to_low(part, low, high)


def wrap_to_low(values: np.ndarray, low: float, high: float) -> None:
    """Replace, in place, numbers that equal ``high`` by ``low``."""
    reached = values == high
    if reached.any():
        values[reached] = low


def below(engine: MersenneTwister, count: int, probability: float) -> np.ndarray:
    """``count`` booleans, each ``u < probability`` for a 53-bit uniform ``u``.

    The high words nearly always decide; the low ones are looked at only where the high parts are equal.
    """
    threshold = math.ceil(probability * 2.0**53)
    result = np.empty(count, np.bool_)
    kernels = bulk.kernels(count)
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
