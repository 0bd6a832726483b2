"""Where the elements of sparse tensors stand: coordinates and compressed lines as arrays of whole numbers, and no values.

A pattern never changes, so what was found out about it once (its order, its lines) is kept: its arrays are read-only memory,
also where tensors show them. Values of any number of tensors share one.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..base.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from ..base.errors import hinted

ROW_LAYOUTS, BLOCK_LAYOUTS = (sparse_csr, sparse_bsr), (sparse_bsr, sparse_bsc)


def frozen(array):
    """The array as read-only memory of its own: a copy where somebody else could still write into it."""
    if not array.flags.writeable and array.flags.c_contiguous and array.base is None:
        return array
    made = np.array(array, order="C")
    made.flags.writeable = False
    return made


def _own(array):
    """A fresh array made read-only."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


class Lines:
    """The entries of a matrix line by line: line ``i`` holds those from ``starts[i]`` to ``starts[i + 1]``.

    ``others`` are their places within the line, ``order`` their numbers among the values, None where they stand so already.
    """

    __slots__ = ("order", "others", "starts")

    def __init__(self, starts, others, order):
        self.starts, self.others, self.order = starts, others, order

    def of(self, values):
        """The values, an array, in the order of the lines."""
        return values if self.order is None else values[self.order]


def _lines(line, other, count):
    """The `Lines` of entries with these numbers of lines and places within them."""
    counts = np.bincount(line, minlength=count)
    starts = np.concatenate(([0], np.cumsum(counts)))
    if line.size and (line[1:] < line[:-1]).any():
        order = np.argsort(line, kind="stable")
        return Lines(starts, other[order], order)
    return Lines(starts, other, None)


class Pattern:
    """What both kinds share: how many of the dimensions are sparse, and the lines of a matrix."""

    def __init__(self, layout, shape):
        if prod(shape) >= 1 << 63:
            raise RuntimeError(
                hinted("numel: integer multiplication overflow", f"{list(shape)} has more places than 64 bits number")
            )
        self.layout, self.shape, self._found = layout, tuple(shape), {}

    def _once(self, key, find, *arguments):
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = find(*arguments)
        return found

    def flat(self):
        """One number for each entry, or element of its block, in the order of the places."""
        return self._once("flat", self._find_flat)

    def _find_flat(self):
        places = self.places()
        found = np.zeros(places.shape[1], np.int64)
        for each, length in zip(places, self.shape):
            found *= length
            found += each
        return found

    def lines(self, axis):
        """The entries of a matrix by its rows (axis 0) or columns (axis 1)."""
        return self._once(("lines", axis), self._find_lines, axis)

    def _find_lines(self, axis):
        places = self.places()
        return _lines(places[axis], places[1 - axis], self.shape[axis])


class Coordinates(Pattern):
    """The pattern of a COO tensor: ``indices`` has a column for each entry, ``coalesced`` says that they are sorted and distinct."""

    def __init__(self, shape, indices, coalesced=False):
        super().__init__(sparse_coo, shape)
        self.indices, self.coalesced = frozen(indices), coalesced

    sparse_dim = property(lambda self: self.indices.shape[0])
    dense_dim = property(lambda self: len(self.shape) - self.indices.shape[0])
    nnz = property(lambda self: self.indices.shape[1])

    def places(self):
        """The coordinates of the entries, an array for each sparse dimension."""
        return self.indices

    def value_shape(self):
        """The shape of the values."""
        return (self.nnz, *self.shape[self.sparse_dim :])

    def merged(self):
        """The coalesced pattern, and the number of the entry in it for each of this one's: (pattern, numbers)."""
        return self._once("merged", self._find_merged)

    def _find_merged(self):
        if self.coalesced or self.nnz < 2:
            return (self if self.coalesced else Coordinates(self.shape, self.indices, True)), np.arange(self.nnz)
        _, first, numbers = np.unique(self.flat(), return_index=True, return_inverse=True)
        return Coordinates(self.shape, _own(self.indices[:, first]), True), numbers.reshape(-1)

    def places_once(self):
        """A pattern that has each place once, and the numbers of the first entries there; this one and None, where it does.

        A gradient stands on such a pattern: it says how the whole element at a place counts, not each part of its sum.
        """
        merged, groups = self.merged()
        if merged.nnz == self.nnz:
            return self, None
        first = np.empty(merged.nnz, np.int64)
        first[groups[::-1]] = np.arange(self.nnz)[::-1]
        return merged, first

    def union(self, other):
        """The pattern of both, coalesced, and the number in it of each entry of one and the other."""
        joined = Coordinates(self.shape, _own(np.concatenate((self.indices, other.indices), 1)))
        pattern, numbers = joined.merged()
        return pattern, numbers[: self.nnz], numbers[self.nnz :]

    def found_in(self, other):
        """For each entry the number of ``other``'s, which is coalesced, at the same place, and whether there is one."""
        mine, theirs = self.flat(), other.flat()
        if not theirs.size:
            return np.zeros(mine.size, np.int64), np.zeros(mine.size, bool)
        numbers = np.minimum(np.searchsorted(theirs, mine), theirs.size - 1)
        return numbers, theirs[numbers] == mine

    def rearranged(self, shape, indices, coalesced=False):
        """The pattern of other coordinates made of these."""
        return Coordinates(shape, _own(indices), coalesced)

    def transposed(self):
        """The pattern of the transposed matrix, of whose values the order is the same."""
        return self.rearranged((self.shape[1], self.shape[0]), self.indices[::-1])

    def is_distinct(self):
        """Whether it is known that no place comes twice."""
        return self.coalesced

    def checked_coalesced(self):
        """Whether the entries are sorted and distinct."""
        flat = self.flat()
        return bool((flat[1:] > flat[:-1]).all())


