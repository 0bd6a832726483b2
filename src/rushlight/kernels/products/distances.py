"""Distances between all pairs of rows, and their gradients, by kernels.

The second operand is transposed first, so that a vector holds one coordinate of many rows. The differences of some rows
with two vectors of others grow side by side; no array of them is made.
"""

from __future__ import annotations

import math

import numpy as np

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import scalar_of
from ..machine.host import lanes
from ..planning.layout import Layout, copies
from ..planning.plan import Launch, Plan, View
from ..planning.runner import plan_for
from ..rows.reduce_programs import chunked

_ROWS, _VECTORS = 4, 2  # of a tile
_POWERS = 4  # vectors: as many keep the multipliers busy
# Rows: to transpose so few, not the other operand, is worth more than full vectors (1 and 10,000: 100 us, not 240).
_FEW = 8
_STRETCH = 64  # coordinates whose differences are added up in a row: rounding errors of short sums are small
_COORDINATES = 8  # whose gradients grow side by side
_WORTHWHILE = 64  # coordinates of pairs: fewer are NumPy's
_NANOSECONDS = 0.077  # for one of them
_CHUNK = 1 << 15  # of them, about
_MOST_MULTIPLIED = 8  # integer powers up to this one are products


class Norm:
    """How differences become a distance.

    ``kind`` is 0, 1, math.inf, an integer power, or None for any: then the program has the parameters ``power`` and
    ``inverse``, the power and its inverse. With an infinite one a difference that is NaN counts for nothing (`cdist`), or
    makes the distance NaN, where ``keeps_nan`` (`pdist`).
    """

    def __init__(self, builder, kind, given=None, keeps_nan=False):
        self.builder, self.kind, self.given, self.keeps_nan = builder, kind, given, keeps_nan

    def _power(self, x, less=0):
        """``x`` to the power of the norm less ``less``."""
        if self.kind is None:
            power = self.given[0] - less if less else self.given[0]
            return self.builder.math("pow", x, self.builder.splat(power, x.type.lanes))
        found = None
        for _ in range(self.kind - less):
            found = x if found is None else found * x
        return self.builder.constant(1.0, x.type) if found is None else found

    def add(self, total, difference):
        """What the distance is made of, with one more difference in it."""
        builder, size = self.builder, abs(difference)
        if self.kind == 2:
            return builder.fma(difference, difference, total)
        if self.kind == 0:
            one = builder.select(size > 0.0, builder.constant(1.0, size.type), size)  # NaN is no number of them
            return total + one
        if self.kind == math.inf:
            larger = builder.maximum(size, total)  # the total where the difference is NaN
            return builder.select(size.differs(size), size, larger) if self.keeps_nan else larger
        return total + (size if self.kind == 1 else self._power(size))

    def merge(self, total, part):
        """What `add` made of some differences and of others."""
        return self.add(total, part) if self.kind == math.inf else total + part

    def distance(self, total):
        if self.kind == 2:
            return self.builder.unary("sqrt", total)
        return total

    @property
    def takes_roots(self):
        """Whether `root` remains to be taken of what `distance` gives: that is too long to stand in the code for each sum."""
        return self.kind not in (0, 1, 2, math.inf)

    def root(self, total):
        inverse = 1 / self.kind if self.kind else self.builder.splat(self.given[1], total.type.lanes)
        return self.builder.math("pow", total, inverse)

    def weight(self, grad, distance):
        """What does not depend on the coordinate in the gradient of a distance."""
        if self.kind in (1, math.inf):
            return grad
        scale = distance if self.kind == 2 else self._power(distance, 1)
        return self.builder.select(distance.equals(0), self.builder.constant(0.0, grad.type), grad / scale)

    def slope(self, difference, distance):
        """What does depend on it."""
        builder, size = self.builder, abs(difference)
        if self.kind == 2:
            return difference
        if self.kind is not None and 2 < self.kind < math.inf:
            return difference * self._power(size, 2)
        found = self.builder.constant(1.0, size.type)
        if self.kind is None:
            found = self._power(size, 1)
        elif self.kind == math.inf:
            found = found + (size - size)  # NaN of an infinite difference
            found = builder.select(size.equals(distance), found, builder.constant(0.0, size.type))
            found = builder.select(distance.differs(distance), distance, found)
        return builder.select(size > 0.0, builder.binary("copysign", found, difference), difference)


