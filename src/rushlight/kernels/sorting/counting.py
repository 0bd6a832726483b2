"""Counts by kernels: how often integers occur, how many elements fall into intervals, or what their weights come to.

Chunks of the elements count into tables of their own, which are added up at the end. How many there are follows from
the sizes alone, so that sums of weights are the same on any number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from ...base.dtypes import float64
from ...base.scalars import check_fits, number_in
from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import scalar_of
from ..machine.host import lanes
from ..machine.scratch import scratch
from ..planning.layout import is_plain
from ..planning.registry import kernel_for
from ..rows.reduce import max_all, min_all
from .searching import search_positions

_CHUNK = 1 << 15  # elements of a chunk, at least
_TABLE = 4  # elements for each number in a chunk's table, at least
_MOST_CHUNKS = 16
_PLACES = 512  # elements whose intervals are found before they are counted
_INTEGERS = frozenset(("i8", "u8", "i16", "i32", "i64"))


def _chunks(builder, count, chunks, tables, bins, body):
    """``body(first, end, table, chunk)`` for each chunk, its table of ``bins`` numbers being zero."""
    with builder.parallel(chunks) as chunk:
        table = builder.offset(tables, chunk * bins)
        builder.clear(table, bins, 8)
        body(chunk * count // chunks, (chunk + 1) * count // chunks, table, chunk)


def _add(builder, table, place, what):
    place = builder.offset(table, place)
    builder.store(builder.load(place) + what, place)


def counted(scalar, weight):
    """``(x, tables, [weights,] count, bins, chunks)``: how often each number below ``bins`` occurs, or its weights' sum.

    ``weight`` is the weights' scalar type, None where there are none.
    """
    parameters = [("x", f"{scalar}*"), ("tables", "f64*" if weight else "i64*")]
    parameters += [("weights", f"{weight}*")] if weight else []
    builder = Builder("counted", parameters + [(size, "i64") for size in ("count", "bins", "chunks")])
    x, tables, *weights, count, bins, chunks = builder.parameters

    def body(first, end, table, chunk):
        with builder.loop(first, end) as loop:
            what = builder.convert(builder.load(weights[0], loop.index), "f64") if weight else 1
            _add(builder, table, builder.convert(builder.load(x, loop.index), "i64"), what)

    _chunks(builder, count, chunks, tables, bins, body)
    return Program("counted", [builder.function])


def in_intervals(scalar, width):
    """``(x, tables, places, count, bins, chunks, low, high)``: how many elements fall into each of ``bins - 1`` equal
    intervals from ``low`` to ``high``; the last number is that of all others. ``places`` is scratch memory."""
    parameters = [("x", f"{scalar}*"), ("tables", "i64*"), ("places", "i32*")]
    parameters += [(size, "i64") for size in ("count", "bins", "chunks")] + [("low", scalar), ("high", scalar)]
    builder = Builder("in_intervals", parameters)
    x, tables, all_places, count, bins, chunks, low, high = builder.parameters
    below, above, span = (builder.splat(value, width) for value in (low, high, high - low))
    intervals = builder.splat(builder.convert(bins - 1, scalar), width)
    last = builder.splat(builder.convert(bins - 2, "i32"), width)

    def body(first, end, table, chunk):
        places = builder.offset(all_places, chunk * _PLACES)
        with builder.loop(first, end, _PLACES) as block:
            own = builder.offset(x, block.index)
            size = builder.minimum(end - block.index, _PLACES)

            def find(at, mask, carry):
                values = builder.load(own, at, width, mask)
                inside = (values >= below) & (values <= above)
                place = builder.select(inside, (values - below) * intervals / span, builder.constant(0, values.type))
                place = builder.minimum(builder.convert(place, "i32"), last)
                builder.store(builder.select(inside, place, last + 1), places, at, mask)

            builder.for_lanes(0, size, width, find)
            with builder.loop(0, size) as loop:
                _add(builder, table, builder.convert(builder.load(places, loop.index), "i64"), 1)

    _chunks(builder, count, chunks, tables, bins, body)
    return Program("in_intervals", [builder.function])


def _tables(size, bins):
    """How many chunks share the elements."""
    return max(1, min(_MOST_CHUNKS, size // max(_CHUNK, _TABLE * bins)))


def _run(kernel, chunks):
    return kernel.alone if chunks == 1 else kernel.threaded


def _extremes(array):
    """The smallest and the largest element; NaN where there is one."""
    found = [min_all(array), max_all(array)]
    return [array.min(), array.max()] if any(each is NotImplemented for each in found) else found


def _counts(array, bins, weights=None):
    """How often each number from 0 to ``bins - 1`` occurs in an array that holds no others, or its weights' sum."""
    scalar, weight = scalar_of(array.dtype), None if weights is None else scalar_of(weights.dtype)
    kernel = compiled(("counted", scalar, weight), lambda: counted(scalar, weight))
    chunks = _tables(array.size, bins)
    tables = np.empty((chunks, bins), np.int64 if weight is None else np.float64)
    _run(kernel, chunks)(array, tables, *(() if weight is None else (weights,)), array.size, bins, chunks)
    return tables[0] if chunks == 1 else tables.sum(0)


