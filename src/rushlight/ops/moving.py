"""Arrays filled and copied, which many operations come down to; large ones by generated kernels."""

from __future__ import annotations

import math

import numpy as np

# What computes from how many elements on: (elements, function that may return NotImplemented). `kernels.routing`, which
# lies above this room, puts its own here.
kernels = {}
_NONE = 1 << 62, None
PLAIN_COPY = 1 << 17  # bytes of contiguous memory that one thread of NumPy copies as fast as several


def write(target, source, use="copy"):
    """Copy an array into another one, to whose shape it is broadcast, converting as C does; returns the target."""
    elements, kernel = kernels.get(use, _NONE)
    if target.size >= elements and not _is_plain(target, source) and kernel(source, target) is not NotImplemented:
        return target
    if target.dtype is source.dtype:
        np.copyto(target, source)
    else:
        with np.errstate(all="ignore"):
            np.copyto(target, source, casting="unsafe")
    return target


def _is_plain(target, source):
    """Whether this is a copy of little contiguous memory."""
    if target.nbytes >= PLAIN_COPY or source.dtype is not target.dtype or source.shape != target.shape:
        return False
    return source.flags.c_contiguous and target.flags.c_contiguous


def copied(view):
    """A copy of an array, row by row."""
    return write(np.empty(view.shape, view.dtype), view)


def filled(shape, value, dtype):
    """A new array with one value everywhere."""
    if math.prod(shape) >= kernels.get("fill", _NONE)[0]:
        return write(np.empty(shape, dtype), np.full((), value, dtype), "fill")
    return np.zeros(shape, dtype) if value.__class__ is int and not value else np.full(shape, value, dtype)


def progression(count, base, step, computed, dtype=None, first=0, direction=1):
    """``base + step * (first + direction * i)`` for i below ``count``: computed in one dtype, as an array of another."""
    dtype = computed if dtype is None else dtype
    elements, kernel = kernels.get("progression", _NONE)
    if count >= elements:
        found = np.empty(count, dtype)
        if kernel(found, base, step, first, direction, computed) is not NotImplemented:
            return found
    places = np.arange(first, first + direction * count, direction).astype(computed, copy=False)
    return (base + step * places).astype(dtype, copy=False)
