"""Joining by kernels: one launch copies all parts of `cat` and `stack` to their places."""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import is_channels_last
from ..base.shapes import contiguous_strides
from .array_lists import begins
from .builder import Builder
from .host import lanes
from .indexing import MOVED
from .kernel import compiled
from .program import Program
from .routing import kernel_for
from .value_types import pointer

_ALONE = 1 << 14  # elements that are copied before another thread has come to help
_CHUNK = 1 << 14  # elements of a chunk
_SIZES = (*MOVED, 16)  # of elements
_NARROW = 4  # columns of a part that are copied one by one, not as a vector under a mask
_HALVINGS = 15
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


@kernel_for("cat")
def cat(tensors, dim):
    first = tensors[0]
    axis = dim + first.ndim if dim < 0 else dim
    if not 0 <= axis < first.ndim:
        return NotImplemented
    return _joined(tensors, axis, first.shape[:axis], first.shape[axis + 1 :])


@kernel_for("stack")
def stack(tensors, dim):
    first = tensors[0]
    axis = dim + first.ndim + 1 if dim < 0 else dim
    if not 0 <= axis <= first.ndim:
        return NotImplemented
    return _joined(tensors, -1, first.shape[:axis], first.shape[axis:])


def _joined(arrays, joined, before, behind):
    """Arrays joined along their dimension ``joined`` (-1: none), which in the result lies between the dimensions ``before``
    and ``behind``; NotImplemented where they do not fit."""
    arrays = arrays if arrays.__class__ is list else list(arrays)
    first, inner = arrays[0], math.prod(behind)
    size = first.itemsize
    if len(arrays) > _MOST or size not in _SIZES:
        return NotImplemented
    starts, pitches = np.empty(len(arrays) + 1, np.int64), None
    if not begins(arrays, joined, inner, starts):
        if first.ndim in (4, 5) and is_channels_last(first):
            return NotImplemented
        pitches = None if joined < 0 else _pitches(arrays, joined, inner, starts)
        if pitches is None:
            arrays = [array if array.flags.c_contiguous else np.ascontiguousarray(array) for array in arrays]
            if not begins(arrays, joined, inner, starts):
                return NotImplemented
    if not inner:
        return NotImplemented
    if pitches is None:
        pitches = np.diff(starts)
    width, outer = int(starts[-1]), math.prod(before)
    out = np.empty((*before, width // inner, *behind), first.dtype)
    if not out.size:
        return out
    if size == 16:  # complex128: two words each
        size, width, starts, pitches = 8, width * 2, starts * 2, pitches * 2
    count, scalar = lanes(size), MOVED[size]
    kernel = compiled(("join_parts", scalar, count), lambda: join_parts(scalar, count))
    rows, columns = max(1, _CHUNK // width), min(width, _CHUNK)
    run = kernel.alone if outer * width <= _ALONE else kernel.threaded
    run(arrays, starts, pitches, out, outer, width, len(arrays), rows, columns, math.ceil(width / columns))
    return out


def _pitches(arrays, joined, inner, starts):
    """How far apart the rows of arrays lie that are contiguous from dimension ``joined`` on; ``starts`` is filled. None where
    they are not, or do not fit."""
    first, size, found = arrays[0], arrays[0].itemsize, []
    before, behind = first.shape[:joined], first.shape[joined + 1 :]
    for number, array in enumerate(arrays):
        shape, steps = array.shape, array.strides
        if array.dtype is not first.dtype or shape[:joined] != before or shape[joined + 1 :] != behind:
            return None
        pitch = steps[joined - 1] if joined else 0
        rows = contiguous_strides(shape[joined:])
        outer = contiguous_strides(before)
        if any(step != size * wanted for step, wanted in zip(steps[joined:], rows)) or pitch % size or pitch < 0:
            return None
        if any(step != pitch * wanted for step, wanted in zip(steps[:joined], outer)):
            return None
        starts[number + 1] = shape[joined] * inner
        found.append(pitch // size)
    starts[0] = 0
    np.cumsum(starts, out=starts)
    return np.array(found, np.int64)
