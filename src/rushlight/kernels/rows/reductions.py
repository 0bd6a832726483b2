"""What can be reduced: sums, products, extrema, moments, logarithms of sums of exponentials.

Each reduction is written on a span (``spans.py``), row or column alike, in three steps: ``part`` reduces some elements
to a few numbers, ``combined`` merges such numbers of several parts, ``finish`` makes the results of them.
"""

from __future__ import annotations

import math

from ..language.value_types import vector
from .spans import add_each, fold

_LIMITS = {f"{kind}{bits}": (-(2 ** (bits - 1)) if kind == "i" else 0, 2 ** (bits - (kind == "i")) - 1)
           for kind in "iu" for bits in (8, 16, 32, 64)}  # fmt: skip


def lowest(scalar):
    """The number that no other of a scalar type is below."""
    return -math.inf if scalar in ("f32", "f64") else _LIMITS[scalar][0]


def highest(scalar):
    return math.inf if scalar in ("f32", "f64") else _LIMITS[scalar][1]


class Reduction:
    """A reduction whose parts merge lane by lane: subclasses give ``starts``, ``taken`` and ``merge``.

    ``scalar`` is the type of computation, ``states`` the scalar types of what a part is reduced to. ``name`` and
    ``scalar`` determine the reduction.
    """

    folded = staticmethod(fold)
    divides = False  # whether finish is given a divisor
    has_position = False  # whether the last state is a position, counted from the span's start

    def __init__(self, name, scalar):
        self.name, self.scalar, self.states = name, scalar, (scalar,)

    def part(self, span):
        """The states of the span's elements."""
        builder = span.builder
        starts = self.starts(builder, span.lanes, "i32")

        def take(pointers, index, mask, carry):
            values = self.taken(span, span.load(pointers[0], index, mask), index)
            values = [span.only(mask, v, start) for v, start in zip(values, starts)]
            return self.merge(carry, values)

        return span.merged(starts, take, self.merge, self.folded)

    def placed(self, builder, states, first):
        """The states of a part that begins at ``first``, with a position counted from the whole's start."""
        if not self.has_position:
            return states
        return [*states[:-1], builder.convert(states[-1], "i64") + first]

    def combined(self, span):
        """The states of parts that lie in the span's arrays, one array for each state."""
        starts = self.starts(span.builder, span.lanes, "i64")

        def take(pointers, index, mask, carry):
            values = [load_state(span, p, s, index, mask) for p, s in zip(pointers, self.states)]
            return self.merge(carry, [span.only(mask, v, start) for v, start in zip(values, starts)])

        return span.merged(starts, take, self.merge, self.folded)

    def starts(self, builder, lanes, position):
        return [builder.constant(self.identity, vector(self.scalar, lanes))]

    def finish(self, builder, states, divisor):
        return states


def load_state(span, pointer, scalar, index, mask):
    """States of parts, without conversion to the type of computation: positions stay integers."""
    return span.__class__.load(_typed(span, scalar), pointer, index, mask)


def _typed(span, scalar):
    """The span with another type of computation."""
    other = object.__new__(span.__class__)
    other.__dict__.update(span.__dict__, scalar=scalar)
    return other


def squared(x):
    return x * x


class Sum(Reduction):
    """``sum``, ``nansum`` (NaN counts as 0), ``mean``, ``norm1`` (sum of sizes), ``norm2`` (root of the sum of squares)."""

    identity = 0

    def __init__(self, name, scalar):
        super().__init__(name, scalar)
        self.divides = name == "mean"

    def taken(self, span, x, index):
        if self.name == "nansum":
            return [span.builder.select(x.differs(x), span.builder.constant(0, x.type), x)]
        return [abs(x) if self.name == "norm1" else x * x if self.name == "norm2" else x]

    merge = staticmethod(add_each)

    def finish(self, builder, states, divisor):
        (total,) = states
        if self.name == "mean":
            return [total / builder.value(divisor, total.type)]
        return [builder.unary("sqrt", total)] if self.name == "norm2" else [total]


class Product(Reduction):
    """The product of all elements."""

    identity = 1

    def taken(self, span, x, index):
        return [x]

    def merge(self, a, b):
        return [a[0] * b[0]]


