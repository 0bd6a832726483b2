"""Products on arrays, line by line of a sparse matrix: sums of rows, and products of rows with rows. By NumPy or a generated kernel."""

from __future__ import annotations

import numpy as np

from ..kernels.routing import elements_of, kernel_of
from ..ops.table import widened

_BLOCK = 1 << 20  # elements that are in memory at once beside the operands


def line_sums(values, pattern, axis, dense):
    """The product with ``dense`` of the matrix of ``values`` on a pattern (``axis`` 0) or of its transpose (1)."""
    lines, values = pattern.lines(axis), values.reshape(-1)
    if dense.size and values.size * dense.shape[1] >= elements_of("sparse_line_sums"):
        found = kernel_of("sparse_line_sums")(lines.starts, lines.others, lines.order, values, dense)
        if found is not NotImplemented:
            return found
    entries = lines.of(values)
    count, width = len(lines.starts) - 1 if len(lines.starts) else 0, dense.shape[1]
    found = np.zeros((count, width), entries.dtype)
    wide, entries = widened(dense), widened(entries)
    filled = np.flatnonzero(np.diff(lines.starts))
    starts = lines.starts[filled]
    for first, last in _pieces(starts, entries.size, max(width, 1)):
        begin, end = starts[first], starts[last] if last < len(starts) else entries.size
        products = entries[begin:end, None] * wide[lines.others[begin:end]]
        found[filled[first:last]] = np.add.reduceat(products, starts[first:last] - begin, axis=0)
    return found


def _pieces(starts, entries, width):
    """Runs of lines, from and to, whose entries times ``width`` are about as many as may be in memory at once."""
    step = max(_BLOCK // width, 1)
    first = 0
    while first < len(starts):
        last = int(np.searchsorted(starts, starts[first] + step))
        last = max(last, first + 1)
        yield first, last
        first = last


def line_products(left, right, pattern, axis):
    """For each entry of a pattern (``axis`` 1: transposed) the product of ``left``'s row at its row with ``right``'s at its column."""
    rows, columns = pattern.places() if axis == 0 else pattern.places()[::-1]
    if left.size and rows.size * left.shape[1] >= elements_of("sparse_line_products"):
        found = kernel_of("sparse_line_products")(rows, columns, left, right)
        if found is not NotImplemented:
            return found
    found = np.empty(rows.size, left.dtype)
    step = max(_BLOCK // max(left.shape[1], 1), 1)
    wide, other = widened(left), widened(right)
    for start in range(0, rows.size, step):
        places = slice(start, start + step)
        found[places] = np.einsum("ij,ij->i", wide[rows[places]], other[columns[places]])
    return found
