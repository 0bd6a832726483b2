"""The loop programs of operations that reduce each row to a few numbers and then write the row anew: softmax, norms.

An array is seen as (rows, segments, length) or (outer, reduced, inner), as in ``reduce_programs.py``. Three phases for
rows of many elements: parts are reduced, each row's states merged and settled, parts written. Short rows are reduced
and written at once, while they are in the cache.
"""

from __future__ import annotations

from typing import NamedTuple

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, pointer
from .reduce_programs import PART, ROW_SIZES, ceiling, chunked, columns_together, cut_rows, row_sizes
from .spans import ColumnSpan, RowSpan

_WIDE = 4
_COLUMN_PART = 64  # rows of a part of columns that is written


class RowOperation:
    """What is done with each row. Subclasses say what they need and how it is computed, on spans of either kind.

    ``scalar``: the type of computation. ``arrays``: scalar types of the arrays laid out as rows, inputs and outputs:
    the span's pointers. ``extras``: (name, type) of further parameters, which ``self.given`` then holds by name.
    ``states``: how many numbers a part is reduced to; ``settled``: how many numbers of a row its writing needs.
    """

    extras = ()
    states = settled = 0

    def part(self, span):
        """The states of a part."""
        return []

    def combined(self, span):
        """The states of a row, from those of its parts: sums, unless said otherwise."""
        return span.sums(lambda pointers, index, mask: [span.load(p, index, mask) for p in pointers], self.states)

    def settle(self, span, states):
        """What writing needs of the row's states; results of the whole row are stored here. ``span`` has no elements."""
        return states

    def write(self, span, settled):
        """Write the span's elements, where there are any to write."""


class RowPlan(NamedTuple):
    """How an operation runs on a shape: its ``kind`` chooses the program, ``sizes`` are its numbers."""

    kind: tuple  # (columns, segmented, split, lanes as multiple of the machine's, single)
    sizes: tuple
    works: tuple  # elements of the workspaces of states and of settled numbers, for each such number


def row_plan(rows, segments, length, lanes, strides=None):
    """The RowPlan of ``rows`` rows of ``segments`` stretches of ``length`` elements; ``strides`` of rows and segments."""
    cut = cut_rows(rows, segments, length)
    multiple = 1 if length <= lanes else 2 if length <= 2 * lanes else _WIDE
    works = (rows * cut.parts, rows) if cut.parts > 1 else (0, 0)
    kind = (False, segments > 1, cut.parts > 1, multiple, length <= _WIDE * lanes)
    return RowPlan(kind, row_sizes(rows, segments, length, strides, cut), works)


