"""Numbers that are stored, moved and converted, but hardly computed with: float8 and complex32.

Their NumPy dtypes are those of ml_dtypes, whose arithmetic is never used: PyTorch has none for float8, and computes complex32 in
complex64. No short path and no kernel knows these dtypes; the waist hands calls with such arrays to `tensor.stored_calls`.
"""

from __future__ import annotations

import numpy as np

from .dtypes import STORED, complex32, float8_e4m3fn, float8_e5m2, float8_e8m0fnu

_WORDS = {1: np.dtype(np.uint8), 4: np.dtype(np.uint32)}
_LARGEST_E4M3FN = 448.0
_SMALLEST_E8M0FNU = 2.0**-127


def widened(array):
    """The same numbers in a dtype to compute in: float8 as float32, complex32 as complex64; other arrays as they are."""
    dtype = STORED.get(array.dtype)
    if dtype is None:
        return array
    return array.astype(np.complex64 if dtype is complex32 else np.float32)


def narrowed(array, goal):
    """Numbers of any dtype in ``goal``, one of the dtypes here: float8 is rounded once, from float32.

    float8_e4m3fn has no infinity: what is too large becomes the largest number. float8_e8m0fnu holds powers of 2 alone: the sign
    is lost, and 0 becomes the smallest.
    """
    dtype = STORED[goal]
    if array.dtype is goal:
        return array
    wide = widened(array)
    with np.errstate(all="ignore"):
        if dtype is complex32:
            return wide.astype(np.complex64, copy=False).astype(goal)
        wide = (wide.real if wide.dtype.kind == "c" else wide).astype(np.float32, copy=False)
        if dtype is float8_e4m3fn:
            return np.clip(wide, -_LARGEST_E4M3FN, _LARGEST_E4M3FN).astype(goal)
        if dtype is float8_e8m0fnu:
            return np.maximum(np.abs(wide), np.float32(_SMALLEST_E8M0FNU)).astype(goal)
        found = wide.astype(goal)
        if dtype is float8_e5m2:
            np.bitwise_or(words(found), np.isnan(wide), out=words(found))  # of its NaNs PyTorch writes another one
        return found


def words(array):
    """The same memory as unsigned integers of the elements' size."""
    return array.view(_WORDS[array.itemsize])
