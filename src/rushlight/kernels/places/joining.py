"""Joining by kernels: one launch copies all parts of `cat` and `stack` to their places."""

from __future__ import annotations

import math

import numpy as np

from ...base.arrays import is_channels_last
from ...base.shapes import contiguous_strides
from ...ops.moving import write
from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import pointer
from ..machine.host import lanes
from ..planning.array_lists import begins
from ..planning.registry import kernel_for
from .indexing import MOVED

_ALONE = 1 << 14  # elements that are copied before another thread has come to help
_CHUNK = 1 << 14  # elements of a chunk
_SIZES = (*MOVED, 16)  # of elements
_NARROW = 4  # columns of a part that are copied one by one, not as a vector under a mask
_HALVINGS = 15
_FEW, _ZIPPED = 4, (4, 8)  # arrays that are zipped, bytes of their elements
_APART = 1 << 13  # elements of a part, on average, that are worth a copy of their own
_COMPLEX = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}
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


def zipped(arrays):
    """Contiguous arrays of one shape and dtype, few of them, stacked along a new last dimension; None where no program fits."""
    first, count = arrays[0], len(arrays)
    size, length = first.itemsize, first.size
    if not 2 <= count <= _FEW or size not in _ZIPPED or not length:
        return None
    out, scalar, width = np.empty((*first.shape, count), first.dtype), MOVED[size], lanes(size)
    kernel = compiled(("zip_parts", scalar, width, count), lambda: zip_parts(scalar, width, count))
    run = kernel.alone if count * length <= _ALONE else kernel.threaded
    run(*arrays, out, length)
    return out


@kernel_for("complex_of_parts")
def complex_of_parts(real, imag):
    kind = _COMPLEX.get(real.dtype)
    fits = kind is not None and imag.dtype is real.dtype and imag.shape == real.shape
    if not fits or not (real.flags.c_contiguous and imag.flags.c_contiguous):
        return NotImplemented
    found = zipped([real, imag])
    return NotImplemented if found is None else found.view(kind)[..., 0]


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
        if pitches is None and first.size >= _APART:
            return _written(arrays, joined, len(before))
        if pitches is None:
            arrays = [array if array.flags.c_contiguous else np.ascontiguousarray(array) for array in arrays]
            if not begins(arrays, joined, inner, starts):
                return NotImplemented
    elif joined < 0 and inner == 1:
        found = zipped(arrays)
        if found is not None:
            return found
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


def _written(arrays, joined, axis):
    """Large arrays of any layout joined: each is copied to its place."""
    first = arrays[0]
    rest = first.shape[:joined] + first.shape[joined + 1 :] if joined >= 0 else first.shape
    lengths = []
    for array in arrays:
        around = array.shape[:joined] + array.shape[joined + 1 :] if joined >= 0 else array.shape
        if array.dtype is not first.dtype or array.ndim != first.ndim or around != rest:
            return NotImplemented
        lengths.append(array.shape[joined] if joined >= 0 else 1)
    out, end, before = np.empty((*rest[:axis], sum(lengths), *rest[axis:]), first.dtype), 0, (slice(None),) * axis
    for array, length in zip(arrays, lengths):
        begin, end = end, end + length
        write(out[(*before, slice(begin, end) if joined >= 0 else begin)], array)
    return out


def _pitches(arrays, joined, inner, starts):
    """How far apart the rows of arrays lie that are contiguous from dimension ``joined`` on; ``starts`` is filled. None where
    they are not, or do not fit."""
    first, size, found = arrays[0], arrays[0].itemsize, []
    before, behind = first.shape[:joined], first.shape[joined + 1 :]
    known = None  # shape and strides of the array before
    for number, array in enumerate(arrays):
        shape, steps = array.shape, array.strides
        if (shape, steps) == known and array.dtype is first.dtype:
            starts[number + 1] = starts[number]
            found.append(found[-1])
            continue
        known = shape, steps
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
