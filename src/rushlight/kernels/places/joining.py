"""Joining by kernels: one launch copies all parts of `cat` and `stack` to their places."""

from __future__ import annotations

import math

import numpy as np

from ...base.arrays import is_channels_last
from ...base.shapes import contiguous_strides
from ...ops.join import APART
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import pointer
from ..machine.host import lanes
from ..planning.layout import Layout, Layouts
from ..planning.plan import Launch, Plan, View
from ..planning.runner import plan_for
from .indexing import MOVED, NANOSECONDS

_CHUNK = 1 << 14  # elements of a chunk
_SIZES = (*MOVED, 16)  # of elements
_NARROW = 4  # columns of a part that are copied one by one, not as a vector under a mask
_HALVINGS = 15
_FEW, _ZIPPED = 4, (4, 8)  # arrays that are zipped, bytes of their elements
_COMPLEX: dict[np.dtype, np.dtype] = {
    np.dtype(np.float32): np.dtype(np.complex64),
    np.dtype(np.float64): np.dtype(np.complex128),
}
_MOST = 1 << _HALVINGS  # parts of one launch: their addresses lie on the caller's stack


def join_parts(scalar, lanes):
    """``(parts, starts, pitches, out, outer, width, count, rows, columns, column_chunks)``: out[o, starts[p]:starts[p + 1]]
    is row o of parts[p], whose rows lie ``pitches[p]`` elements apart, for ``outer`` rows of ``width`` elements and
    ``count`` parts.

    A chunk is ``rows`` rows of ``columns`` columns; there are so many ``column_chunks`` beside each other.
    """
    sizes = [(name, "i64") for name in ("outer", "width", "count", "rows", "columns", "column_chunks")]
    arrays = [("parts", pointer(pointer(scalar))), ("starts", "i64*"), ("pitches", "i64*"), ("out", f"{scalar}*")]
    builder = Builder("entry", [*arrays, *sizes])
    parts, starts, pitches, out, outer, width, count, rows, columns, column_chunks = builder.parameters

    def part_at(column):
        """The last part that begins at ``column`` or before it, by halving."""
        with builder.loop(0, _HALVINGS, 1, [builder.constant(0), count]) as halving:
            low, high = halving.carry
            middle = (low + high) // 2
            before = builder.load(starts, middle) <= column
            halving.carry = [builder.select(before, middle, low), builder.select(before, high, middle)]
        return halving.results[0]

    total = (outer + rows - 1) // rows * column_chunks
    with builder.parallel(total) as chunk:
        top, left = chunk // column_chunks * rows, chunk % column_chunks * columns
        bottom, right = builder.minimum(top + rows, outer), builder.minimum(left + columns, width)
        with builder.loop(part_at(left), part_at(right - 1) + 1) as part:
            start, end = builder.load(starts, part.index), builder.load(starts, part.index + 1)
            first = builder.maximum(start, left)
            length, pitch = builder.minimum(end, right) - first, builder.load(pitches, part.index)
            source = builder.offset(builder.load(parts, part.index), first - start)
            target = builder.offset(out, first)
            narrow = length <= _NARROW  # then column by column
            with builder.loop(0, builder.select(narrow, length, 0)) as column, builder.loop(top, bottom) as row:
                value = builder.load(source, row.index * pitch + column.index)
                builder.store(value, target, row.index * width + column.index)
            with builder.loop(builder.select(narrow, bottom, top), bottom) as row:
                line, goal = (
                    builder.offset(source, row.index * pitch),
                    builder.offset(target, row.index * width),
                )

                def copied(at, mask, _, line=line, goal=goal):
                    builder.store(builder.load(line, at, lanes, mask), goal, at, mask)

                builder.for_lanes(0, length, lanes, copied)
    return Program("join_parts", [builder.function])


