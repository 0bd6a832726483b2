"""Scratch memory for kernels: aligned arrays that stay with their Python thread and grow as needed."""

from __future__ import annotations

import threading

import numpy as np

from ...base.arrays import address_of

_LINE = 64
_LARGEST_KEPT = 64 << 20  # bytes; larger ones go back to the system after use

_kept = threading.local()


def aligned(count, dtype):
    """An uninitialised array of ``count`` elements that begins on a cache line."""
    dtype = np.dtype(dtype)
    raw = np.empty(count * dtype.itemsize + _LINE, np.uint8)
    start = -address_of(raw) % _LINE
    return raw[start : start + count * dtype.itemsize].view(dtype)


def scratch(name, count, dtype):
    """An array of at least ``count`` elements for the use called ``name``; its content is gone at the next call for it."""
    key = (name, dtype)
    arrays = _kept.__dict__
    found = arrays.get(key)
    if found is None or found.size < count:
        found = aligned(count, dtype)
        if found.nbytes <= _LARGEST_KEPT:
            arrays[key] = found
    return found
