"""The programs that sample images at the points of a grid, and those of its gradients; `ops/grid.py` has their formulas.

Images are (samples, channels, height, width) or volumes, with a depth before the height; the grid (samples, points, 2 or 3)
with columns first, results (samples, channels, points); all contiguous. A vector holds neighbouring points.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from functools import reduce
from operator import mul
from typing import NamedTuple

from ..language.builder import Builder
from ..language.program import Program

NEAREST, CUBIC = "nearest", "bicubic"
TAPS = {NEAREST: 1, "bilinear": 2, CUBIC: 4}  # elements along a dimension that a place is sampled from
_SHARPNESS = -0.75  # of Keys' cubic kernel
_ROUNDING = frozenset(("add", "sub", "mul", "div"))


class Form(NamedTuple):
    """What a program is specialised in. ``half``: the half precision, if any, to which places and weights are rounded at every
    step."""

    scalar: str
    half: str | None
    lanes: int
    dimensions: int
    mode: str
    padding_mode: str
    align_corners: bool

    @property
    def elements(self):
        """How many elements a place is sampled from."""
        return TAPS[self.mode] ** self.dimensions


class _Builder(Builder):
    """A builder that can round the sums, products and quotients of float32 numbers to half precision."""

    half = None

    def binary(self, opcode, a, b):
        found = super().binary(opcode, a, b)
        return self.rounded(found) if opcode in _ROUNDING and found.type.scalar == "f32" else found

    def rounded(self, value):
        """A value, within `rounding` rounded."""
        return value if self.half is None else self.convert(self.convert(value, self.half), "f32")

    @contextmanager
    def rounding(self, half):
        """Round to ``half`` what is computed inside; not at all where that is None."""
        self.half = half
        yield
        self.half = None


class _Tap(NamedTuple):
    """An element along a dimension that places are sampled from: the first one's number (i32) and how far it is behind that,
    where it lies inside, its weight, and how fast that grows with the place (both None for the nearest element)."""

    first: object
    behind: int
    inside: object
    weight: object
    rise: object


class _Points:
    """Points of a grid over images of some ``lengths`` (i64 values)."""

    def __init__(self, builder, form, lengths):
        self.builder, self.form, self.whole_lengths = builder, form, lengths
        self.lengths = [builder.splat(builder.convert(n, form.scalar), form.lanes) for n in lengths]

    def loaded(self, grid, index, rest):
        """The points' coordinates from ``index`` on along each dimension, in the grid's numbers; ``rest``: so many points
        there are, None for all lanes."""
        builder, lanes, count = self.builder, self.form.lanes, self.form.dimensions
        found = [builder.load(grid, index * count + i * lanes, lanes, mask) for i, mask in enumerate(self._masks(rest))]
        return [self._chosen(found, range(c, count * lanes, count)) for c in reversed(range(count))]

    def store(self, coordinates, grid, index, rest):
        """The opposite of ``loaded``."""
        builder, lanes, count = self.builder, self.form.lanes, self.form.dimensions
        for i, mask in enumerate(self._masks(rest)):
            numbers = [k % count * lanes + k // count for k in range(i * lanes, (i + 1) * lanes)]
            builder.store(self._chosen(coordinates[::-1], numbers), grid, index * count + i * lanes, mask)

    def _masks(self, rest):
        lanes, count = self.form.lanes, self.form.dimensions
        return [
            None if rest is None else self.builder.first_lanes(rest * count - i * lanes, lanes) for i in range(count)
        ]

    def _chosen(self, vectors, numbers):
        """The lanes with these numbers, counted through all vectors."""
        lanes, found = self.form.lanes, vectors[0]
        for p in range(1, len(vectors)):
            kept = [k if p > 1 else n % lanes for k, n in enumerate(numbers)]
            found = self.builder.shuffle(
                found, vectors[p], [lanes + n % lanes if n // lanes == p else k for k, n in zip(kept, numbers)]
            )
        return found

    def place(self, x, length):
        """Coordinates in pixels of the grid's numbers along a dimension, and how fast they grow with those."""
        align = self.form.align_corners
        scale = (length - 1.0 if align else length) * 0.5
        x = (x + 1.0) * scale
        if not align:
            x = x - 0.5
        return (
            (x, scale) if self.form.padding_mode == "zeros" or self.form.mode == CUBIC else self.held(x, length, scale)
        )

    def held(self, x, length, scale):
        """Coordinates in pixels brought inside, and how fast they grow then."""
        builder, align, last, slope = self.builder, self.form.align_corners, length - 1.0, scale
        if self.form.padding_mode == "reflection":
            low, span = (0.0, last) if align else (-0.5, builder.rounded(length))
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

    def taps(self, x, length):
        """The `_Tap`s of the grid's numbers along a dimension."""
        with self.builder.rounding(self.form.half):
            found = self._weighted(x, length)
        return [self._tap(length, *each) for each in found]

    def _weighted(self, x, length):
        """(coordinate, how far behind that, weight, how fast this grows) of each element along a dimension."""
        builder, mode = self.builder, self.form.mode
        place, slope = self.place(x, length)
        if mode == NEAREST:
            return [(builder.unary("round", place), 0, None, None)]
        below = builder.unary("floor", place)
        beyond = place - below
        if mode == CUBIC:
            return [self._cubic(below, beyond, offset, length, slope) for offset in range(-1, 3)]
        return [(below, 0, 1.0 - beyond, -slope), (below, 1, beyond, slope)]

    def _tap(self, length, base, behind, weight, rise):
        builder = self.builder
        inside = (base >= float(-behind)) & (base < length - float(behind))
        # Within what integers hold, also where no element lies inside.
        whole = builder.convert(builder.minimum(builder.maximum(base, -1.0), length), "i32")
        return _Tap(whole, behind, inside, weight, rise)

    def _cubic(self, below, beyond, offset, length, slope):
        place = below + float(offset)
        if self.form.padding_mode != "zeros":
            place, _ = self.held(place, length, slope)
        # Keys' kernel of the distance, and its derivative.
        a, x = _SHARPNESS, abs(beyond - float(offset))
        if offset in (0, 1):
            weight, rise = ((a + 2) * x - (a + 3)) * x * x + 1.0, (3 * (a + 2) * x - 2 * (a + 3)) * x
        else:
            weight, rise = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a
        return place, 0, weight, (rise if offset < 1 else -rise) * slope

    def elements(self, coordinates, mask=None):
        """Of the grid's numbers along each dimension, the elements that places are sampled from: (number in the plane (i32),
        number (i64) behind that, where there is one, the taps along each dimension)."""
        builder = self.builder
        found = []
        for taps in itertools.product(*(self.taps(x, n) for x, n in zip(coordinates, self.lengths))):
            first, behind, inside = taps[0].first, builder.constant(taps[0].behind), taps[0].inside
            for tap, length in zip(taps[1:], self.whole_lengths[1:]):
                first = first * builder.splat(builder.convert(length, "i32"), self.form.lanes) + tap.first
                behind, inside = behind * length + tap.behind, inside & tap.inside
            found.append((first, behind, inside if mask is None else inside & mask, taps))
        return found

    def gathered(self, plane, elements):
        """The elements' values, 0 outside."""
        builder = self.builder
        return [builder.gather(builder.offset(plane, behind), first, inside) for first, behind, inside, _ in elements]

    def weights(self, elements):
        """The weight of each element; None of the nearest."""
        with self.builder.rounding(self.form.half):
            return [None if taps[0].weight is None else _product(tap.weight for tap in taps) for *_, taps in elements]

    def rises(self, elements, axis):
        """How fast the weight of each element grows with the grid's numbers along a dimension."""
        with self.builder.rounding(self.form.half):
            return [
                taps[axis].rise * _product(tap.weight for i, tap in enumerate(taps) if i != axis)
                for *_, taps in elements
            ]


