"""The loop programs of reductions over rows and over columns, and the plans that fit them to a shape.

An array is seen as (rows, segments, length): each row is reduced over its segments, which lie apart from each other; or
as (outer, reduced, inner), where each of the outer x inner columns is reduced. Many elements are cut into parts, whose
states go to a workspace and are merged in a second phase. Parts depend on the shape alone, never on the threads.
"""

from __future__ import annotations

from typing import NamedTuple

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import pointer
from ..machine.host import vector_registers
from .reductions import reduction
from .spans import ColumnSpan, RowSpan

PART = 16384  # elements: what one chunk of work is about
# From so many parts on, parts of one row grow, up to four times as long: at the end of each the processor waits for its last
# elements and has asked for no others yet. A sum of 4,000,000 takes 96 us, and 110 in parts of 16384.
_MANY_PARTS, _LONGEST_PART = 16, 4 * PART
_STRETCHES = 2048  # elements: so many, at least, of neighbouring stretches make a part
_SMALL = 65536  # elements that stay in the cache however they lie
_PART_ROWS = 256  # rows of a part of columns
_WIDE = 4  # vectors side by side, so that their additions overlap
_WIDEST = 8  # of columns, where there are so many


class Plan(NamedTuple):
    """How a program is run on a shape: ``columns``, ``segmented``, ``split`` and ``vectors`` (side by side) choose it,
    ``sizes`` are its numbers, ``parts`` how many parts each result is merged from, ``count`` how many elements, ``results``
    how many."""

    columns: bool
    segmented: bool
    split: bool
    vectors: int
    sizes: tuple
    parts: int
    count: int  # type: ignore[assignment]  # hides tuple.count
    results: int