def _parameters(builder_name, scalar, arrays, sizes, kind):
    parameters = [(name, f"{scalar}*") for name in arrays] + [(size, "i64") for size in sizes]
    builder = Builder(builder_name, parameters + ([("power", scalar), ("inverse", scalar)] if kind is None else []))
    count = len(parameters)
    return builder, builder.parameters[:count], builder.parameters[count:]


def pairs(scalar, kind, is_triangle, width):
    """``(x, y, out, batches, rows, columns, length, chunk)``: the distances of the rows of x (rows, length) from the columns
    of y (length, columns).

    With ``is_triangle`` only those behind the diagonal, row after row.
    """
    sizes = ("batches", "rows", "columns", "length", "chunk")
    builder, given, powers = _parameters("distances", scalar, ("x", "y", "out"), sizes, kind)
    x, y, out, batches, rows, columns, length, chunk = given
    norm = Norm(builder, kind, powers, keeps_nan=is_triangle)
    zero = builder.constant(0.0, f"{scalar}x{width}")
    height = 1 if is_triangle or kind is None else _ROWS

    def tile(sources, others, targets, at, vectors, mask):
        zeros = [zero] * (len(sources) * vectors)
        with builder.loop(0, length, _STRETCH, zeros) as stretch:
            with builder.loop(stretch.index, builder.minimum(stretch.index + _STRETCH, length), 1, zeros) as loop:
                place = at + loop.index * columns
                loaded = [builder.load(others, place + v * width, width, mask) for v in range(vectors)]
                own = [builder.splat(builder.load(source, loop.index), width) for source in sources]
                differences = [each - other for each in own for other in loaded]
                loop.carry = [norm.add(total, difference) for total, difference in zip(loop.carry, differences)]
            stretch.carry = [norm.merge(total, part) for total, part in zip(stretch.carry, loop.results)]
        for k, total in enumerate(stretch.results):
            target = targets[k // vectors]
            builder.store(norm.distance(total), target, at + k % vectors * width, mask)

    def task(number):
        blocks = (rows + (height - 1)) // height
        batch, first = number // blocks, number % blocks * height
        # Rows beyond the last one are that one again.
        these = [builder.minimum(first + k, rows - 1) if k else first for k in range(height)]
        sources = [builder.offset(x, (batch * rows + row) * length) for row in these]
        others = builder.offset(y, batch * columns * length)
        if is_triangle:
            begin = first + 1
            before = first * columns - ((first * (first + 1)) >> 1) - begin
            targets = [builder.offset(out, ((batch * rows * (rows - 1)) >> 1) + before)]
        else:
            begin = builder.constant(0)
            targets = [builder.offset(out, (batch * rows + row) * columns) for row in these]
        vectors = _POWERS if kind is None else _VECTORS * (_ROWS // height)
        step = vectors * width
        whole = begin + (columns - begin) // step * step
        with builder.loop(begin, whole, step) as loop:
            tile(sources, others, targets, loop.index, vectors, None)
        with builder.loop(whole, columns, width) as loop:
            tile(sources, others, targets, loop.index, 1, builder.first_lanes(columns - loop.index, width))
        if norm.takes_roots:
            with builder.loop(0, builder.minimum(rows - first, height)) as row:
                take_roots(builder.offset(targets[0], row.index * columns), begin)

    def take_roots(target, begin):
        together = _POWERS * width
        with builder.loop(begin, columns, together) as loop:
            mask = builder.first_lanes(columns - loop.index, together)
            builder.store(norm.root(builder.load(target, loop.index, together, mask)), target, loop.index, mask)

    chunked(builder, batches * ((rows + (height - 1)) // height), chunk, task)
    return Program("distances", [builder.function])


def gradients(scalar, kind, count, width):
    """``(grad, distances, x, y, out, scratch, batches, rows, columns, length, chunk, area)``: the gradient with respect to
    y of what `pairs` computes, laid out as y is: (length, columns); ``count`` coordinates at a time, of which there are as
    many, at least.

    A vector holds a coordinate of several columns, and all rows are added up in it. Each thread has scratch memory of
    ``area`` for the weights of these columns, for an infinite power behind them the distances.
    """
    arrays = ("grad", "distances", "x", "y", "out", "scratch")
    sizes = ("batches", "rows", "columns", "length", "chunk", "area")
    builder, given, powers = _parameters("distance_gradients", scalar, arrays, sizes, kind)
    grad, distances, x, y, out, scratch, batches, rows, columns, length, chunk, area = given
    norm = Norm(builder, kind, powers)
    zero = builder.constant(0.0, f"{scalar}x{width}")
    blocks = (columns + (width - 1)) // width

    def task(number):
        batch, at = number // blocks, number % blocks * width
        mask = builder.first_lanes(builder.minimum(columns - at, width), width)
        matrix = batch * rows * columns + at
        flowing, lengths = (builder.offset(each, matrix) for each in (grad, distances))
        sources = builder.offset(x, batch * rows * length)
        others, targets = (builder.offset(each, batch * length * columns + at) for each in (y, out))
        weights = builder.offset(scratch, builder.worker() * area)
        with builder.loop(0, rows) as row:
            loaded = [builder.load(each, row.index * columns, width, mask) for each in (flowing, lengths)]
            builder.store(norm.weight(*loaded), weights, row.index * width)
            if kind == math.inf:
                builder.store(loaded[1], weights, (rows + row.index) * width)
        with builder.loop(0, length, count) as block:
            first = builder.minimum(block.index, length - count)
            own = [builder.load(others, (first + k) * columns, width, mask) for k in range(count)]
            with builder.loop(0, rows, 1, [zero] * count) as row:
                weight = builder.load(weights, row.index * width, width)
                distance = builder.load(weights, (rows + row.index) * width, width) if kind == math.inf else None
                source = builder.offset(sources, row.index * length + first)
                for k, each in enumerate(own):
                    slope = norm.slope(each - builder.splat(builder.load(source, k), width), distance)
                    row.carry[k] = builder.fma(weight, slope, row.carry[k])
            for k, total in enumerate(row.results):
                builder.store(total, targets, (first + k) * columns, mask)

    chunked(builder, batches * blocks, chunk, task)
    return Program("distance_gradients", [builder.function])


def symmetric(scalar, width):
    """``(packed, out, batches, count, chunk)``: the symmetric matrix of ``count`` rows from those of its upper triangle."""
    sizes = ("batches", "count", "chunk")
    builder, given, _ = _parameters("symmetric", scalar, ("packed", "out"), sizes, 1)
    packed, out, batches, count, chunk = given
    steps = builder.iota(f"i64x{width}")

    def begin(row):
        """Where column 0 of a row of the triangle would be."""
        return row * count - ((row * (row + 1)) >> 1) - row - 1

    def task(number):
        batch, row = number // count, number % count
        own = builder.offset(packed, (batch * count * (count - 1)) >> 1)
        target = builder.offset(out, number * count)

        def left(at, mask, carry):  # from the column of the triangle that this row is
            places = begin(steps + builder.splat(at, width)) + builder.splat(row, width)
            if mask is not None:
                places = builder.select(mask, places, builder.constant(0, places.type))
            builder.store(builder.gather(own, places, mask), target, at, mask)

        def right(at, mask, carry):
            builder.store(builder.load(own, begin(row) + at, width, mask), target, at, mask)

        builder.for_lanes(0, row, width, left)
        builder.store(builder.constant(0.0, scalar), target, row)
        builder.for_lanes(row + 1, count, width, right)

    chunked(builder, batches * count, chunk, task)
    return Program("symmetric", [builder.function])


def _kind(p):
    """The `Norm`'s kind for a power."""
    if p in (0, math.inf):
        return p
    return int(p) if p.is_integer() and p <= _MOST_MULTIPLIED else None


def _swapped(ndim):
    """The order of dimensions in which the last two have changed places."""
    return (*range(ndim - 2), ndim - 1, ndim - 2)


class _Operands:
    """The rows of two arrays, given as (name, Layout), as the programs take them: those of the second as the columns of
    "turned", a copy. ``sizes``: batches, rows, columns, length."""

    def __init__(self, first, second):
        (name, x), (other, y) = first, second
        self.dtype, self.batch = x.dtype, np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
        (rows, length), columns = x.shape[-2:], y.shape[-2]
        self.sizes = math.prod(self.batch), rows, columns, length
        self.work = math.prod(self.sizes)
        self.fits = x.scalar in ("f32", "f64") and x.dtype == y.dtype and x.shape[-1] == y.shape[-1] and self.work > 0
        self.arrays, self.order = (name, "turned"), _swapped(len(self.batch) + 2)
        broad, whole = (*self.batch, rows, length), (*self.batch, columns, length)
        self.views = {} if x.shape == broad else {name: View(name, broad)}
        self.views["turned"] = View(other, None if y.shape == whole else whole, self.order)
        self.copied = {"turned": None, **copies(**{name: x.broadcast(broad)})}

    def plan(self, build, p, option, arrays, shape, views=None, copied=None, **more):
        """The Plan of a program that makes ``out``, of such a shape in each batch; ``arrays``: those among its arguments."""
        kind, (_, rows, columns, length) = _kind(p), self.sizes
        width = lanes(self.dtype.itemsize)
        if build is pairs:
            each, area = (columns if option else _ROWS * columns) * length, ()
        else:
            each, area = width * rows * length, (2 * rows * width,)
        arguments = (*arrays, *self.sizes, max(1, _CHUNK // each), *area, *((p, 1 / p) if kind is None else ()))
        launch = Launch(build, (scalar_of(self.dtype), kind, option, width), arguments, self.work * _NANOSECONDS)
        return Plan(
            [launch],
            {"out": Layout((*self.batch, *shape), self.dtype)},
            thread_scratch=[("distances", elements, self.dtype) for elements in area],
            views={**self.views, **(views or {})},
            copied={**self.copied, **(copied or {})},
            pays=self.work >= _WORTHWHILE,
            **more,
        )


@plan_for("cdist_pairs")
def cdist_pairs(x1: Layout, x2: Layout, p, expanded):
    given = ("x1", x1), ("x2", x2)
    swaps = x1.shape[-2] <= _FEW < x2.shape[-2]
    operands = _Operands(*(reversed(given) if swaps else given))
    if not operands.fits:
        return None
    turned = {"out": operands.order} if swaps else {}
    return operands.plan(pairs, p, False, (*operands.arrays, "out"), operands.sizes[1:3], turned=turned)


@plan_for("pdist_pairs")
def pdist_pairs(self: Layout, p):
    operands = _Operands(("self", self), ("self", self))
    count = self.shape[-2]
    if not operands.fits:
        return None
    return operands.plan(pairs, p, True, (*operands.arrays, "out"), (count * (count - 1) // 2,))


@plan_for("distance_gradient")
def distance_gradient(grad: Layout, x1: Layout, x2: Layout, p, result: Layout):
    operands = _Operands(("x2", x2), ("x1", x1))
    (_, rows, columns, length), order = operands.sizes, operands.order
    if not operands.fits or p == 0 or not grad.dtype == result.dtype == x1.dtype:
        return None
    if not grad.shape == result.shape == (*operands.batch, columns, rows):
        return None
    most = _POWERS if _kind(p) is None else _COORDINATES
    count = most if length >= most else 4 if length >= 4 else length
    views = {name: View(name, order=order) for name in ("grad", "result")}
    copied = copies(grad=grad.turned(order), result=result.turned(order))
    arrays = "grad", "result", *operands.arrays, "out", "distances"
    return operands.plan(gradients, p, count, arrays, (length, columns), views, copied, turned={"out": order})


@plan_for("symmetric_matrix")
def symmetric_matrix(self: Layout, count):
    if self.scalar not in ("f32", "f64") or not self.is_plain or not self.size:
        return None
    out = Layout((*self.shape[:-1], count, count), self.dtype)
    arguments = "self", "out", out.size // count**2, count, max(1, _CHUNK // count)
    return Plan([Launch(symmetric, (self.scalar, lanes(8)), arguments, out.size * _NANOSECONDS)], {"out": out})
