"""Padding by kernels: every row of the result is written once, from the row of the tensor that its place names; gradients."""

from __future__ import annotations

import math

import numpy as np

from ...base.arrays import is_channels_last
from ...base.scalars import fitted
from ...ops import padding as padding_ops
from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import lanes
from ..planning.layout import Layout, copies
from ..planning.plan import Launch, Made, Passed, Plan, View
from ..planning.runner import plan_for
from .indexing import ADDED, MOVED, NANOSECONDS

_SHARE = 1 << 14  # elements of a chunk
_PADDED = 3  # dimensions, at most
_NARROW = 24  # columns of a result below which NumPy's way, to fill all and then to copy, takes less time for constants
_WIDE = 8  # columns of a constant border that are written as vectors, not one by one

# Lengths, all in elements: ``outer`` tensors of (planes, rows, width) become such of (out_planes, out_rows, out_width). The
# ``count`` columns from ``first`` on are those from ``skip`` on of the source. A plane's rows are handed out in ``pieces``,
# of which ``share`` are a chunk.
_SIZES = (
    "outer",
    "planes",
    "rows",
    "width",
    "out_planes",
    "out_rows",
    "out_width",
    "first",
    "skip",
    "count",
    "pieces",
    "share",
)


def pad_rows(scalar, lanes, constant):
    """``(source, out, value, plane_places, row_places, column_places, *sizes)``: each element of ``out`` from its place.

    Places are i32, one for each plane, row and column of ``out``; with ``constant`` one below 0 means ``value``, as do all
    columns around the ``count``.
    """
    arrays = [("source", scalar), ("out", scalar), ("value", scalar), *_PLACES]
    builder = Builder("entry", [*((name, kind + "*") for name, kind in arrays), *((name, "i64") for name in _SIZES)])
    source, out, value, plane_places, row_places, column_places, *sizes = builder.parameters
    outer, planes, rows, width, out_planes, out_rows, out_width, first, skip, count, pieces, share = sizes

    def filled(target, begin, end, fill):
        wide = end - begin > _WIDE
        with builder.loop(builder.select(wide, end, begin), end) as column:
            builder.store(fill, target, column.index)
        begin, fill = builder.select(wide, begin, end), builder.splat(fill, lanes)
        builder.for_lanes(begin, end, lanes, lambda at, mask, _: builder.store(fill, target, at, mask))

    def border(target, begin, first, end):
        with builder.loop(first, end) as column:  # one by one: vectors would be gathered, which takes longer
            place = builder.convert(builder.load(column_places, column.index), "i64")
            builder.store(builder.load(begin, place), target, column.index)

    def copied(target, begin, fill):
        inside, goal = builder.offset(begin, skip), builder.offset(target, first)
        builder.for_lanes(
            0, count, lanes, lambda at, mask, _: builder.store(builder.load(inside, at, lanes, mask), goal, at, mask)
        )
        for start, end in ((0, first), (first + count, out_width)):
            if constant:
                filled(target, start, end, fill)
            else:
                border(target, begin, start, end)

    def piece(image, low, high):
        plane = builder.convert(builder.load(plane_places, image % out_planes), "i64")
        origin = builder.offset(source, (image // out_planes * planes + plane) * (rows * width))
        goal = builder.offset(out, image * (out_rows * out_width))
        fill = builder.load(value) if constant else None
        with builder.loop(low, high) as row:
            line = builder.convert(builder.load(row_places, row.index), "i64")
            target, begin = builder.offset(goal, row.index * out_width), builder.offset(origin, line * width)
            if constant:
                inside = (plane >= 0) & (line >= 0)
                with builder.when(inside):
                    copied(target, begin, fill)
                with builder.when(~inside):
                    filled(target, 0, out_width, fill)
            else:
                copied(target, begin, fill)

    in_pieces(builder, outer * out_planes, out_rows, pieces, share, piece)
    return Program("pad_rows", [builder.function])


def in_pieces(builder, images, rows, pieces, share, body):
    """Hand out images, each in so many ``pieces`` of its rows, ``share`` pieces a chunk: ``body(image, low, high)``."""
    total = images * pieces
    with builder.parallel((total + share - 1) // share) as chunk:
        with builder.loop(chunk * share, builder.minimum((chunk + 1) * share, total)) as each:
            image, number = each.index // pieces, each.index % pieces
            body(image, number * rows // pieces, (number + 1) * rows // pieces)


_PLACES = [(f"{name}_places", "i32") for name in ("plane", "row", "column")]


def sum_padded_rows(scalar, lanes):
    """``(grad, out, plane_places, row_places, column_places, plane_starts, row_starts, *sizes)``: the gradient of `pad_rows`.

    A row of ``out``, of the source's shape, gets the sum of the rows of ``grad`` that were copied from it. Which planes of
    ``grad`` came from plane p stands in ``plane_places`` from plane_starts[p] to plane_starts[p + 1]; of rows likewise.
    """
    arrays = [("grad", scalar), ("out", scalar), *_PLACES, ("plane_starts", "i32"), ("row_starts", "i32")]
    builder = Builder("entry", [*((name, kind + "*") for name, kind in arrays), *((name, "i64") for name in _SIZES)])
    grad, out, plane_places, row_places, column_places, plane_starts, row_starts, *sizes = builder.parameters
    outer, planes, rows, width, out_planes, out_rows, out_width, first, skip, count, pieces, share = sizes
    zero = builder.constant(0, out.type.element.with_lanes(lanes))
    zero = zero if lanes > 1 else builder.constant(0, out.type.element)

    def each_of(starts, places, number):
        low = builder.convert(builder.load(starts, number), "i64")
        high = builder.convert(builder.load(starts, number + 1), "i64")
        return builder.loop(low, high), lambda at: builder.convert(builder.load(places, at.index), "i64")

    def added(target, row):
        inside, goal = builder.offset(row, first), builder.offset(target, skip)

        def sums(at, mask, _):
            total = builder.load(goal, at, lanes, mask) + builder.load(inside, at, lanes, mask)
            builder.store(total, goal, at, mask)

        builder.for_lanes(0, count, lanes, sums)
        with builder.loop(0, 2) as side:
            is_left = side.index.equals(0)
            start, end = builder.select(is_left, 0, first + count), builder.select(is_left, first, out_width)
            with builder.loop(start, end) as column:
                place = builder.convert(builder.load(column_places, column.index), "i64")
                builder.store(builder.load(target, place) + builder.load(row, column.index), target, place)

    def piece(image, low, high):
        goal = builder.offset(out, image * (rows * width))
        plane_loop, plane_of = each_of(plane_starts, plane_places, image % planes)
        from_images = image // planes * out_planes
        with builder.loop(low, high) as row:
            target = builder.offset(goal, row.index * width)
            builder.for_lanes(0, width, lanes, lambda at, mask, _: builder.store(zero, target, at, mask))
        with plane_loop as plane, builder.loop(low, high) as row:
            target = builder.offset(goal, row.index * width)
            line_loop, line_of = each_of(row_starts, row_places, row.index)
            with line_loop as line:
                place = (from_images + plane_of(plane)) * out_rows + line_of(line)
                added(target, builder.offset(grad, place * out_width))

    in_pieces(builder, outer * planes, rows, pieces, share, piece)
    return Program("sum_padded_rows", [builder.function])


# ---------------------------------------------------------------- plans


class Extents:
    """The extents of a padding of ``shape`` by ``sides``, and the places that its planes, rows and columns copy."""

    def __init__(self, shape, sides, mode):
        padded = [axis for axis, side in enumerate(sides) if side != (0, 0)]
        start = max(0, min(padded[0], len(shape) - 2) if padded else len(shape) - 2)
        self.fits = len(shape) - start <= _PADDED and 0 not in shape
        if not self.fits:
            return
        outer = math.prod(shape[:start])
        lengths = [*(1,) * (_PADDED + start - len(shape)), *shape[start:]]
        ends = [*((0, 0),) * (_PADDED + start - len(shape)), *sides[start:]]
        places = [padding_ops.places_of(n, *side, mode) for n, side in zip(lengths, ends)]
        self.places = [place.astype(np.int32) for place in places]
        self.out_shape = tuple([n + before + after for n, (before, after) in zip(shape, sides)])
        before, after = ends[-1]
        first, skip = max(before, 0), max(-before, 0)
        count = lengths[-1] - skip - max(-after, 0)
        self.lengths, self.out_lengths = lengths, [len(place) for place in places]
        self.fits = 0 not in self.out_lengths and count > 0
        self.sizes = (outer, *lengths, *self.out_lengths, first, skip, count)
        # The reverse: which planes and rows copy plane or row 0, 1, 2, ...
        self.sources = [np.argsort(place, kind="stable").astype(np.int32) for place in self.places[:2]]
        self.starts = [
            np.append(0, np.cumsum(np.bincount(place, minlength=n))).astype(np.int32)
            for place, n in zip(self.places[:2], lengths)
            if mode != "constant"
        ]


def _pieces(rows, width):
    """In how many pieces the rows of a plane are handed out, and how many of them are a chunk."""
    pieces = min(rows, math.ceil(rows * width / _SHARE))
    return pieces, max(1, _SHARE * pieces // (rows * width))


def _padded(x, sides, mode, value=None):
    """The Plan of padding an array; channels last where it lies so, but for circles, which PyTorch writes into rows."""
    if mode != "circular" and not x.is_plain and is_channels_last(x):
        last, back = (0, *range(2, x.ndim), 1), (0, x.ndim - 1, *range(1, x.ndim - 1))
        plan = _rows_padded("rows", x.turned(last), (sides[0], *sides[2:], sides[1]), mode, value)
        out = plan and {"out": plan.results["out"].turned(back)}
        return plan and plan._replace(results=out, views={"rows": View("self", order=last)})
    return _rows_padded("self", x, sides, mode, value)


def _rows_padded(name, x, sides, mode, value):
    extents, constant = Extents(x.shape, sides, mode), mode == "constant"
    if not extents.fits or x.itemsize not in MOVED:
        return None
    out = Layout(extents.out_shape, x.dtype)
    arguments = name, "out", value, *extents.places, *extents.sizes, *_pieces(*extents.out_lengths[1:])
    launch = Launch(pad_rows, (MOVED[x.itemsize], lanes(x.itemsize), constant), arguments, out.size * NANOSECONDS)
    pays = not constant or extents.out_lengths[-1] >= _NARROW
    return Plan([launch], {"out": out}, copied=copies(**{name: x}), pays=pays)


@plan_for("constant_pad_nd")
def constant_pad_nd(self: Layout, pad, value: Passed):
    padding_ops.check_constant(self.shape, pad)
    plan = _padded(self, padding_ops.sides_of(pad, self.ndim), "constant", "filler")
    return plan and plan._replace(made={"filler": Made(fitted, (self.dtype, value))})


@plan_for("pad_by_places")
def pad_by_places(self: Layout, pad, mode):
    return _padded(self, padding_ops.sides_of(pad, self.ndim), mode)


@plan_for("pad_in_circles")
def pad_in_circles(self: Layout, pad):
    return _padded(self, padding_ops.sides_of(pad, self.ndim), "circular")


@plan_for("pad_by_places_gradient")
def pad_by_places_gradient(self: Layout, shape, pad, mode):
    extents, scalar = Extents(shape, padding_ops.sides_of(pad, self.ndim), mode), ADDED.get(self.dtype)
    if not extents.fits or scalar is None:
        return None
    places = *extents.sources, extents.places[2], *extents.starts
    arguments = "self", "out", *places, *extents.sizes, *_pieces(*extents.lengths[1:])
    launch = Launch(sum_padded_rows, (scalar, lanes(self.itemsize)), arguments, self.size * NANOSECONDS)
    return Plan([launch], {"out": Layout(tuple(shape), self.dtype)}, copied=copies(self=self))