def _product(factors):
    return reduce(mul, factors)


def _sizes(form, *names):
    return [(name, "i64") for name in ("samples", "channels", *_LENGTHS[-form.dimensions :], "points", *names)]


_LENGTHS = "depth", "height", "width"


def forward_program(form):
    """``(input, grid, found, samples, channels, *lengths, points, share)``: a chunk for ``share`` points."""
    kind = f"{form.scalar}*"
    builder = _Builder("grid_samples", [("input", kind), ("grid", kind), ("found", kind), *_sizes(form, "share")])
    input, grid, found, samples, channels, *lengths, points, share = builder.parameters
    sampled = _Points(builder, form, lengths)
    volume = _product(lengths)

    def vector(sample, numbers, index, mask, rest):
        elements = sampled.elements(sampled.loaded(numbers, index, rest), mask)
        weights = sampled.weights(elements)
        with builder.loop(0, channels) as channel:
            plane = sample * channels + channel.index
            values = sampled.gathered(builder.offset(input, plane * volume), elements)
            builder.store(_between(values, weights), found, plane * points + index, mask)

    _over_points(builder, form, grid, samples, points, share, vector)
    return Program("grid_samples", [builder.function])


def _over_points(builder, form, grid, samples, points, share, vector):
    """``vector(sample, grid of the sample, index, mask, rest)`` for all points, in chunks of ``share``."""
    pieces = (points + (share - 1)) // share
    with builder.parallel(samples * pieces) as chunk:
        sample, begin = chunk // pieces, chunk % pieces * share
        end = builder.minimum(begin + share, points)
        numbers = builder.offset(grid, sample * points * form.dimensions)
        builder.for_lanes(
            begin, end, form.lanes,
            lambda index, mask, _: vector(sample, numbers, index, mask, None if mask is None else end - index),
        )  # fmt: skip