class Extreme(Reduction):
    """The largest or smallest element (``max``, ``min``, and ``norm_max``, the largest size); NaN wins."""

    def __init__(self, name, scalar):
        super().__init__(name, scalar)
        self.largest = name != "min"
        self.identity = 0 if name == "norm_max" else lowest(scalar) if self.largest else highest(scalar)

    def taken(self, span, x, index):
        return [abs(x) if self.name == "norm_max" else x]

    def merge(self, a, b):
        (kept,), (x,) = a, b
        return [kept.builder.select(self.keeps(kept, x), kept, x)]

    def keeps(self, kept, x):
        holds = kept >= x if self.largest else kept <= x
        return holds | kept.differs(kept) if kept.type.is_float else holds


class Truth(Reduction):
    """``any`` and ``all``: whether some or every element is not zero, as u8."""

    def __init__(self, name, scalar):
        super().__init__(name, scalar)
        self.states, self.identity = ("u8",), name == "all"

    def starts(self, builder, lanes, position):
        return [builder.constant(int(self.identity), vector("u8", lanes))]

    def taken(self, span, x, index):
        truth = x if x.type.scalar == "bool" else x.differs(0)
        return [span.builder.convert(truth, "u8")]

    def merge(self, a, b):
        return [a[0] | b[0] if self.name == "any" else a[0] & b[0]]

    def finish(self, builder, states, divisor):
        return [states[0].differs(0)]


class Position(Extreme):
    """Where the first largest or smallest element is, after its value (``max_at``, ``min_at``); the first NaN wins."""

    has_position = True

    def __init__(self, name, scalar):
        super().__init__(name[:3], scalar)
        self.name, self.states = name, (scalar, "i64")

    def starts(self, builder, lanes, position):
        return [*super().starts(builder, lanes, position), builder.constant(0, vector(position, lanes))]

    def taken(self, span, x, index):
        return [x, span.positions(index)]

    def merge(self, a, b):
        (value, place), (x, where) = a, b
        beats = x > value if self.largest else x < value
        if x.type.is_float:
            beats = beats | (x.differs(x) & value.equals(value))
        return [value.builder.select(beats, x, value), value.builder.select(beats, where, place)]

    def folded(self, builder, values, merge):
        """The extreme of all lanes, then the first of the positions where it is."""
        value, place = values
        (top,) = fold(builder, [value], super().merge)
        everywhere = builder.splat(top, value.type.lanes)
        hit = value.equals(everywhere)
        if value.type.is_float:
            hit = hit | (value.differs(value) & everywhere.differs(everywhere))
        return [top, builder.reduce(builder.select(hit, place, _LIMITS[place.type.scalar][1]), "min")]


class Moments(Reduction):
    """Count, mean, and sum of squared deviations from it (``moments``), by two passes over each part.

    Parts are merged by the mean of their means and the deviations of those (Chan, Golub, LeVeque, 1979).
    """

    divides = True

    def __init__(self, name, scalar):
        super().__init__(name, scalar)
        self.states = (scalar, scalar, scalar)

    def part(self, span):
        builder = span.builder
        count = builder.convert(span.count(), self.scalar)
        total = span.sums(lambda pointers, index, mask: [span.load(pointers[0], index, mask)])[0]
        mean = total / count
        middle = span.spread(mean)

        def square(pointers, index, mask):
            x = span.load(pointers[0], index, mask)
            return [squared(span.only(mask, x, middle) - middle)]

        return [builder.value(count, mean.type), mean, span.sums(square)[0]]

    def combined(self, span):
        def weighted(pointers, index, mask):
            count = span.load(pointers[0], index, mask)
            return [count, count * span.load(pointers[1], index, mask)]

        counts, total = span.sums(weighted, 2)
        mean = total / counts
        middle = span.spread(mean)

        def deviation(pointers, index, mask):
            away = span.only(mask, span.load(pointers[1], index, mask), middle) - middle  # 0 times infinity is no sum
            return [span.load(pointers[0], index, mask) * (away * away) + span.load(pointers[2], index, mask)]

        return [counts, mean, span.sums(deviation)[0]]

    def finish(self, builder, states, divisor):
        _, mean, squares = states
        variance = squares / builder.value(divisor, mean.type)
        return [builder.unary("sqrt", variance) if self.name.startswith("std") else variance, mean]


