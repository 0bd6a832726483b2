"""Pooling of images whose channels lie side by side (channels_last): a vector of channels, window by window."""

from __future__ import annotations

import math

import numpy as np

from ..language.builder import Builder
from ..language.program import Program
from ..planning.layout import deep, lanes_for
from ..planning.plan import Launch, Plan

_NANOSECONDS = 0.25  # for an element that is read or written
_SHARE = 1 << 14  # elements of a chunk, about
_SIZES = ("images", "channels", *(f"{kind}{axis}" for kind in ("length", "out") for axis in range(3)), "share")

# What becomes of the elements under a window.
LARGEST, PLACES, MEAN = "largest", "places", "mean"  # of a pooling: the largest, with its place too, their mean
SHARES, PICKED = "shares", "picked"  # of a gradient: sums of shares, of those whose place is here


def windows_program(scalar, lanes, mode):
    """``(source, found, places, divisor, tables, *sizes)``: found[n, d, h, w, c] of the elements of source[n, ..., c] under a
    window.

    ``tables`` has for each of the three dimensions where the windows begin, then where they end, all inside. A mean is the
    sum over ``divisor[d, h, w]``; SHARES divides by the divisor of each element's place instead. PLACES also writes the flat
    place of the largest in its plane; PICKED adds the elements whose number in ``places``, which lies as ``source``
    does, is the place of the result.
    """
    arrays = [("source", scalar), ("found", scalar), ("places", "i64"), ("divisor", scalar), ("tables", "i64")]
    builder = Builder("windows", [*((name, kind + "*") for name, kind in arrays), *((name, "i64") for name in _SIZES)])
    source, found, places, divisor, tables, images, channels, *sizes, share = builder.parameters
    lengths, outs = sizes[:3], sizes[3:]
    starts, start = [], builder.constant(0)
    for out in outs:
        starts.append(start)
        start = start + out * 2
    window = _Window(builder, scalar, lanes, mode, lengths)
    lines = images * outs[0] * outs[1]

    def bounds(axis, at):
        begin = builder.load(tables, starts[axis] + at)
        return begin, builder.load(tables, starts[axis] + outs[axis] + at)

    with builder.parallel((lines + share - 1) // share) as chunk:
        first = chunk * share
        with builder.loop(first, builder.minimum(first + share, lines)) as line:
            upper, row = line.index // outs[1], line.index % outs[1]
            image, depth = upper // outs[0], upper % outs[0]
            origin = image * (lengths[0] * lengths[1] * lengths[2])
            outer = bounds(0, depth), bounds(1, row)
            with builder.loop(0, outs[2]) as column:
                ranges = (*outer, bounds(2, column.index))
                here = (depth * outs[1] + row) * outs[2] + column.index  # in its plane
                target = (line.index * outs[2] + column.index) * channels

                def vector(at, mask, _, ranges=ranges, here=here, target=target):
                    values = window.emit(source, places, divisor, origin * channels + at, channels, ranges, here, mask)
                    builder.store(values[0], found, target + at, mask)
                    if mode == PLACES:
                        builder.store(builder.convert(values[1], "i64"), places, target + at, mask)

                builder.for_lanes(0, channels, lanes, vector)
    return Program("windows", [builder.function])


class _Window:
    """The code of one window."""

    def __init__(self, builder, scalar, lanes, mode, lengths):
        self.builder, self.lanes, self.mode, self.lengths = builder, lanes, mode, lengths
        self.type, self.whole = f"{scalar}x{lanes}", f"i32x{lanes}"

    def emit(self, source, places, divisor, origin, channels, ranges, here, mask):
        """What becomes of the elements in ``ranges`` from ``origin`` on: [value] or, with places, [value, place]."""
        builder, mode = self.builder, self.mode
        begins = [begin for begin, _ in ranges]
        carry = [builder.constant(-math.inf if mode in (LARGEST, PLACES) else 0.0, self.type)]
        if mode == PLACES:
            carry.append(self._spread(self._flat(*begins)))

        def tap(place, carry):
            at = origin + place * channels
            value = builder.load(source, at, self.lanes, mask)
            if mode in (LARGEST, PLACES):
                better = (value > carry[0]) | value.differs(value)
                carry[0] = builder.select(better, value, carry[0])
                if mode == PLACES:
                    carry[1] = builder.select(better, self._spread(place), carry[1])
                return carry
            if mode == SHARES:
                value = value / builder.splat(builder.load(divisor, place), self.lanes)
            elif mode == PICKED:
                from_here = self._narrow(builder.load(places, at, self.lanes, mask)).equals(self._spread(here))
                value = builder.select(from_here, value, builder.constant(0.0, self.type))
            return [carry[0] + value]

        (depth, depth_end), (row, row_end), (column, column_end) = ranges
        with builder.loop(depth, depth_end, 1, carry) as planes:
            with builder.loop(row, row_end, 1, planes.carry) as rows:
                with builder.loop(column, column_end, 1, rows.carry) as columns:
                    place = self._flat(planes.index, rows.index, columns.index)
                    columns.carry = tap(place, list(columns.carry))
                rows.carry = columns.results
            planes.carry = rows.results
        if mode == MEAN:
            return [planes.results[0] / builder.splat(builder.load(divisor, here), self.lanes)]
        return planes.results

    def _flat(self, depth, row, column):
        return (depth * self.lengths[1] + row) * self.lengths[2] + column

    def _spread(self, place):
        return self.builder.splat(self.builder.convert(place, "i32"), self.lanes)

    def _narrow(self, places):
        return self.builder.convert(places, "i32")


def _three(values, filler):
    return (*(filler,) * (3 - len(values)), *values)


def tables_of(lengths, out, kernel, stride, padding, of_gradient=False):
    """The tables of `windows_program` for a pooling, or for its gradient: there the windows that each place lies in."""
    found = []
    for n, m, k, s, p in zip(*(_three(v, f) for v, f in zip((lengths, out, kernel, stride, padding), (1, 1, 1, 1, 0)))):
        start, places = np.arange(m) * s - p, np.arange(n)
        begin, end = start.clip(0, n), (start + k).clip(0, n)
        if of_gradient:
            begin, end = np.searchsorted(end, places, "right"), np.searchsorted(begin, places, "right")
        found += [begin, end]
    return np.concatenate(found).astype(np.int64)


def takes(images, count):
    """Whether these are images of ``count`` dimensions, single or double precision, whose channels lie side by side, and
    there are any. One volume without samples has as many dimensions as images do, and is none of them."""
    floats = images.scalar in ("f32", "f64") and images.size > 0
    return floats and not images.is_plain and images.ndim == count + 2 and images.is_deep


def _launch(mode, source, lengths, tables, arguments):
    """The Launch of windows over images that give images of some lengths; ``arguments`` are its first four."""
    images, channels = source.shape[:2]
    given, wanted = _three(source.shape[2:], 1), _three(lengths, 1)
    most = max(source.size, images * channels * math.prod(lengths))
    share = max(1, _SHARE * images * wanted[0] * wanted[1] // most)
    sizes = images, channels, *given, *wanted, share
    form = source.scalar, lanes_for(source.scalar), mode
    return Launch(windows_program, form, (*arguments, tables, *sizes), most * _NANOSECONDS, f"windows_{mode}")


def plan_largest(x, with_places, kernel, stride, padding, out):
    """The Plan of the largest element of each window of images called "self", and with its place, flat in the plane."""
    mode, places = (PLACES, "places") if with_places else (LARGEST, None)
    launch = _launch(
        mode, x, out, tables_of(x.shape[2:], out, kernel, stride, padding), ("self", "found", places, None)
    )
    found = deep((*x.shape[:2], *out), x.dtype)
    return Plan([launch], {"found": found, "places": found.of(np.dtype(np.int64))} if with_places else {"found": found})


def plan_largest_gradient(grad, x, kernel, stride, padding, out):
    """The Plan of the gradient of `plan_largest`: of "grad" and "self"."""
    largest = plan_largest(x, True, kernel, stride, padding, out).named({"found": "largest"})
    tables = tables_of(x.shape[2:], out, kernel, stride, padding, of_gradient=True)
    share = _launch(PICKED, grad, x.shape[2:], tables, ("grad", "found", "places", None))
    return Plan(
        [*largest.launches, share],
        {"found": deep(x.shape, x.dtype)},
        [(name, layout.size, layout.dtype) for name, layout in largest.results.items()],
        copied={} if grad.is_deep else {"grad": deep(grad.shape, grad.dtype)},
    )


def plan_mean(x, divisor, kernel, stride, padding, out):
    """The Plan of the sum of each window of "self" over its divisor, which has three dimensions."""
    tables = tables_of(x.shape[2:], out, kernel, stride, padding)
    return Plan(
        [_launch(MEAN, x, out, tables, ("self", "found", None, divisor))],
        {"found": deep((*x.shape[:2], *out), x.dtype)},
    )


def plan_mean_gradient(grad, lengths, divisor, kernel, stride, padding, out):
    """The Plan of the gradient of `plan_mean` for images of some lengths: of "grad"."""
    tables = tables_of(lengths, out, kernel, stride, padding, of_gradient=True)
    launch = _launch(SHARES, grad, lengths, tables, ("grad", "found", None, divisor))
    return Plan([launch], {"found": deep((*grad.shape[:2], *lengths), grad.dtype)})