def _between(values, weights):
    """The sum of the values by their weights."""
    if weights[0] is None:
        return values[0]
    total, *others = (value * weight for value, weight in zip(values, weights))
    for term in others:
        total = total + term
    return total


def grid_gradient_program(form):
    """``(grad, input, grid, found, samples, channels, *lengths, points, share)``, of no nearest elements: as
    `forward_program`."""
    kind = f"{form.scalar}*"
    arrays = [(name, kind) for name in ("grad", "input", "grid", "found")]
    builder = _Builder("grid_samples_grid_gradient", [*arrays, *_sizes(form, "share")])
    grad, input, grid, found, samples, channels, *lengths, points, share = builder.parameters
    sampled = _Points(builder, form, lengths)
    zero, volume = builder.constant(0, f"{form.scalar}x{form.lanes}"), _product(lengths)

    def vector(sample, numbers, index, mask, rest):
        elements = sampled.elements(sampled.loaded(numbers, index, rest), mask)
        slopes = [sampled.rises(elements, axis) for axis in range(form.dimensions)]
        with builder.loop(0, channels, 1, [zero] * form.dimensions) as channel:
            plane = sample * channels + channel.index
            values = sampled.gathered(builder.offset(input, plane * volume), elements)
            flow = builder.load(grad, plane * points + index, form.lanes, mask)
            channel.carry = [
                builder.fma(flow, _between(values, each), total) for each, total in zip(slopes, channel.carry)
            ]
        sampled.store(channel.results, builder.offset(found, sample * points * form.dimensions), index, rest)

    _over_points(builder, form, grid, samples, points, share, vector)
    return Program("grid_samples_grid_gradient", [builder.function])


def input_gradient_program(form):
    """``(grad, grid, found, parts, targets, samples, channels, *lengths, points, group)``: a chunk for ``group`` channels of
    a sample.

    What a vector of points adds to a plane is laid down in ``parts``, to which elements in ``targets``: they may meet
    there, so numbers are added one after the other, those outside as zeros.
    """
    kind, lanes = f"{form.scalar}*", form.lanes
    arrays = [(name, kind) for name in ("grad", "grid", "found", "parts")]
    builder = _Builder("grid_samples_input_gradient", [*arrays, ("targets", "i32*"), *_sizes(form, "group")])
    grad, grid, found, parts, targets, samples, channels, *lengths, points, group = builder.parameters
    sampled = _Points(builder, form, lengths)
    area, volume = form.elements * lanes, _product(lengths)
    groups = (channels + (group - 1)) // group
    with builder.parallel(samples * groups) as chunk:
        sample, low = chunk // groups, chunk % groups * group
        high = builder.minimum(low + group, channels)
        first_plane, end_plane = sample * channels + low, sample * channels + high
        numbers = builder.offset(grid, sample * points * form.dimensions)
        my_parts, my_targets = (builder.offset(own, builder.worker() * area) for own in (parts, targets))
        builder.clear(builder.offset(found, first_plane * volume), (end_plane - first_plane) * volume, lanes)

        def vector(index, mask, _):
            coordinates = sampled.loaded(numbers, index, None if mask is None else points - index)
            elements = sampled.elements(coordinates, mask)
            weights = sampled.weights(elements)
            for i, (first, behind, inside, _) in enumerate(elements):
                target = first + builder.splat(builder.convert(behind, "i32"), lanes)
                builder.store(builder.select(inside, target, 0), my_targets, i * lanes)
            with builder.loop(first_plane, end_plane) as each:
                flow = builder.load(builder.offset(grad, each.index * points), index, lanes, mask)
                for i, ((_, _, inside, _), weight) in enumerate(zip(elements, weights)):
                    part = flow if weight is None else flow * weight
                    builder.store(builder.select(inside, part, 0.0), my_parts, i * lanes)
                plane = builder.offset(found, each.index * volume)
                _add_one_by_one(builder, plane, my_parts, my_targets, len(elements), lanes)

        builder.for_lanes(0, points, lanes, vector)
    return Program("grid_samples_input_gradient", [builder.function])


def _add_one_by_one(builder, target, values, places, vectors, lanes):
    """Add so many vectors of values to the elements at ``places``."""
    with builder.loop(0, vectors * lanes, lanes) as vector:
        for lane in range(lanes):
            place = builder.convert(builder.load(places, vector.index + lane), "i64")
            total = builder.load(target, place) + builder.load(values, vector.index + lane)
            builder.store(total, target, place)
