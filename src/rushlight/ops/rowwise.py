"""Row-by-row work on large arrays in blocks that stay in the cache."""

import numpy as np

from .blockwise import BLOCK


def by_rows(formula, axis, *arrays):
    """The array that ``formula(*arrays, axis, out)`` writes, of the first array's shape and dtype.

    Where ``axis`` is the last one and the arrays are large, contiguous and of one shape, it is called for a few rows at
    a time, so that its intermediate results stay in the cache.
    """
    first = arrays[0]
    out = np.empty(first.shape, first.dtype)
    if first.size <= 2 * BLOCK or axis != first.ndim - 1:
        formula(*arrays, axis, out)
        return out
    for array in arrays:
        if array.shape != first.shape or not array.flags.c_contiguous:
            formula(*arrays, axis, out)
            return out
    length = first.shape[axis]
    rows = [array.reshape(-1, length) for array in (*arrays, out)]
    for part in row_slices(rows[0].shape[0], length):
        *given, target = [row[part] for row in rows]
        formula(*given, 1, target)
    return out


def row_slices(count, length):
    """Slices that cut ``count`` rows of ``length`` elements into blocks."""
    step = max(1, BLOCK // max(length, 1))
    return [slice(start, start + step) for start in range(0, count, step)]
