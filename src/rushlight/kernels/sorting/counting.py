"""Counts by kernels: how often integers occur, how many elements fall into intervals, or what their weights come to.

Chunks of the elements count into tables of their own, which are added up at the end. How many there are follows from
the sizes alone, so that sums of weights are the same on any number of threads.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ...base.dtypes import float64
from ...base.scalars import check_fits, number_in
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import scalar_of
from ..machine.host import lanes
from ..planning.layout import Layout, Layouts, is_plain
from ..planning.plan import Condition, HostStep, Launch, Made, Plan, View, joined
from ..planning.registry import kernel_for
from ..planning.runner import kernel_of, plan_for
from ..rows.extremes import extremes
from ..rows.reduce import max_all, min_all
from .searching import search_positions

_CHUNK = 1 << 15  # elements of a chunk, at least
_TABLE = 4  # elements for each number in a chunk's table, at least
_MOST_CHUNKS = 16
_PLACES = 512  # elements whose intervals are found before they are counted
_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)
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


def _are_weights(weights):
    return weights is None or (weights.is_plain and weights.dtype in (np.dtype(np.float32), _FLOAT64))


def _summed(tables, found, first=0):
    """Add tables up, from a place in each on."""
    found[...] = tables[:, first : first + found.size].sum(0)


@functools.cache
def _counter(*form):
    return kernel_of(Launch(counted, form, (), 0))


@kernel_for("bincount")
def bincount(self, weights, minlength):
    scalar, weight = scalar_of(self.dtype), None if weights is None else scalar_of(weights.dtype)
    if scalar not in _INTEGERS or self.ndim != 1 or not is_plain(self) or not self.size or minlength < 0:
        return NotImplemented
    if weights is not None and (weight not in ("f32", "f64") or weights.shape != self.shape or not is_plain(weights)):
        return NotImplemented
    if not self.dtype.isnative or (weights is not None and not weights.dtype.isnative):
        return NotImplemented
    least, most = extremes(self)
    if least < 0:
        return NotImplemented
    bins = max(most + 1, minlength)
    chunks, kernel = _tables(self.size, bins), _counter(scalar, weight)
    tables = np.empty((chunks, bins), np.int64 if weight is None else np.float64)
    run = kernel.alone if chunks == 1 else kernel.threaded
    run(self, tables, *(() if weight is None else (weights,)), self.size, bins, chunks)
    found = tables[0] if chunks == 1 else tables.sum(0)
    return found if weights is None else found.astype(weights.dtype, copy=False)


def _bounds(array):
    """The smallest and the largest element, or what PyTorch puts around them if they are one; NotImplemented where they are not
    finite, which is refused."""
    found = [min_all(array), max_all(array)]
    low, high = map(float, [array.min(), array.max()] if any(each is NotImplemented for each in found) else found)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    return (low, high) if -math.inf < low < high < math.inf else NotImplemented


@plan_for("histc")
def histc(self: Layout, bins, min, max):
    if self.scalar not in ("f32", "f64") or not self.is_plain or not self.size or not 0 < bins < 1 << 30:
        return None
    low, high = (float(number_in(float64.numpy, bound)) for bound in (min, max))
    for bound in (min, max):
        check_fits(self.dtype, bound)
    made, views, bounds = {}, {}, (low, high)
    if low == high:
        made, bounds = {"bounds": Made(_bounds, ("self",))}, ("low", "high")
        views = {name: View("bounds", index=side) for side, name in enumerate(bounds)}
    elif not -math.inf < low < high < math.inf:
        return None
    chunks = _tables(self.size, bins)
    scratch = [("tables", (chunks, bins + 1), _INT64), ("interval_places", chunks * _PLACES, np.dtype(np.int32))]
    arguments = "self", "tables", "interval_places", self.size, bins + 1, chunks, *bounds
    launch = Launch(in_intervals, (self.scalar, lanes(self.itemsize)), arguments, 0 if chunks == 1 else np.inf)
    steps, found = [launch, HostStep(_summed, ("tables", "found"))], Layout((bins,), self.dtype)
    return Plan(steps, {"found": found}, scratch, made=made, views=views)


def _is_finite(edges):
    return math.isfinite(edges[0][-1])


def _reached(edges):
    """The edges, of which the last is a little larger: what equals it belongs to the last interval."""
    reached = edges[0].copy()
    reached[-1] = np.nextafter(reached[-1], reached.dtype.type(math.inf))
    return reached


def _densities(tables, edge, found):
    counts = tables[:, 1:-1].sum(0)
    with np.errstate(all="ignore"):
        found[...] = counts / counts.sum() / np.diff(edge)


@plan_for("histogram_counts")
def histogram_counts(self: Layout, edges: Layouts, weight: Layout | None, density, name):
    """Of one dimension: positions among the edges are searched for, then counted."""
    edge = edges[0]
    if len(edges) != 1 or not self.is_plain or not self.size or edge.dtype != self.dtype or not _are_weights(weight):
        return None
    flat, count = Layout((self.size,), self.dtype), edge.size
    search = search_positions.plan(edge.plain(), flat, True, True)
    if search is None:
        return None
    places = search.results["places"]
    chunks = _tables(flat.size, count + 1)
    tables = [("tables", (chunks, count + 1), _FLOAT64 if weight else _INT64)]
    arguments = "places", "tables", *(("weight",) if weight else ()), flat.size, count + 1, chunks
    form = places.scalar, weight and weight.scalar
    launch = Launch(counted, form, arguments, 0 if chunks == 1 else np.inf)
    step = HostStep(_densities, ("tables", "edge", "found")) if density else HostStep(_summed, ("tables", "found", 1))
    found = Plan([launch, step], {"found": Layout((count - 1,), self.dtype), "given": edge.plain()}, tables,
                 begun={"given": "edge"}, views={"edge": View("edges", index=0)}, made={"reached": Made(_reached, ("edges",))},
                 conditions=[Condition(_is_finite, ("edges",))])  # fmt: skip
    search = search._replace(results={}, scratch=[("places", places.size, places.dtype)], conditions=())
    return joined(search.named({"sorted_sequence": "reached"}), found)
