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
# Its length, the largest that the system gives: of the 2**47 bytes that a program can address, those below its own code.
_SIZES = (5 << 44, *[1 << power for power in range(46, 29, -2)])


def _region():
    if not REGION:
        import mmap

        for size in _SIZES:
            try:
                if hasattr(mmap, "MAP_PRIVATE"):
                    flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_ANONYMOUS", 0) | getattr(mmap, "MAP_NORESERVE", 0)
                    mapped = mmap.mmap(-1, size, flags=flags, prot=mmap.PROT_READ)
                else:
                    mapped = mmap.mmap(-1, min(size, 1 << 30), access=mmap.ACCESS_READ)
            except (OSError, ValueError, OverflowError):
                if size == _SIZES[-1]:
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
