"""Sorting by kernels: see `radix_programs`."""

from __future__ import annotations

import math

import numpy as np

from ...base.arrays import result_order
from ...base.shapes import wrap_dim
from ...ops.moving import copied
from ...ops.table import TABLE, is_half
from ..elementwise.calls import copy, run
from ..language.value_types import scalar_of
from ..places.selection import masked_select, positions
from ..planning.layout import Layout, laid, strided
from ..planning.plan import HostStep, Launch, Plan, View
from ..planning.precision import in_single_precision
from ..planning.registry import kernel_for
from ..planning.runner import function_of, plan_for
from ..rows.extremes import extremes
from ..rows.scan import cumsum
from . import radix_programs as programs

_SHORT = 64  # elements: of shorter rows, counting digits takes longer than comparing elements
_LONG = 1 << 17  # elements of a row that threads share, its parts' counts being small beside it
_CHUNKS = 16
_NANOSECONDS = 1.25  # for an element
_INT64, _UINT32 = np.dtype(np.int64), np.dtype(np.uint32)


def is_sorted_here(x):
    """Whether there are programs for elements of this dtype; half precision goes through float32."""
    return x.scalar not in (None, "f16", "bf16") and x.ndim > 0 and x.size > 0


def ordered(x, descending, source, values="values", places="places"):
    """(launches, scratch memory) that bring the rows of a plain array in order: the names are those of the array, of the elements
    in order, equal ones in their order, and of where they were."""
    scalar, length = "u8" if x.scalar == "bool" else x.scalar, x.shape[-1]
    rows = x.size // length
    is_long = length >= _LONG
    chunks = 1 if is_long else min(rows, _CHUNKS)
    key = np.dtype(np.uint32 if x.itemsize <= 4 else np.uint64)
    scratch = [("sort counts", programs.PARTS * programs.DIGITS, _INT64)]
    scratch += [(f"sort {name}", chunks * length, kind)
                for name, kind in (("keys", key), ("other keys", key), ("order", _UINT32), ("other order", _UINT32))]  # fmt: skip
    names = [name.replace(" ", "_") for name, _, _ in scratch]
    scratch = [(name, *size) for name, (_, *size) in zip(names, scratch)]
    build, sizes = (programs.sort_long, (length,)) if is_long else (programs.sort_rows, (rows, length, chunks))
    nanoseconds = x.size * _NANOSECONDS
    if x.dtype.kind == "f" and (rows == 1 or not is_long):
        flip = (1 << 8 * x.itemsize) - 1 if descending else 0
        arguments = (source, values, places, *names, *sizes, 0, _signed(flip))
        return [Launch(build, (scalar, x.itemsize), arguments, nanoseconds)], scratch
    sort = _Sort(build, scalar, descending, sizes, nanoseconds, rows if is_long else 1)
    return [HostStep(sort, (source, values, places, *names))], scratch


def _signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


class _Sort:
    """Sorts where the numbers decide which program does: integers have as many digits as their largest and smallest differ in.
    Several long rows are sorted one after the other."""

    def __init__(self, build, scalar, descending, sizes, nanoseconds, apart):
        self.build, self.scalar, self.descending, self.sizes = build, scalar, descending, sizes
        self.nanoseconds, self.apart = nanoseconds, apart

    def __call__(self, source, values, places, *scratch):
        base, passes = 0, source.itemsize
        if source.dtype.kind != "f":
            source = source.view(np.uint8) if source.dtype.kind == "b" else source
            base, top = extremes(source)
            passes = max(1, -(-(top - base).bit_length() // 8))
        flip = (1 << 8 * passes) - 1 if self.descending else 0
        run = function_of(Launch(self.build, (self.scalar, passes), (), self.nanoseconds))
        in_memory = (
            part.ravel("K").reshape(self.apart, -1) for part in (source, values, places)
        )  # rows lie there one by one
        for row in zip(*in_memory):
            run(*row, *scratch, *self.sizes, _signed(base), _signed(flip))


def in_rows(x, dim):
    """(the Layout of rows along dimension ``dim``, the fields of a plan that give them as "rows", the order of their dimensions,
    the one back)."""
    axis = wrap_dim(dim, x.ndim)
    order = [*range(axis), *range(axis + 1, x.ndim), axis]
    turned = x.turned(order)
    fields = {"views": {"rows": View("self", order=tuple(order))}, "copied": {} if turned.is_plain else {"rows": None}}
    return turned.plain(), fields, [order.index(each) for each in range(x.ndim)]


@plan_for()
def in_order(self: Layout, descending):
    """(the elements of each row of a C-contiguous array in order, equal ones in their order; where they were)."""
    launches, scratch = ordered(self, descending, "self")
    return Plan(launches, {"values": self, "places": Layout(self.shape, _INT64)}, scratch)


@plan_for("sort_pair")
@in_single_precision()
def sort_pair(self: Layout, dim, descending, stable):
    if not is_sorted_here(self):
        return None
    rows, fields, back = in_rows(self, dim)
    launches, scratch = ordered(rows, descending, "rows")
    found, given = rows.turned(back), Layout(self.shape, self.dtype)
    order = result_order((self.spread(),), self.shape)
    if order is not None:
        given = strided(*laid(self.shape, self.dtype, order))
    results = {"values": found, "places": found.of(_INT64)}
    given = {} if given == found else {"values": given, "places": given.of(_INT64)}
    return Plan(launches, results, scratch, given=given, pays=rows.shape[-1] >= _SHORT, **fields)


@plan_for("mode_pair")
@in_single_precision()
def mode_pair(self: Layout, dim, keepdim):
    if not is_sorted_here(self) or self.dtype.kind == "b":
        return None
    rows, fields, _ = in_rows(self, dim)
    launches, scratch = ordered(rows, False, "rows", "ordered", "origins")
    (*shape, length), axis = rows.shape, wrap_dim(dim, self.ndim)
    scratch += [("ordered", self.size, self.dtype), ("origins", self.size, _INT64)]
    arguments = "ordered", "origins", math.prod(shape), length, max(1, 4096 // length), "values", "places"
    launches.append(Launch(programs.longest_runs, (self.scalar,), arguments, self.size * _NANOSECONDS))
    if keepdim:
        shape.insert(axis, 1)
    results = {"values": Layout(tuple(shape), self.dtype), "places": Layout(tuple(shape), _INT64)}
    return Plan(launches, results, scratch, pays=length >= _SHORT, **fields)


@kernel_for("unique_parts")
def unique_parts(self, dim, consecutive, inverse, counts):
    dtype = self.dtype
    if dim is not None or not self.size or scalar_of(dtype) is None or not dtype.isnative:
        return NotImplemented
    if is_half(dtype):
        values, *rest = unique_parts(copied(self, np.float32), dim, consecutive, inverse, counts)
        return copied(values, dtype), *rest
    flat = np.ascontiguousarray(self).reshape(-1)
    values, places = (flat, None) if consecutive else in_order(flat, False)
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