class Compressed(Pattern):
    """The pattern of CSR, CSC, BSR or BSC matrices: ``compressed`` says where each row or column of entries begins in ``plain``.

    ``block`` is the shape of the blocks, (1, 1) in the first two. The first dimensions of ``compressed`` and ``plain`` are those of
    a batch, whose matrices have equally many entries.
    """

    sparse_dim, coalesced = 2, True

    def __init__(self, layout, shape, compressed, plain, block=(1, 1)):
        super().__init__(layout, shape)
        self.compressed, self.plain, self.block = frozen(compressed), frozen(plain), tuple(block)

    nnz = property(lambda self: self.plain.shape[-1])
    batch = property(lambda self: self.compressed.shape[:-1])
    dense_dim = property(lambda self: len(self.shape) - self.compressed.ndim - 1)
    by_rows = property(lambda self: self.layout in ROW_LAYOUTS)

    def value_shape(self):
        """The shape of the values."""
        block = self.block if self.layout in BLOCK_LAYOUTS else ()
        return (*self.plain.shape, *block, *self.shape[len(self.batch) + 2 :])

    def places(self):
        """Matrices, rows and columns of all elements of the entries, in the order of the values in memory."""
        return self._once("places", self._find_places)

    def _find_places(self):
        counts = np.diff(self.compressed)
        line = np.repeat(np.indices(counts.shape)[-1].reshape(-1), counts.reshape(-1))
        plain = self.plain.reshape(-1)
        matrices = np.repeat(np.indices(self.batch).reshape(len(self.batch), prod(self.batch)), self.nnz, 1)
        found = np.vstack((matrices, *((line, plain) if self.by_rows else (plain, line)))).astype(np.int64, copy=False)
        if self.layout in BLOCK_LAYOUTS:
            found = np.repeat(found, self.block[0] * self.block[1], 1)
            inside = np.indices(self.block).reshape(2, -1)
            found[-2:] = found[-2:] * np.array(self.block)[:, None] + np.tile(inside, self.plain.size)
        return found

    def _find_lines(self, axis):
        if self.layout not in BLOCK_LAYOUTS and (axis == 0) is self.by_rows:
            return Lines(self.compressed.astype(np.int64, copy=False), self.plain, None)
        return super()._find_lines(axis)

    def is_distinct(self):
        """Whether no place comes twice: nobody may have checked."""
        return self._once("distinct", lambda: (np.unique(self.flat()).size == self.places().shape[1],))[0]

    def places_once(self):
        """This pattern and None: a place comes once."""
        return self, None

    def transposed(self):
        """The pattern of the transposed matrices: the same entries, the other way of reading them."""
        layout = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}[
            self.layout
        ]
        first = len(self.batch)
        shape = (*self.shape[:first], self.shape[first + 1], self.shape[first])
        return Compressed(layout, shape, self.compressed, self.plain, self.block[::-1])

    def of_batch(self, shape, change):
        """The pattern of the matrices that ``change``, a function of an array, leaves of the batch or puts in another order."""
        return Compressed(self.layout, shape, _own(change(self.compressed)), _own(change(self.plain)), self.block)


def lines_of(layout, lengths, places):
    """Where the lines of matrices begin, the places within them, and the order of the entries, which are distinct.

    ``places`` has a row for each dimension of the batch, and two for those of the matrices; ``lengths`` are theirs.
    """
    *batch, rows, columns = places
    lines, within, count = (rows, columns, -2) if layout in ROW_LAYOUTS else (columns, rows, -1)
    shape = (*lengths[:-2], lengths[count])
    numbers = np.ravel_multi_index((*batch, lines), shape)
    order = np.lexsort((within, numbers))
    starts = np.zeros((*shape[:-1], shape[-1] + 1), np.int64)
    np.cumsum(np.bincount(numbers, minlength=prod(shape)).reshape(shape), -1, out=starts[..., 1:])
    totals = starts[..., -1]
    if not totals.size:
        name = str(layout).removeprefix("torch.")
        message = f"to_{name}: Expected product of batch dimensions to be non-zero."
        raise RuntimeError(hinted(message, f"torch.zeros(size, layout={layout}) makes an empty batch"))
    if (totals != totals.flat[0]).any():
        message = "Expect the same number of specified elements per batch."
        raise RuntimeError(hinted(message, f"there are {totals.min()} to {totals.max()}: the COO layout takes them"))
    return _own(starts), _own(within[order].reshape(*shape[:-1], totals.flat[0])), order