def column_plan(outer, reduced, inner, lanes):
    """The RowPlan of the columns of (outer, reduced, inner)."""
    multiple = 1 if inner <= lanes else 2 if inner <= 2 * lanes else columns_together(inner, lanes)
    width = multiple * lanes
    blocks = ceiling(inner, width)
    split = reduced > 4 * _COLUMN_PART
    group = _COLUMN_PART if split else reduced
    parts = ceiling(reduced, group)
    chunk = max(1, PART // (group * width))
    merge_chunk = max(1, PART // (parts * width))
    sizes = (outer, reduced, inner, blocks, group, parts, chunk, merge_chunk)
    works = (outer * inner * parts, outer * inner) if split else (0, 0)
    return RowPlan((True, False, split, multiple, False), sizes, works)


def workspaces(plan, operation, name="work"):
    """(name, elements, dtype) of each of the workspaces that an operation needs, in the order of its parameters."""
    if not plan.kind[2]:
        return []
    sizes = [size for size, count in zip(plan.works, (operation.states, operation.settled)) for _ in range(count)]
    return [(f"{name}{i}", size, NUMPY[operation.scalar]) for i, size in enumerate(sizes)]


_COLUMN_SIZES = ("outer", "reduced", "inner", "blocks", "group", "parts", "chunk", "merge_chunk")


def build(name, operation, kind, lanes):
    """The Program of a RowOperation: parameters are its arrays, its extras, workspaces where it is split, the sizes."""
    columns, segmented, split, multiple, single = kind
    parameters = [(f"array{i}", pointer(scalar)) for i, scalar in enumerate(operation.arrays)]
    parameters += operation.extras
    workspaces = operation.states + operation.settled if split else 0
    parameters += [(f"work{i}", pointer(operation.scalar)) for i in range(workspaces)]
    parameters += [(size, "i64") for size in (_COLUMN_SIZES if columns else ROW_SIZES)]
    builder = Builder(name, parameters)
    values = iter(builder.parameters)
    arrays = [next(values) for _ in operation.arrays]
    operation.given = {extra: next(values) for extra, _ in operation.extras}
    works = [next(values) for _ in range(workspaces)]
    states, settled = works[: operation.states], works[operation.states :]
    phases = _Columns if columns else _Rows
    writer = phases(builder, operation, arrays, list(values), lanes * multiple, segmented, single)
    if not split:
        writer.whole()
    else:
        if operation.states:
            writer.parts(lambda span, index: _store_all(span, operation.part(span), states, index))
        writer.merge(states, lambda span, found: _settle(span, operation, found, settled))
        writer.parts(lambda span, index: operation.write(span, [span.own(pointer) for pointer in settled]))
    return Program(name, [builder.function])


def _store_all(span, values, pointers, index):
    for value, target in zip(values, pointers, strict=True):
        span.builder.store(value, target, index, getattr(span, "mask", None))


def _settle(span, operation, states, pointers):
    for value, target in zip(operation.settle(span, states), pointers, strict=True):
        span.store_own(value, target)


class _Rows:
    """Hands out rows, or parts of rows."""

    def __init__(self, builder, operation, arrays, sizes, lanes, segmented, single):
        self.builder, self.operation, self.arrays, self.lanes = builder, operation, arrays, lanes
        self.segmented, self.single = segmented, single
        (self.rows, self.row_stride, self.segments, self.segment_stride, self.length, self.group, self.pieces,
         self.piece, self.parts_of_row, self.chunk, self.merge_chunk) = sizes  # fmt: skip

    def _span(self, start, end, stretches, **options):
        pointers = [self.builder.offset(array, start) for array in self.arrays]
        return RowSpan(self.builder, pointers, end, self.lanes, self.operation.scalar, stretches, **options)

    def whole(self):
        def run(row):
            stretches = (self.segments, self.segment_stride) if self.segmented else None
            span = self._span(row * self.row_stride, self.length, stretches, single=self.single, place=row)
            settled = self.operation.settle(span, self.operation.part(span))
            self.operation.write(span, settled)

        chunked(self.builder, self.rows, self.chunk, run)

    def parts(self, body):
        def run(task):
            row, number = task % self.rows, task // self.rows
            first = number % self.pieces * self.piece
            start, stretches, segment = row * self.row_stride + first, None, 0
            if self.segmented:
                segment = number // self.pieces * self.group
                start = start + segment * self.segment_stride
                stretches = (self.builder.minimum(self.group, self.segments - segment), self.segment_stride)
            end = self.builder.minimum(self.piece, self.length - first)
            options = {"single": self.single, "place": row, "first": first, "segment": segment}
            body(self._span(start, end, stretches, **options), row * self.parts_of_row + number)

        chunked(self.builder, self.rows * self.parts_of_row, self.chunk, run)

    def merge(self, states, body):
        def run(row):
            pointers = [self.builder.offset(state, row * self.parts_of_row) for state in states]
            span = RowSpan(self.builder, pointers, self.parts_of_row, self.lanes, self.operation.scalar, place=row)
            body(span, self.operation.combined(span))

        chunked(self.builder, self.rows, self.merge_chunk, run)


class _Columns:
    """Hands out blocks of columns, or parts of them."""

    def __init__(self, builder, operation, arrays, sizes, lanes, segmented, single):
        self.builder, self.operation, self.arrays, self.lanes = builder, operation, arrays, lanes
        (self.outer, self.reduced, self.inner, self.blocks, self.group, self.parts_of_column, self.chunk,
         self.merge_chunk) = sizes  # fmt: skip

    def _run(self, place, pointers, rows, stride, body):
        """Run ``body`` on the columns of a block: on full vectors, or on the lanes that are left."""
        builder = self.builder
        block, outer = place % self.blocks, place // self.blocks
        left = self.inner - block * self.lanes
        first = outer * self.inner + block * self.lanes
        rest = builder.first_lanes(left, self.lanes)

        def run(mask):
            span = ColumnSpan(
                builder, pointers, rows, stride, self.lanes, self.operation.scalar, mask, first, block * self.lanes
            )
            body(span)
            return []

        builder.choose(left >= self.lanes, lambda: run(None), lambda: run(rest))

    def whole(self):
        def run(place):
            start = place // self.blocks * (self.reduced * self.inner) + place % self.blocks * self.lanes

            def body(span):
                self.operation.write(span, self.operation.settle(span, self.operation.part(span)))

            pointers = [self.builder.offset(array, start) for array in self.arrays]
            self._run(place, pointers, self.reduced, self.inner, body)

        chunked(self.builder, self.outer * self.blocks, self.chunk, run)

    def parts(self, body):
        def run(task):
            block, rest = task % self.blocks, task // self.blocks  # in the order in which elements lie
            number, outer = rest % self.parts_of_column, rest // self.parts_of_column
            row, place = number * self.group, outer * self.blocks + block
            start = outer * (self.reduced * self.inner) + row * self.inner + block * self.lanes
            index = (number * self.outer + outer) * self.inner + block * self.lanes
            rows = self.builder.minimum(self.group, self.reduced - row)
            pointers = [self.builder.offset(array, start) for array in self.arrays]
            self._run(place, pointers, rows, self.inner, lambda span: body(span, index))

        chunked(self.builder, self.outer * self.blocks * self.parts_of_column, self.chunk, run)

    def merge(self, states, body):
        def run(place):
            start = place // self.blocks * self.inner + place % self.blocks * self.lanes
            pointers = [self.builder.offset(state, start) for state in states]
            stride = self.outer * self.inner
            self._run(
                place, pointers, self.parts_of_column, stride, lambda span: body(span, self.operation.combined(span))
            )

        chunked(self.builder, self.outer * self.blocks, self.merge_chunk, run)
