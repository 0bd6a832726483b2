"""Memory that is reserved and never taken: addresses for the arrays of meta tensors, all of them the same ones.

Arrays there have shape, dtype and strides, and views of them are made as of any other. Reading gives zeros, which the system
does not store; writing is refused by NumPy, as the memory is read-only.
"""

from __future__ import annotations

import math

import numpy as np

from .arrays import bounds
from .limits import too_much_memory

REGION: list = []  # the one block of it, once it is needed
_SIZES = range(46, 29, -2)  # its length as a power of two: the largest that the system gives


def _region():
    if not REGION:
        import mmap

        for power in _SIZES:
            try:
                if hasattr(mmap, "MAP_PRIVATE"):
                    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_ANONYMOUS", 0) | getattr(mmap, "MAP_NORESERVE", 0)
                    mapped = mmap.mmap(-1, 1 << power, flags=flags, prot=mmap.PROT_READ)
                else:
                    mapped = mmap.mmap(-1, 1 << min(power, 30), access=mmap.ACCESS_READ)
            except (OSError, ValueError, OverflowError):
                if power == _SIZES[-1]:
                    raise
                continue
            REGION.append(np.frombuffer(mapped, np.uint8))
            break
    return REGION[0]


def reserve(shape, dtype, strides=None):
    """An array in reserved memory; ``strides`` in bytes, row by row where they are None."""
    shape = tuple(shape)
    try:
        return np.ndarray(shape, dtype, _region(), 0, strides)
    except (TypeError, ValueError):
        needed = math.prod(shape) * dtype.itemsize if strides is None else bounds(shape, strides, dtype.itemsize)[1]
        if needed > len(_region()):
            raise too_much_memory(shape) from None
        raise


def is_reserved(array):
    """Whether an array lies in reserved memory."""
    region = REGION[0] if REGION else None
    while array is not None and region is not None:
        if array is region:
            return True
        array = getattr(array, "base", None)
    return False
