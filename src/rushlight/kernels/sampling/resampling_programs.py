"""The programs that resample images along rows and columns; `ops/resampling.py` tells what taps are.

Of each image, or piece of its rows, either the columns are resampled first, source row by source row into scratch
memory, and then the rows of these (where images grow), or the rows first (where they shrink): the way of less work.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import vector
from ..places.padding import in_pieces
from ..products.matmul_packing import turning
from ..windows.staging import Numbers

DEEP, TURNED = "deep", "turned"
_BLOCK = 4  # vectors that are summed up at once
NUMBERS = ("images", "height", "out_height", "width", "out_width", "inner", "pieces", "share", "area", "row_shift")
NUMBERS += ("column_shift",)
ARRAYS = ("row_starts", "row_places", "column_starts", "column_places")


class Form(NamedTuple):
    """What a program is specialised in.

    Attributes:
        stored, computed: scalars in memory and in computation. lanes: of a vector of the latter.
        weighted: whether outputs are sums; else they are copies of one element.
        rows: whether rows are resampled. first: whether columns are resampled before.
        columns: how columns are resampled: None (they are not), DEEP (``inner`` elements side by side move together),
            TURNED (so do those of a vector's number of rows, transposed), or the number of taps, which are gathered.
        ragged: whether outputs differ in how many taps they have; then places below 0 are none.
        direct: where rows and DEEP columns are resampled at once, how many taps there are of both.
    """

    stored: str
    computed: str
    lanes: int
    weighted: bool
    rows: bool
    columns: object
    ragged: bool
    direct: tuple | None
    first: bool


class _Sums:
    """What both directions share: how terms are added up, loaded and stored."""

    def __init__(self, builder, form, shift, extent):
        self.builder, self.form, self.shift, self.extent = builder, form, shift, extent
        self.type = vector(form.computed, form.lanes)

    def start(self):
        """What sums begin with: of whole numbers half of what they are divided by."""
        if self.form.computed != "i32":
            return self.builder.constant(0, self.type)
        one = self.builder.constant(1, "i32")
        half = one << (self.builder.convert(self.shift, "i32") - 1)
        return self.builder.splat(half, self.form.lanes)

    def added(self, total, weight, value):
        """A total (None: nothing yet) with one term more; without weights it is the term."""
        if weight is None:
            return value
        weight = self.builder.value(weight, self.type)
        if total is None:
            return weight * value
        return total + weight * value if self.form.computed == "i32" else self.builder.fma(weight, value, total)

    def load(self, pointer, index, mask=None):
        found = self.builder.load(pointer, index, self.form.lanes, mask)
        return self.builder.convert(found, self.form.computed)

    def store(self, value, pointer, index, mask=None):
        builder = self.builder
        if self.form.computed == "i32":
            value = value >> builder.splat(builder.convert(self.shift, "i32"), self.form.lanes)
            value = builder.minimum(builder.maximum(value, 0), 255)
        self.put(value, pointer, index, mask)

    def put(self, value, pointer, index, mask=None):
        self.builder.store(self.builder.convert(value, pointer.type.element.scalar), pointer, index, mask)

    def copied(self, source, target, count):
        """Elements in the type of computation."""
        lanes = self.form.lanes

        def some(index, vectors, mask=None):
            self.put_all([self.load(source, index + i * lanes, mask) for i in range(vectors)], target, index, mask)

        self.in_blocks(count, some)

    def combined(self, source, target, count, taps, first, pitch, whole=False):
        """``count`` sums side by side of rows ``pitch`` apart: ``taps`` are (starts, places, weights, output). ``whole``: so
        many that they are whole vectors."""
        builder, lanes = self.builder, self.form.lanes
        starts, places, weights, output = taps
        begin, end = builder.load(starts, output), builder.load(starts, output + 1)
        if not self.form.weighted:
            self.copied(builder.offset(source, (builder.load(places, begin) - first) * pitch), target, count)
            return

        def sums(index, vectors, mask=None):
            with builder.loop(begin, end, 1, [self.start()] * vectors) as tap:
                row = builder.offset(source, (builder.load(places, tap.index) - first) * pitch + index)
                tap.carry = self.more(tap.carry, builder.load(weights, tap.index), row, mask)
            for i, total in enumerate(tap.results):
                self.store(total, target, index + i * lanes, mask)

        if whole:
            with builder.loop(0, count, lanes) as vector:
                sums(vector.index, 1)
        else:
            self.in_blocks(count, sums)

    def crossed(self, source, target, row_taps, column_taps, output, pitch):
        """A row of outputs, each of ``inner`` sums side by side over rows, ``pitch`` apart, and columns."""
        builder, (row_count, column_count), (out_width, inner) = self.builder, self.form.direct, self.extent

        def taps(tables, output, count, apart):
            starts, places, weights = tables
            begin = builder.load(starts, output)
            spots = [builder.load(places, begin + i) * apart for i in range(count)]
            return spots, [builder.load(weights, begin + i) for i in range(count)] if self.form.weighted else None

        lines, line_weights = taps(row_taps, output, row_count, pitch)
        with builder.loop(0, out_width) as column:
            spots, weights = taps(column_taps, column.index, column_count, inner)
            goal = builder.offset(target, column.index * inner)

            def sums(index, vectors, mask=None):
                totals = None
                for (i, line), (j, spot) in itertools.product(enumerate(lines), enumerate(spots)):
                    place = builder.offset(source, line + spot + index)
                    weight = line_weights[i] * weights[j] if self.form.weighted else None
                    totals = self.more(totals or [None] * vectors, weight, place, mask)
                self.put_all(totals, goal, index, mask)

            self.in_blocks(inner, sums)

    def more(self, totals, weight, pointer, mask):
        """The totals of vectors side by side after one more tap."""
        values = [self.load(pointer, i * self.form.lanes, mask) for i in range(len(totals))]
        return [self.added(total, weight, value) for total, value in zip(totals, values)]

    def put_all(self, values, target, index, mask=None):
        for i, value in enumerate(values):
            self.put(value, target, index + i * self.form.lanes, mask)

    def in_blocks(self, count, body):
        """``body(index, vectors, mask)`` for several vectors at once, then one by one."""
        builder, lanes = self.builder, self.form.lanes
        whole = count // (_BLOCK * lanes) * (_BLOCK * lanes)
        with builder.loop(0, whole, _BLOCK * lanes) as block:
            body(block.index, _BLOCK)
        builder.for_lanes(whole, count, lanes, lambda index, mask, _: body(index, 1, mask))

    def gathered(self, source, target, count, taps):
        """``count`` outputs, each with its own places."""
        builder, lanes, form = self.builder, self.form.lanes, self.form
        places, weights = taps

        def term(index, number):
            at = number * count + index
            where = builder.load(places, at, lanes)
            given = where >= 0 if form.ragged else None
            return at, builder.gather(source, where, given)

        def block(index, mask, _):
            if not form.weighted:
                self.put(term(index, 0)[1], target, index, mask)
            else:
                total = self.start() if form.computed == "i32" else None
                for number in range(form.columns):
                    at, value = term(index, number)
                    total = self.added(total, builder.load(weights, at, lanes), value)
                self.store(total, target, index, mask)

        builder.for_lanes(0, count, lanes, block)


class _Images:
    """The code that resamples one image, or a piece of its rows."""

    def __init__(self, builder, form):
        self.builder, self.form = builder, form
        self.turn_in, self.turn_out = _turns(form)
        self.source, self.found, self.scratch, row_weights, column_weights, numbers, *tables = builder.parameters
        self.row_taps, self.column_taps = (*tables[:2], row_weights), (*tables[2:], column_weights)
        n = self.numbers = Numbers(builder, numbers, NUMBERS)
        self.width, self.out_width = n["width"] * n["inner"], n["out_width"] * n["inner"]
        extent = n["out_width"], n["inner"]
        self.by_rows, self.by_columns = (_Sums(builder, form, n[f"{name}_shift"], extent) for name in ("row", "column"))
        self.staged = form.columns not in (None, DEEP, TURNED) and form.stored != form.computed
        self.each = form.lanes if form.columns == TURNED else 1  # rows whose columns are resampled at once

    def deep(self, row, target, inner):
        """Columns of ``inner`` elements side by side."""
        with self.builder.loop(0, self.numbers["out_width"]) as output:
            goal = self.builder.offset(target, output.index * inner)
            taps = *self.column_taps, output.index
            self.by_columns.combined(row, goal, inner, taps, 0, inner, self.form.columns == TURNED)

    def columns(self, row, target, buffer, count):
        """The columns of ``count`` rows."""
        builder, lanes = self.builder, self.form.lanes
        if self.form.columns == DEEP:
            self.deep(row, target, self.numbers["inner"])
        elif self.form.columns == TURNED:
            turned = builder.offset(buffer, self.width * lanes)
            builder.call(self.turn_in, row, buffer, self.width, lanes, self.width, count)
            self.deep(buffer, turned, self.numbers["inner"] * lanes)
            with builder.loop(0, self.out_width, lanes) as block:
                sums, goal = builder.offset(turned, block.index * lanes), builder.offset(target, block.index)
                left = builder.minimum(self.out_width - block.index, lanes)
                builder.call(self.turn_out, sums, goal, lanes, self.out_width, count, left)
        else:
            if self.staged and row.type.element.scalar != self.form.computed:
                self.by_columns.copied(row, buffer, self.width)
                row = buffer
            self.by_columns.gathered(row, target, self.out_width, self.column_taps[1:])

    def rows(self, image, target, output, first, pitch):
        """One row of outputs."""
        self.by_rows.combined(image, target, pitch, (*self.row_taps, output), first, pitch)

    def columns_first(self, image, goal, low, high, buffer, kept):
        """Rows ``low`` to ``high``, of source rows whose columns have been resampled into ``kept``."""
        builder, out_width = self.builder, self.out_width
        starts, places, _ = self.row_taps
        begin, end = builder.load(starts, low), builder.load(starts, high)
        first = builder.load(places, begin)
        last = builder.select(end > begin, builder.load(places, builder.maximum(end - 1, 0)) + 1, first)
        with builder.loop(first, last, self.each) as row:
            place, goal_row = builder.offset(image, row.index * self.width), (row.index - first) * out_width
            count = builder.minimum(last - row.index, self.each)
            self.columns(place, builder.offset(kept, goal_row), buffer, count)
        with builder.loop(low, high) as output:
            self.rows(kept, builder.offset(goal, output.index * out_width), output.index, first, out_width)

    def rows_first(self, image, goal, low, high, buffer, kept):
        """Rows ``low`` to ``high``, each of which is resampled into ``kept`` and then along its columns."""
        builder, form, width = self.builder, self.form, self.width
        with builder.loop(low, high, self.each) as output:
            target = builder.offset(goal, output.index * self.out_width)
            count = builder.minimum(high - output.index, self.each)
            if form.direct:
                self.by_rows.crossed(image, target, self.row_taps, self.column_taps, output.index, width)
            elif form.rows and form.columns is None:
                self.rows(image, target, output.index, 0, width)
            elif not form.rows:
                self.columns(builder.offset(image, output.index * width), target, buffer, count)
            elif not form.weighted:
                place = builder.load(self.row_taps[1], output.index)
                self.columns(builder.offset(image, place * width), target, buffer, count)
            else:
                with builder.loop(0, count) as row:
                    place = builder.offset(kept, row.index * width)
                    self.rows(image, place, output.index + row.index, 0, width)
                self.columns(kept, target, buffer, count)

    def piece(self, image, low, high):
        """Rows ``low`` to ``high`` of an image."""
        builder, form, n = self.builder, self.form, self.numbers
        own = kept = builder.offset(self.scratch, builder.worker() * n["area"])
        origin = builder.offset(self.source, image * n["height"] * self.width)
        goal = builder.offset(self.found, image * n["out_height"] * self.out_width)
        if form.columns == TURNED:
            kept = builder.offset(own, (self.width + self.out_width) * form.lanes)
        elif self.staged:
            kept = builder.offset(own, self.width + form.lanes)
        (self.columns_first if form.first else self.rows_first)(origin, goal, low, high, own, kept)


def resample_program(*form):
    """``(source, found, scratch, row_weights, column_weights, numbers, row_starts, row_places, column_starts,
    column_places)``.

    Columns that are gathered have i32 places: the first taps of all outputs, then the second ones. Else their starts and
    places are as those of rows.
    """
    form = Form(*form)
    builder = Builder("resample", _parameters(form))
    images = _Images(builder, form)
    n = images.numbers
    in_pieces(builder, n["images"], n["out_height"], n["pieces"], n["share"], images.piece)
    return Program("resample", [*(turn for turn in (images.turn_in, images.turn_out) if turn), builder.function])


def _turns(form):
    """The functions that transpose rows into columns, and back; None where nothing is TURNED."""
    if form.columns != TURNED:
        return None, None
    before = form.computed if form.rows and not form.first else form.stored
    after = form.computed if form.first else form.stored
    return (
        turning(before, form.computed, form.lanes, True, name="turn_in"),
        turning(form.computed, after, form.lanes, False, name="turn_out"),
    )


def _parameters(form):
    arrays = [("source", form.stored), ("found", form.stored), ("scratch", form.computed)]
    arrays += [("row_weights", form.computed), ("column_weights", form.computed), ("numbers", "i64")]
    kinds = ("i64", "i64", "i64", "i64" if form.columns in (DEEP, TURNED) else "i32")
    return [(name, f"{scalar}*") for name, scalar in (*arrays, *zip(ARRAYS, kinds))]
