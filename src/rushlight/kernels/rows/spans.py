"""Spans: the one loop over elements that are reduced, shared by reductions, softmax, norms and losses.

A span is a set of elements of one or more arrays of the same layout. ``RowSpan`` holds elements next to each other in
memory, spread over the lanes of a vector, which are folded into one number at the end. ``ColumnSpan`` holds elements
far apart: each lane belongs to a reduction of its own, and nothing is folded. What is reduced (``reductions.py``, the
statistics of norms, ...) is written once for both.

Rounding errors of sums stay as small as those of pairwise summation: as many partial sums as lanes, blocks of few
additions, and a tree of halves in the end.
"""

from __future__ import annotations

import math

from ..language.value_types import I64, vector

_STEPS = 16  # vectors that are added to one another before a new partial sum begins


def halves(builder, values):
    """The lower and the upper half of each vector."""
    lanes = values[0].type.lanes
    parts = (range(lanes // 2), range(lanes // 2, lanes))
    return [[builder.shuffle(v, v, part) for v in values] for part in parts]


def fold(builder, values, merge):
    """All lanes of some vectors merged, by a tree of halves: scalars."""
    while values[0].type.lanes > 2:
        values = merge(*halves(builder, values))
    if values[0].type.lanes == 2:
        values = merge(*([builder.extract(v, lane) for v in values] for lane in (0, 1)))
    return values


def add_each(a, b):
    """The merge of partial sums."""
    return [x + y for x, y in zip(a, b)]


class RowSpan:
    """Elements ``pointer[0 .. end)`` of each pointer; with ``segments`` = (count, stride) that many such stretches.

    ``scalar`` is the type of computation; ``lanes`` may be several vectors' worth: then their additions overlap. A
    span that is ``single`` has no more elements in a stretch than lanes: those of an only stretch are loaded once and
    stay in registers. ``place`` is
    the row that the span belongs to, ``first`` how far into the stretch it begins; while elements are at hand,
    ``segment`` is the number of their stretch.
    """

    def __init__(self, builder, pointers, end, lanes, scalar, segments=None, single=False, place=0, first=0, segment=0):
        self.builder, self.pointers, self.end, self.lanes = builder, list(pointers), end, lanes
        self.scalar, self.segments, self.single = scalar, segments, single
        self.place, self.first, self.segment = place, first, segment
        self._first_segment = segment
        self._loaded = {}
        self._single_mask = builder.first_lanes(end, lanes) if single else None

    @property
    def type(self):
        """The type of values in computation."""
        return vector(self.scalar, self.lanes)

    def count(self):
        """How many elements there are (i64)."""
        return self.end if self.segments is None else self.end * self.segments[0]

    def load(self, pointer, index, mask):
        """Elements from ``index`` on, in the type of computation."""
        if not self.single or self.segments is not None:
            return self.builder.convert(self.builder.load(pointer, index, self.lanes, mask), self.scalar)
        key = id(pointer)
        if key not in self._loaded:
            loaded = self.builder.load(pointer, index, self.lanes, mask)
            self._loaded[key] = pointer, self.builder.convert(loaded, self.scalar)
        return self._loaded[key][1]

    def store(self, value, pointer, index, mask):
        """Elements from ``index`` on, in the array's type."""
        self.builder.store(self.builder.convert(value, pointer.type.element.scalar), pointer, index, mask)

    def own(self, pointer):
        """The element that belongs to the span's row, in the type of computation."""
        return self.builder.convert(self.builder.load(pointer, self.place), self.scalar)

    def store_own(self, value, pointer):
        self.builder.store(self.builder.convert(value, pointer.type.element.scalar), pointer, self.place)

    def positions(self, index, scalar="i32"):
        """The positions of the lanes at ``index``, as integers."""
        first = self.builder.convert(self.builder.value(index, I64), scalar)
        return self.builder.splat(first, self.lanes) + self.builder.iota(vector(scalar, self.lanes))

    def only(self, mask, value, otherwise):
        """``value`` where the mask holds, else ``otherwise``; all of it where there is no mask."""
        return value if mask is None else self.builder.select(mask, value, otherwise)

    def lanewise(self, starts, take, merge):
        """Values merged lane by lane. ``take(pointers, index, mask, carry)`` returns the next values of the carry."""
        if self.segments is None:
            return self._stretch(self.pointers, starts, take, merge)
        builder = self.builder
        count, stride = self.segments
        with builder.loop(0, count, 1, starts) as loop:
            self.segment = self._first_segment + loop.index
            moved = [builder.offset(p, loop.index * stride) for p in self.pointers]
            loop.carry = merge(loop.carry, self._stretch(moved, starts, take, merge))
        return loop.results

    def _stretch(self, pointers, starts, take, merge):
        if self.single:
            return take(pointers, 0, self._single_mask, starts)
        builder, lanes = self.builder, self.lanes
        whole = self.end // lanes * lanes
        block = _STEPS * lanes
        with builder.loop(0, whole, block, starts) as outer:
            stop = builder.minimum(outer.index + block, whole)
            with builder.loop(outer.index, stop, lanes, starts) as inner:
                inner.carry = take(pointers, inner.index, None, inner.carry)
            outer.carry = merge(outer.carry, inner.results)
        mask = builder.first_lanes(self.end - whole, lanes)
        return builder.choose(
            whole < self.end, lambda: take(pointers, whole, mask, outer.results), lambda: outer.results
        )

    def each(self, body):
        """``body(pointers, index, mask)`` for all elements: stores, no carry."""
        builder = self.builder

        def stretch(pointers):
            if self.single:
                body(pointers, 0, self._single_mask)
                return
            builder.for_lanes(0, self.end, self.lanes, lambda index, mask, _: body(pointers, index, mask))

        if self.segments is None:
            stretch(self.pointers)
            return
        count, stride = self.segments
        with builder.loop(0, count) as loop:
            self.segment = self._first_segment + loop.index
            stretch([builder.offset(p, loop.index * stride) for p in self.pointers])

    def merged(self, starts, take, merge, folded=fold):
        """As ``lanewise``, with the lanes merged too: scalars. Of two values that ``merge`` gets, the first stands
        for earlier elements, except when lanes are merged: ``folded`` may do that in another way."""
        return folded(self.builder, self.lanewise(starts, take, merge), merge)

    def sums(self, terms, count=1):
        """The sums of the ``count`` values that ``terms(pointers, index, mask)`` lists, over all elements.

        What is listed for a masked-off lane must be zero.
        """
        zeros = [self.builder.constant(0, self.type)] * count
        return self.merged(zeros, lambda p, i, m, carry: add_each(carry, terms(p, i, m)), add_each)

    def largest(self):
        """The largest element of the first array; NaN may be passed over."""
        start = self.builder.constant(-math.inf, self.type)

        def take(pointers, index, mask, carry):
            x = self.load(pointers[0], index, mask)
            return [self.builder.maximum(self.only(mask, x, start), carry[0])]

        return self.merged([start], take, lambda a, b: [self.builder.maximum(a[0], b[0])])[0]

    def spread(self, value):
        """A reduced value as one for each lane."""
        return self.builder.splat(value, self.lanes)

    def math(self, name, value):
        """A function of a reduced value; computed on a vector of it, for which processors have better instructions."""
        return self.builder.extract(self.builder.math(name, self.builder.splat(value, 4)), 0)


class ColumnSpan(RowSpan):
    """Elements ``pointer[r * stride + lane]`` for r in 0 .. rows; ``mask`` says which lanes there are (None: all).

    ``place`` is the number of the first lane's result, ``first`` its column.
    """

    def __init__(self, builder, pointers, rows, stride, lanes, scalar, mask, place=0, first=0):
        super().__init__(builder, pointers, rows, lanes, scalar, place=place, first=first)
        self.stride, self.mask = stride, mask

    def load(self, pointer, index, mask):
        found = self.builder.load(pointer, index * self.stride, self.lanes, self.mask)
        return self.builder.convert(found, self.scalar)

    def store(self, value, pointer, index, mask):
        value = self.builder.convert(value, pointer.type.element.scalar)
        self.builder.store(value, pointer, index * self.stride, self.mask)

    def own(self, pointer):
        return self.builder.convert(self.builder.load(pointer, self.place, self.lanes, self.mask), self.scalar)

    def store_own(self, value, pointer):
        value = self.builder.convert(value, pointer.type.element.scalar)
        self.builder.store(value, pointer, self.place, self.mask)

    def positions(self, index, scalar="i32"):
        return self.builder.splat(self.builder.convert(index, scalar), self.lanes)

    def _stretch(self, pointers, starts, take, merge):
        builder = self.builder
        with builder.loop(0, self.end, _STEPS, starts) as outer:
            stop = builder.minimum(outer.index + _STEPS, self.end)
            with builder.loop(outer.index, stop, 1, starts) as inner:
                inner.carry = take(pointers, inner.index, None, inner.carry)
            outer.carry = merge(outer.carry, inner.results)
        return outer.results

    def each(self, body):
        with self.builder.loop(0, self.end) as loop:
            body(self.pointers, loop.index, None)

    def merged(self, starts, take, merge, folded=fold):
        return self.lanewise(starts, take, merge)

    def spread(self, value):
        return value

    def math(self, name, value):
        return self.builder.math(name, value)