class CorrectedMoments(Moments):
    """Moments of numbers that may lie far from 0, with what rounding left of the mean between mean and squares.

    The second pass adds up the deviations from the rounded mean, too: what they come to corrects the mean and the squares, or
    these were off by the square of half a unit in the mean's last place, which is large where the mean is.
    """

    def __init__(self, name, scalar):
        super().__init__(name, scalar)
        self.states = (scalar,) * 4

    def part(self, span):
        builder = span.builder
        count = builder.convert(span.count(), self.scalar)
        total = span.sums(lambda pointers, index, mask: [span.load(pointers[0], index, mask)])[0]
        mean = total / count
        middle = span.spread(mean)

        def deviation(pointers, index, mask):
            x = span.load(pointers[0], index, mask)
            away = span.only(mask, x, middle) - middle
            return [away, squared(away)]

        return self._corrected(builder, builder.value(count, mean.type), mean, *span.sums(deviation, 2))

    def combined(self, span):
        def weighted(pointers, index, mask):
            count = span.load(pointers[0], index, mask)
            return [count, count * span.load(pointers[1], index, mask)]

        counts, total = span.sums(weighted, 2)
        mean = total / counts
        middle = span.spread(mean)

        def deviation(pointers, index, mask):
            count, own, rest, squares = (span.load(pointer, index, mask) for pointer in pointers)
            away = (own - middle) + rest
            moved = count * away
            return [moved, squares + moved * away]

        return self._corrected(span.builder, counts, mean, *span.sums(deviation, 2))

    def _corrected(self, builder, count, mean, moved, squares):
        """The states, from the sums of deviations from a number near the mean and of their squares.

        The mean stays as it is where it is smaller than the deviations: their rounding says nothing about it then.
        """
        shift = moved / count
        squares = builder.maximum(
            builder.value(0, squares.type), squares - moved * shift
        )  # in this order NaN stays NaN
        shift = builder.select(squared(mean) * count > squares, shift, builder.constant(0, shift.type))
        nearest = mean + shift
        return [count, nearest, shift - (nearest - mean), squares]


class LogSumExp(Reduction):
    """The logarithm of the sum of exponentials, by way of the largest element."""

    def __init__(self, name, scalar):
        super().__init__(name, scalar)
        self.states = (scalar, scalar)
        self.extreme = Extreme("max", scalar)

    def part(self, span):
        builder = span.builder
        top = self.extreme.part(span)[0]
        base = span.spread(finite(builder, top))

        def term(pointers, index, mask):
            power = builder.math("exp", span.load(pointers[0], index, mask) - base)
            return [span.only(mask, power, builder.constant(0, power.type))]

        return [top, span.sums(term)[0]]

    def combined(self, span):
        builder = span.builder
        top = self.extreme.part(span)[0]
        base = span.spread(finite(builder, top))

        def term(pointers, index, mask):
            other = span.load(pointers[0], index, mask)
            distance = builder.select(abs(other) < math.inf, other - base, builder.constant(0, other.type))
            scaled = span.load(pointers[1], index, mask) * builder.math("exp", distance)
            return [span.only(mask, scaled, builder.constant(0, scaled.type))]

        return [top, span.sums(term)[0]]

    def finish(self, builder, states, divisor):
        top, total = states
        return [builder.math("log", total) + finite(builder, top)]


def finite(builder, x):
    """``x``, or zero where it is infinite or NaN."""
    return builder.select(abs(x) < math.inf, x, builder.constant(0, x.type))


_CLASSES = {
    **dict.fromkeys(("sum", "nansum", "mean", "norm1", "norm2"), Sum),
    "prod": Product,
    **dict.fromkeys(("max", "min", "norm_max"), Extreme),
    **dict.fromkeys(("max_at", "min_at"), Position),
    **dict.fromkeys(("any", "all"), Truth),
    **dict.fromkeys(("var", "std"), Moments),
    "logsumexp": LogSumExp,
}


def reduction(name, scalar):
    """The reduction called ``name``, computed in ``scalar``."""
    return _CLASSES[name](name, scalar)
