"""Sorting by kernels: see `radix_programs`."""

from __future__ import annotations

import numpy as np

from ...base.arrays import in_memory_order, result_order
from ...base.shapes import wrap_dim
from ...ops.moving import copied
from ...ops.table import TABLE
from ..compiler.kernel import compiled
from ..elementwise.calls import copy, run
from ..elementwise.half_precision import by_single_precision
from ..language.value_types import scalar_of
from ..machine.scratch import scratch
from ..places.selection import masked_select, positions
from ..planning.registry import kernel_for
from ..rows.scan import cumsum
from . import radix_programs as programs

_SHORT = 64  # elements: of shorter rows, counting digits takes longer than comparing elements
_LONG = 1 << 17  # elements of a row that threads share, its parts' counts being small beside it
_CHUNKS = 16
_ALONE = 1 << 12  # elements that are sorted before another thread has come to help


def _rows(array, dim):
    """(the array with dimension ``dim`` last, in order in memory; which one that is), or None where it is not sorted here."""
    if not array.ndim or scalar_of(array.dtype) in (None, "f16", "bf16") or not array.dtype.isnative:
        return None
    axis = wrap_dim(dim, array.ndim)
    if not _SHORT <= array.shape[axis] < 1 << 32 or not array.size:
        return None
    rows = np.moveaxis(array, axis, -1)
    return rows if rows.flags.c_contiguous else copied(rows), axis


@kernel_for("sort_pair")
@by_single_precision()
def sort_pair(self, dim, descending, stable):
    prepared = _rows(self, dim)
    if prepared is None:
        return NotImplemented
    rows, axis = prepared
    values, places = in_order(rows, descending)
    if self.flags.c_contiguous and axis == self.ndim - 1:
        return values, places
    order = result_order((self,), self.shape)
    return tuple([in_memory_order(np.moveaxis(found, -1, axis), order, copied) for found in (values, places)])


@kernel_for("mode_pair")
@by_single_precision()
def mode_pair(self, dim, keepdim):
    prepared = _rows(self, dim)
    if prepared is None or self.dtype.kind == "b":
        return NotImplemented
    rows, axis = prepared
    values, places = in_order(rows)
    scalar, length = scalar_of(self.dtype), rows.shape[-1]
    kernel = compiled(("longest_runs", scalar), lambda: programs.longest_runs(scalar))
    found, at = np.empty(rows.shape[:-1], self.dtype), np.empty(rows.shape[:-1], np.int64)
    call = kernel.alone if self.size < _ALONE else kernel.threaded
    call(values, places, found.size, length, max(1, _ALONE // length), found, at)
    return (np.expand_dims(found, axis), np.expand_dims(at, axis)) if keepdim else (found, at)


@kernel_for("unique_parts")
@by_single_precision()
def unique_parts(self, dim, consecutive, inverse, counts):
    dtype = self.dtype
    if dim is not None or not self.size or dtype.kind == "c" or not dtype.isnative:
        return NotImplemented
    if scalar_of(dtype) in (None, "f16", "bf16"):
        return NotImplemented
    flat = np.ascontiguousarray(self).reshape(-1)
    values, places = (flat, None) if consecutive else in_order(flat)
    is_first = _first_of_runs(values)
    found = masked_select(values, is_first)
    results = [values[is_first] if found is NotImplemented else found]
    if inverse:
        numbers = cumsum(copy(is_first, np.dtype(np.int64)), 0, None)
        run(TABLE["sub"], (numbers, np.array(1)), (1,), out=numbers)
        if places is not None:
            of_runs, numbers = numbers, np.empty(values.size, np.int64)
            numbers[places] = of_runs
        results.append(numbers.reshape(self.shape))
    if counts:
        (starts,) = positions(is_first)
        lengths = np.empty_like(starts)
        run(TABLE["sub"], (starts[1:], starts[:-1]), (1,), out=lengths[:-1])
        lengths[-1] = values.size - starts[-1]
        results.append(lengths)
    return tuple(results)


def _first_of_runs(values):
    """Which elements of a contiguous vector differ from the one before, or are the first."""
    found = np.empty(values.size, np.bool_)
    found[0] = True
    if values.size > 1 and run(TABLE["ne"], (values[1:], values[:-1]), out=found[1:]) is NotImplemented:
        np.not_equal(values[1:], values[:-1], out=found[1:])
    return found


def in_order(array, descending=False):
    """(the elements of each row of a C-contiguous array in order, equal ones in their order; where they were)."""
    source = array.view(np.uint8) if array.dtype.kind == "b" else array
    base, passes = 0, source.itemsize
    if source.dtype.kind in "iu":
        base, top = int(source.min()), int(source.max())
        passes = max(1, -(-(top - base).bit_length() // 8))
    flip = (1 << 8 * passes) - 1 if descending else 0
    base, flip = (number - (1 << 64) if number >= 1 << 63 else number for number in (base, flip))
    length = source.shape[-1]
    rows = source.size // length
    values, places = np.empty_like(source), np.empty(source.shape, np.int64)
    key = np.uint32 if passes <= 4 else np.uint64
    chunks = 1 if length >= _LONG else min(rows, _CHUNKS)
    kinds = {"keys": key, "other keys": key, "order": np.uint32, "other order": np.uint32}
    scratched = [scratch(f"sort {name}", chunks * length, kind) for name, kind in kinds.items()]
    counts = scratch("sort counts", programs.PARTS * programs.DIGITS, np.int64)
    build = programs.sort_long if length >= _LONG else programs.sort_rows
    scalar = scalar_of(source.dtype)
    kernel = compiled((build.__name__, scalar, passes), lambda: build(scalar, passes))
    if length < _LONG:
        call = kernel.alone if source.size < _ALONE else kernel.threaded
        call(source, values, places, counts, *scratched, rows, length, chunks, base, flip)
    else:
        for row in zip(*(part.reshape(rows, length) for part in (source, values, places))):
            kernel.threaded(*row, counts, *scratched, length, base, flip)
    return values.view(array.dtype), places
