"""The programs that sample images at the points of a grid, and those of its gradients; `ops/grid.py` has their formulas.

Images are (samples, channels, height, width), the grid (samples, points, 2) with columns first, results (samples, channels,
points); all contiguous. A vector holds neighbouring points.
"""

from __future__ import annotations

from typing import NamedTuple

from .builder import Builder
from .program import Program

NEAREST = "nearest"
CORNERS = 4


class Form(NamedTuple):
    """What a program is specialised in."""

    scalar: str
    lanes: int
    mode: str
    padding_mode: str
    align_corners: bool


class _Points:
    """Points of a grid over images of ``height`` and ``width`` (i64 values)."""

    def __init__(self, builder, form, height, width):
        self.builder, self.form, self.width = builder, form, width
        self.lengths = [builder.splat(builder.convert(n, form.scalar), form.lanes) for n in (height, width)]

    def loaded(self, grid, index, rest):
        """(rows, columns) of the points from ``index`` on, in the grid's numbers; ``rest``: so many there are, None for
        all lanes."""
        builder, lanes = self.builder, self.form.lanes
        pairs = [builder.load(grid, index * 2 + i * lanes, lanes, mask) for i, mask in enumerate(self._halves(rest))]
        columns, rows = (builder.shuffle(*pairs, range(side, 2 * lanes, 2)) for side in (0, 1))
        return rows, columns

    def store(self, rows, columns, grid, index, rest):
        """The opposite of ``loaded``."""
        builder, lanes = self.builder, self.form.lanes
        for i, mask in enumerate(self._halves(rest)):
            picked = [lane + side * lanes for lane in range(i * lanes // 2, (i + 1) * lanes // 2) for side in (0, 1)]
            builder.store(builder.shuffle(columns, rows, picked), grid, index * 2 + i * lanes, mask)

    def _halves(self, rest):
        lanes = self.form.lanes
        return [None if rest is None else self.builder.first_lanes(rest * 2 - i * lanes, lanes) for i in range(2)]

    def place(self, x, length):
        """Coordinates in pixels of the grid's numbers along a dimension, and how fast they grow with those."""
        builder, align = self.builder, self.form.align_corners
        last = length - 1.0
        scale = (last if align else length) * 0.5
        x = (x + 1.0) * scale
        if not align:
            x = x - 0.5
        if self.form.padding_mode == "zeros":
            return x, scale
        slope = scale
        if self.form.padding_mode == "reflection":
            low, span = (0.0, last) if align else (-0.5, length)
            x = x - low
            slope, x = builder.math("copysign", scale, x), abs(x)
            turns = builder.unary("floor", x / span)
            rest, half = x - turns * span, turns * 0.5
            is_odd = builder.unary("floor", half).differs(half)
            slope = builder.select(is_odd, -slope, slope)
            x = builder.select(is_odd, span - rest, rest) + low
        inside = (x > 0.0) & (x < last)
        # NaN becomes 0: of two operands, the second.
        return builder.minimum(builder.maximum(x, 0.0), last), builder.select(inside, slope, 0.0)

    def corners(self, rows, columns, mask=None):
        """Of places in pixels: ``(first, corners, (down, right))``.

        The elements of a corner (row, column, inside) lie at ``first + row * width + column`` (i32), where ``inside`` and
        ``mask`` hold; ``down`` and ``right`` are how far places lie from the first corner, None for the nearest elements.
        """
        builder = self.builder
        if self.form.mode == NEAREST:
            sides, beyond = (0,), None
            below = [builder.unary("round", p) for p in (rows, columns)]
        else:
            sides = (0, 1)
            below = [builder.unary("floor", p) for p in (rows, columns)]
            beyond = [p - b for p, b in zip((rows, columns), below)]
        whole, inside = [], []
        for base, length in zip(below, self.lengths):
            inside.append([(base >= float(-side)) & (base < length - float(side)) for side in sides])
            # Within what integers hold, also where no corner lies inside.
            held = builder.minimum(builder.maximum(base, -1.0), length)
            whole.append(builder.convert(held, "i32"))
        first = whole[0] * builder.convert(self.width, "i32") + whole[1]
        corners = []
        for row in sides:
            for column in sides:
                holds = inside[0][row] & inside[1][column]
                corners.append((row, column, holds if mask is None else holds & mask))
        return first, corners, beyond

    def gathered(self, plane, first, corners):
        """The elements at all corners, 0 outside."""
        builder = self.builder
        return [
            builder.gather(builder.offset(plane, row * self.width + column), first, inside)
            for row, column, inside in corners
        ]


def _sizes(*names):
    return [(name, "i64") for name in names]


def forward_program(form):
    """``(input, grid, found, samples, channels, height, width, points, share)``: a chunk for ``share`` points."""
    kind = f"{form.scalar}*"
    sizes = _sizes("samples", "channels", "height", "width", "points", "share")
    builder = Builder("grid_samples", [("input", kind), ("grid", kind), ("found", kind), *sizes])
    input, grid, found, samples, channels, height, width, points, share = builder.parameters
    sampled = _Points(builder, form, height, width)

    def vector(sample, numbers, index, mask, rest):
        places = [sampled.place(x, n)[0] for x, n in zip(sampled.loaded(numbers, index, rest), sampled.lengths)]
        first, corners, beyond = sampled.corners(*places, mask)
        with builder.loop(0, channels) as channel:
            plane = sample * channels + channel.index
            values = sampled.gathered(builder.offset(input, plane * (height * width)), first, corners)
            builder.store(_between(values, beyond), found, plane * points + index, mask)

    _over_points(builder, form, grid, samples, points, share, vector)
    return Program("grid_samples", [builder.function])


def _over_points(builder, form, grid, samples, points, share, vector):
    """``vector(sample, grid of the sample, index, mask, rest)`` for all points, in chunks of ``share``."""
    pieces = (points + (share - 1)) // share
    with builder.parallel(samples * pieces) as chunk:
        sample, begin = chunk // pieces, chunk % pieces * share
        end = builder.minimum(begin + share, points)
        numbers = builder.offset(grid, sample * points * 2)
        builder.for_lanes(
            begin, end, form.lanes,
            lambda index, mask, _: vector(sample, numbers, index, mask, None if mask is None else end - index),
        )  # fmt: skip


def _between(values, beyond):
    """Of the values at corners, the one at a place so far beyond the first of them."""
    if beyond is None:
        return values[0]
    total, *others = (value * weight for value, weight in zip(values, _weights(beyond)))
    for term in others:
        total = total + term
    return total


def _weights(beyond):
    """The weights of the corners."""
    down, right = beyond
    up, left = 1.0 - down, 1.0 - right
    return [up * left, up * right, down * left, down * right]


def grid_gradient_program(form):
    """``(grad, input, grid, found, samples, channels, height, width, points, share)`` of lines: as `forward_program`."""
    kind = f"{form.scalar}*"
    sizes = _sizes("samples", "channels", "height", "width", "points", "share")
    arrays = [(name, kind) for name in ("grad", "input", "grid", "found")]
    builder = Builder("grid_samples_grid_gradient", [*arrays, *sizes])
    grad, input, grid, found, samples, channels, height, width, points, share = builder.parameters
    sampled = _Points(builder, form, height, width)
    zero = builder.constant(0, f"{form.scalar}x{form.lanes}")

    def vector(sample, numbers, index, mask, rest):
        both = [sampled.place(x, n) for x, n in zip(sampled.loaded(numbers, index, rest), sampled.lengths)]
        first, corners, (down, right) = sampled.corners(*(place for place, _ in both), mask)
        with builder.loop(0, channels, 1, [zero, zero]) as channel:
            plane = sample * channels + channel.index
            values = sampled.gathered(builder.offset(input, plane * (height * width)), first, corners)
            north_west, north_east, south_west, south_east = values
            flow = builder.load(grad, plane * points + index, form.lanes, mask)
            by_row = (south_west - north_west) * (1.0 - right) + (south_east - north_east) * right
            by_column = (north_east - north_west) * (1.0 - down) + (south_east - south_west) * down
            channel.carry = [builder.fma(flow, by, total) for by, total in zip((by_row, by_column), channel.carry)]
        slopes = [total * slope for total, (_, slope) in zip(channel.results, both)]
        sampled.store(*slopes, builder.offset(found, sample * points * 2), index, rest)

    _over_points(builder, form, grid, samples, points, share, vector)
    return Program("grid_samples_grid_gradient", [builder.function])


def input_gradient_program(form):
    """``(grad, grid, found, parts, targets, samples, channels, height, width, points, group)``: a chunk for ``group``
    channels of a sample.

    What a vector of points adds to a plane is laid down in ``parts``, to which elements in ``targets``: they may meet
    there, so numbers are added one after the other, those outside as zeros.
    """
    kind, lanes = f"{form.scalar}*", form.lanes
    arrays = [(name, kind) for name in ("grad", "grid", "found", "parts")]
    sizes = _sizes("samples", "channels", "height", "width", "points", "group")
    builder = Builder("grid_samples_input_gradient", [*arrays, ("targets", "i32*"), *sizes])
    grad, grid, found, parts, targets, samples, channels, height, width, points, group = builder.parameters
    sampled = _Points(builder, form, height, width)
    area, volume = CORNERS * lanes, height * width
    groups = (channels + (group - 1)) // group
    with builder.parallel(samples * groups) as chunk:
        sample, low = chunk // groups, chunk % groups * group
        high = builder.minimum(low + group, channels)
        first_plane, end_plane = sample * channels + low, sample * channels + high
        numbers = builder.offset(grid, sample * points * 2)
        my_parts, my_targets = (builder.offset(own, builder.worker() * area) for own in (parts, targets))
        builder.clear(builder.offset(found, first_plane * volume), (end_plane - first_plane) * volume, lanes)

        def vector(index, mask, _):
            pair = sampled.loaded(numbers, index, None if mask is None else points - index)
            places = [sampled.place(x, n)[0] for x, n in zip(pair, sampled.lengths)]
            first, corners, beyond = sampled.corners(*places, mask)
            for i, (row, column, inside) in enumerate(corners):
                further = row * width + column
                target = first + builder.convert(further, "i32") if row or column else first
                builder.store(builder.select(inside, target, 0), my_targets, i * lanes)
            weights = None if beyond is None else _weights(beyond)
            with builder.loop(first_plane, end_plane) as each:
                flow = builder.load(builder.offset(grad, each.index * points), index, lanes, mask)
                for i, (_, _, inside) in enumerate(corners):
                    part = flow if weights is None else flow * weights[i]
                    builder.store(builder.select(inside, part, 0.0), my_parts, i * lanes)
                plane = builder.offset(found, each.index * volume)
                _add_one_by_one(builder, plane, my_parts, my_targets, len(corners), lanes)

        builder.for_lanes(0, points, lanes, vector)
    return Program("grid_samples_input_gradient", [builder.function])


def _add_one_by_one(builder, target, values, places, vectors, lanes):
    """Add so many vectors of values to the elements at ``places``."""
    with builder.loop(0, vectors * lanes, lanes) as vector:
        for lane in range(lanes):
            place = builder.convert(builder.load(places, vector.index + lane), "i64")
            total = builder.load(target, place) + builder.load(values, vector.index + lane)
            builder.store(total, target, place)