def ceiling(a, b):
    return -(-a // b)


class Cut(NamedTuple):
    """How rows of ``segments`` stretches are cut into parts: ``group`` stretches each, or ``pieces`` of one stretch."""

    group: int
    pieces: int
    piece: int
    parts: int


def cut_rows(rows, segments, length):
    """The Cut of rows: none while they are short, or all of them together small.

    Stretches lie far apart: parts of few of them, taken in the order in which they lie, are read as memory likes it.
    """
    each = segments * length
    if each <= 2 * PART and (segments == 1 or rows * each <= _SMALL):
        return Cut(segments, 1, length, 1)
    if length >= PART:
        longest = min(max(PART, length // _MANY_PARTS), _LONGEST_PART)
        piece = ceiling(ceiling(length, ceiling(length, longest)), 64) * 64
        pieces = ceiling(length, piece)
        return Cut(1, pieces, piece, segments * pieces)
    group = max(1, _STRETCHES // length) if segments > 1 else 1
    return Cut(group, 1, length, ceiling(segments, group))


def row_sizes(rows, segments, length, strides, cut):
    """The numbers that programs over rows are given; ``strides`` of rows and of segments, in elements."""
    each = segments * length
    row_stride, segment_stride = strides or (each, length)
    chunk = max(1, PART // max(1, each // cut.parts))
    merge_chunk = max(1, PART // cut.parts)
    return (rows, row_stride, segments, segment_stride, length, *cut, chunk, merge_chunk)


ROW_SIZES = ("rows", "row_stride", "segments", "segment_stride", "length", "group", "pieces", "piece", "parts", "chunk",
             "merge_chunk")  # fmt: skip


def row_plan(rows, segments, length, lanes, strides=None):
    """The Plan of reducing ``rows`` rows of ``segments`` stretches of ``length`` elements.

    ``strides`` are the distances of rows and of segments in elements: by default those of rows one after the other.
    """
    cut = cut_rows(rows, segments, length)
    sizes = row_sizes(rows, segments, length, strides, cut)
    return Plan(
        False, segments > 1, cut.parts > 1, _WIDE if length > lanes else 1, sizes, cut.parts, segments * length, rows
    )


def columns_together(inner, lanes):
    """How many vectors of columns a block has: the longer its lines, the fewer memory pages and parts of lines it fetches."""
    return _WIDEST if inner >= _WIDEST * lanes and vector_registers() >= 4 * _WIDEST else _WIDE


def column_plan(outer, reduced, inner, lanes):
    """The Plan of reducing the middle dimension of (outer, reduced, inner)."""
    vectors = 1 if inner <= lanes else columns_together(inner, lanes)
    width = lanes * vectors
    group = reduced if reduced <= 2 * _PART_ROWS else _PART_ROWS
    parts, blocks = ceiling(reduced, group), ceiling(inner, width)
    chunk = max(1, PART // (group * width))
    merge_chunk = max(1, PART // (parts * width))
    sizes = (outer, reduced, inner, blocks, group, parts, chunk, merge_chunk)
    return Plan(True, False, parts > 1, vectors, sizes, parts, reduced, outer * inner)


def array_plan(shape, axes, lanes):
    """The Plan of reducing a C-contiguous array of ``shape`` over ``axes``; None where no program fits."""
    groups = []  # [is reduced, elements], neighbours of one kind as one dimension
    for axis, length in enumerate(shape):
        if length == 1:
            continue
        if groups and groups[-1][0] == (axis in axes):
            groups[-1][1] *= length
        else:
            groups.append([axis in axes, length])
    kinds = [is_reduced for is_reduced, _ in groups]
    lengths = [length for _, length in groups]
    if kinds == [True]:
        return row_plan(1, 1, lengths[0], lanes)
    if kinds == [False, True]:
        return row_plan(lengths[0], 1, lengths[1], lanes)
    if kinds == [True, False]:
        return column_plan(1, *lengths, lanes)
    if kinds == [False, True, False]:
        return column_plan(*lengths, lanes)
    if kinds == [True, False, True]:
        segments, rows, length = lengths
        return row_plan(rows, segments, length, lanes, (length, rows * length))
    return None


def workspace_size(plan):
    """How many elements each state's workspace holds."""
    return plan.parts * plan.results if plan.split else 0


def _parameters(source, outputs, states, sizes, split):
    given = [("x", pointer(source)), *((f"out{i}", pointer(t)) for i, t in enumerate(outputs))]
    if split:
        given += [(f"work{i}", pointer(t)) for i, t in enumerate(states)]
    return [*given, *((name, "i64") for name in sizes)]


def build(name, reduction, source, outputs, plan, lanes):
    """The Program of a reduction: from arrays of scalar type ``source`` to ``outputs``, scalar types or None for a
    result that is not wanted. The plan's sizes and results do not matter, its kind does."""
    build = _build_columns if plan.columns else _build_rows
    return build(name, reduction, source, outputs, plan, lanes * plan.vectors)


def program(name, source, scalar, outputs, kind, lanes):
    """The Program of the reduction called ``name``, computed in ``scalar``, in one of the ways that a Plan's ``kind`` is."""
    plan = Plan(*kind, (), 0, 0, 0)
    return build(f"reduce_{name}", reduction(name, scalar), source, outputs, plan, lanes)


class _Writer:
    """Stores finished results, or the states of parts."""

    def __init__(self, builder, reduction, outputs, divisor):
        self.builder, self.reduction, self.outputs, self.divisor = builder, reduction, outputs, divisor

    def results(self, states, pointers, index, mask=None):
        finished = self.reduction.finish(self.builder, states, self.divisor)
        pointers = iter(pointers)
        for value, scalar in zip(finished, self.outputs):
            if scalar is not None:
                self.builder.store(self.builder.convert(value, scalar), next(pointers), index, mask)

    def states(self, states, pointers, index, mask=None):
        for value, out in zip(states, pointers):
            self.builder.store(value, out, index, mask)


def _begin(name, reduction, source, outputs, plan, sizes):
    """(builder, source pointer, result pointers, workspace pointers, sizes, writer)."""
    wanted = [scalar for scalar in outputs if scalar is not None]
    parameters = _parameters(source, wanted, reduction.states, sizes, plan.split)
    if reduction.divides:
        parameters.append(("divisor", reduction.scalar))
    builder = Builder(name, parameters)
    x, *rest = builder.parameters
    outs, rest = rest[: len(wanted)], rest[len(wanted) :]
    works = rest[: len(reduction.states)] if plan.split else []
    rest = rest[len(works) :]
    divisor = rest.pop() if reduction.divides else None
    return builder, x, outs, works, rest, _Writer(builder, reduction, outputs, divisor)


def chunked(builder, count, chunk, body):
    """``body(index)`` for each index below ``count``, ``chunk`` of them at a time handed out to the threads."""
    with builder.parallel((count + chunk - 1) // chunk) as number:
        first = number * chunk
        with builder.loop(first, builder.minimum(first + chunk, count)) as loop:
            body(loop.index)


def _build_rows(name, reduction, source, outputs, plan, lanes):
    builder, x, outs, works, sizes, writer = _begin(name, reduction, source, outputs, plan, ROW_SIZES)
    rows, row_stride, segments, segment_stride, length, group, pieces, piece, parts, chunk, merge_chunk = sizes

    def whole(row):
        stretches = (segments, segment_stride) if plan.segmented else None
        pointers = [builder.offset(x, row * row_stride)]
        span = RowSpan(builder, pointers, length, lanes, reduction.scalar, stretches, plan.vectors == 1)
        writer.results(reduction.placed(builder, reduction.part(span), 0), outs, row)

    def part(task):
        row, number = task % rows, task // rows
        first = number % pieces * piece
        start, stretches = row * row_stride + first, None
        if plan.segmented:
            segment = number // pieces * group
            start = start + segment * segment_stride
            stretches = (builder.minimum(group, segments - segment), segment_stride)
        end = builder.minimum(piece, length - first)
        pointers = [builder.offset(x, start)]
        span = RowSpan(builder, pointers, end, lanes, reduction.scalar, stretches, plan.vectors == 1)
        writer.states(reduction.placed(builder, reduction.part(span), first), works, row * parts + number)

    def merge(row):
        pointers = [builder.offset(work, row * parts) for work in works]
        span = RowSpan(builder, pointers, parts, lanes, reduction.scalar)
        writer.results(reduction.combined(span), outs, row)

    if plan.split:
        chunked(builder, rows * parts, chunk, part)
        chunked(builder, rows, merge_chunk, merge)
    else:
        chunked(builder, rows, chunk, whole)
    return Program(name, [builder.function])


_COLUMN_SIZES = ("outer", "reduced", "inner", "blocks", "group", "parts", "chunk", "merge_chunk")


def _build_columns(name, reduction, source, outputs, plan, lanes):
    builder, x, outs, works, sizes, writer = _begin(name, reduction, source, outputs, plan, _COLUMN_SIZES)
    outer, reduced, inner, blocks, group, parts, chunk, merge_chunk = sizes

    def of_columns(block, pointers, rows, stride, finish):
        """Reduce a block of columns: all its lanes, or those that are left."""
        left = inner - block * lanes
        mask = builder.first_lanes(left, lanes)

        def run(mask):
            span = ColumnSpan(builder, pointers, rows, stride, lanes, reduction.scalar, mask)
            finish(span, mask)
            return []

        builder.choose(left >= lanes, lambda: run(None), lambda: run(mask))

    def part(task):
        block, rest = task % blocks, task // blocks  # in the order in which elements lie
        number, place = rest % parts, rest // parts
        row = number * group
        start = place * (reduced * inner) + row * inner + block * lanes
        results = place * inner + block * lanes
        rows = builder.minimum(group, reduced - row)

        def finish(span, mask):
            states = reduction.placed(builder, reduction.part(span), row)
            if plan.split:
                writer.states(states, works, number * (outer * inner) + results, mask)
            else:
                writer.results(states, outs, results, mask)

        of_columns(block, [builder.offset(x, start)], rows, inner, finish)

    def merge(task):
        start = task // blocks * inner + task % blocks * lanes

        def finish(span, mask):
            writer.results(reduction.combined(span), outs, start, mask)

        pointers = [builder.offset(work, start) for work in works]
        of_columns(task % blocks, pointers, parts, outer * inner, finish)

    chunked(builder, outer * blocks * parts, chunk, part)
    if plan.split:
        chunked(builder, outer * blocks, merge_chunk, merge)
    return Program(name, [builder.function])