@kernel_for("bincount")
def bincount(self, weights, minlength):
    if scalar_of(self.dtype) not in _INTEGERS or self.ndim != 1 or not is_plain(self) or not self.size:
        return NotImplemented
    if weights is not None and (
        weights.shape != self.shape
        or weights.dtype.char not in "fd"
        or not is_plain(weights)
        or not weights.dtype.isnative
    ):
        return NotImplemented
    if minlength < 0 or not self.dtype.isnative:
        return NotImplemented
    least, most = _extremes(self)
    if least < 0:
        return NotImplemented
    found = _counts(self, max(int(most) + 1, minlength), weights)
    return found if weights is None else found.astype(weights.dtype, copy=False)


@kernel_for("histc")
def histc(self, bins, min, max):
    scalar = scalar_of(self.dtype)
    if scalar not in ("f32", "f64") or not self.dtype.isnative or not is_plain(self) or not 0 < bins < 1 << 30:
        return NotImplemented
    low, high = (float(number_in(float64.numpy, bound)) for bound in (min, max))
    if low == high and self.size:
        low, high = map(float, _extremes(self))
    if low == high:
        low, high = low - 1, high + 1
    if not -math.inf < low < high < math.inf or not self.size:
        return NotImplemented
    for bound in (min, max):
        check_fits(self.dtype, bound)
    width = lanes(self.itemsize)
    kernel = compiled(("in_intervals", scalar, width), lambda: in_intervals(scalar, width))
    chunks = _tables(self.size, bins)
    tables = np.empty((chunks, bins + 1), np.int64)
    places = scratch("places of intervals", chunks * _PLACES, np.int32)
    _run(kernel, chunks)(self, tables, places, self.size, bins + 1, chunks, low, high)
    return tables.sum(0)[:-1].astype(self.dtype)


@kernel_for("histogram_counts")
def histogram_counts(self, edges, weight, density, name):
    """Of one dimension: positions among the edges are searched for, then counted.

    What equals the last edge belongs to the last interval: it is searched for among edges the last of which is larger.
    """
    if len(edges) != 1 or not is_plain(self) or not self.size or edges[0].dtype != self.dtype:
        return NotImplemented
    (edge,) = edges
    if not math.isfinite(edge[-1]) or (weight is not None and not (is_plain(weight) and weight.dtype.char in "fd")):
        return NotImplemented
    with np.errstate(all="ignore"):
        reached = edge.copy()
        reached[-1] = np.nextafter(edge[-1], edge.dtype.type(math.inf))
        places = search_positions(reached, self.reshape(-1), True, True)
        if places is NotImplemented:
            return NotImplemented
        found = _counts(places, edge.size + 1, None if weight is None else weight.reshape(-1))[1:-1]
        if density:
            found = found / found.sum() / np.diff(edge)
        return found.astype(self.dtype), edge.copy()