def zip_parts(scalar, lanes, count):
    """``(part0, ..., out, length)``: out[i, p] is element i of part p, for ``length`` elements of each of ``count`` parts."""
    parts = [(f"part{p}", f"{scalar}*") for p in range(count)]
    builder = Builder("entry", [*parts, ("out", f"{scalar}*"), ("length", "i64")])
    *parts, out, length = builder.parameters
    with builder.parallel((length + (_CHUNK - 1)) // _CHUNK) as chunk:
        first = chunk * _CHUNK
        end = builder.minimum(first + _CHUNK, length)
        whole = first + (end - first) // lanes * lanes
        with builder.loop(first, whole, lanes) as block:
            vectors = [builder.load(part, block.index, lanes) for part in parts]
            for position in range(0, count * lanes, lanes):
                numbers = range(position, position + lanes)  # in the result, from the block's beginning on
                found = vectors[0]
                for p in range(1, count):
                    found = builder.shuffle(
                        found,
                        vectors[p],
                        [
                            lanes + n // count if n % count == p else n // count if p == 1 else k
                            for k, n in enumerate(numbers)
                        ],
                    )
                builder.store(found, out, block.index * count + position)
        with builder.loop(whole, end) as each:
            for p, part in enumerate(parts):
                builder.store(builder.load(part, each.index), out, each.index * count + p)
    return Program("zip_parts", [builder.function])


def _zip(names, each, out):
    """The Launch that makes ``out`` of contiguous arrays like ``each``, zipped; None where no program fits."""
    size, count = each.dtype.itemsize, len(names)
    if not 2 <= count <= _FEW or size not in _ZIPPED or not each.size:
        return None
    return Launch(
        zip_parts, (MOVED[size], lanes(size), count), (*names, out, each.size), count * each.size * NANOSECONDS
    )


@plan_for("complex_of_parts")
def complex_of_parts(real: Layout, imag: Layout):
    kind = _COMPLEX.get(real.dtype)
    if kind is None or imag != real or not real.is_plain:
        return None
    launch = _zip(("real", "imag"), real, "out")
    return launch and Plan([launch], {"out": Layout(real.shape, kind)})


@plan_for("cat")
def cat(tensors: Layouts, dim):
    first = tensors[0]
    axis = dim + first.ndim if dim < 0 else dim
    if not 0 <= axis < first.ndim:
        return None
    return _joined(tensors, axis, first.shape[:axis], first.shape[axis + 1 :])


@plan_for("stack")
def stack(tensors: Layouts, dim):
    first = tensors[0]
    axis = dim + first.ndim + 1 if dim < 0 else dim
    if not 0 <= axis <= first.ndim:
        return None
    before, behind = first.shape[:axis], first.shape[axis:]
    if axis == first.ndim and first.is_plain and tensors.count(first) == len(tensors):
        names = [f"part{number}" for number in range(len(tensors))]
        launch = _zip(names, first, "out")
        if launch:
            views = {name: View("tensors", index=number) for number, name in enumerate(names)}
            return Plan([launch], {"out": Layout((*before, len(tensors)), first.dtype)}, views=views)
    return _joined(tensors, None, before, behind)


def _joined(parts, joined, before, behind):
    """The Plan of arrays joined along their dimension ``joined`` (None: a new one), which in the result lies between the
    dimensions ``before`` and ``behind``; None where they do not fit."""
    first, size, inner = parts[0], parts[0].dtype.itemsize, math.prod(behind)
    shape = (*before, *behind)
    lengths = [1 if joined is None else part.shape[joined] for part in parts if part.ndim == first.ndim]
    around = [part.shape if joined is None else part.shape[:joined] + part.shape[joined + 1 :] for part in parts]
    if len(parts) > _MOST or size not in _SIZES or around.count(shape) != len(parts) or len(lengths) != len(parts):
        return None
    if any(part.dtype != first.dtype for part in parts) or not inner:
        return None
    pitches, copied = [length * inner for length in lengths], {}
    if not all(part.is_plain for part in parts):
        if first.ndim in (4, 5) and is_channels_last(first.spread()):
            return None
        found = [None if joined is None else _pitch(part, joined) for part in parts]
        if None not in found:
            pitches = found
        elif first.size >= APART:
            return None
        else:
            copied = {"tensors": None}
    out, outer, words = Layout((*before, sum(lengths), *behind), first.dtype), math.prod(before), 1
    if not out.size:
        return Plan([], {"out": out})
    if size == 16:  # complex128: two words each
        size, words = 8, 2
    starts = np.cumsum([0, *lengths]) * (inner * words)
    width = int(starts[-1])
    rows, columns = max(1, _CHUNK // width), min(width, _CHUNK)
    sizes = outer, width, len(parts), rows, columns, math.ceil(width / columns)
    arguments = "tensors", starts, np.array(pitches, np.int64) * words, "out", *sizes
    launch = Launch(join_parts, (MOVED[size], lanes(size)), arguments, outer * width * NANOSECONDS)
    return Plan([launch], {"out": out}, copied=copied)


def _pitch(part, joined):
    """How many elements apart the rows of an array lie that is contiguous from dimension ``joined`` on; None where it is not."""
    shape, steps, size = part.shape, part.spread().strides, part.dtype.itemsize
    pitch = steps[joined - 1] if joined else 0
    wanted = [pitch * step for step in contiguous_strides(shape[:joined])]
    wanted += [size * step for step in contiguous_strides(shape[joined:])]
    return None if list(steps) != wanted or pitch % size or pitch < 0 else pitch // size
