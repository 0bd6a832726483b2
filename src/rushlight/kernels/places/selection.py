"""Kernels of masks: where elements are True, the elements there, and elements picked by a position for each dimension."""

from __future__ import annotations

import functools
import math

import numpy as np

from ...ops.moving import copied
from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import lanes
from ..planning.layout import is_plain
from ..planning.registry import kernel_for

_CHUNK = 1 << 16  # elements of a mask
_MOST_DIMENSIONS = 5
_LONGEST = 1 << 52  # positions that double precision divides exactly
_MOVED = {4: "u32", 8: "u64"}  # an element's size -> as what it is moved
_THREADED_FROM = 1 << 14
_WORTHWHILE = 256  # positions: NumPy has picked fewer by the time that a kernel is called
_BOOL, _INT64 = np.dtype(np.bool_), np.dtype(np.int64)


def _kept(builder, mask_pointer, index, width, mask):
    """(which of the lanes are True, how many)."""
    kept = builder.load(mask_pointer, index, width, mask)
    if mask is not None:
        kept = kept & mask
    return kept, builder.convert(builder.reduce(builder.convert(kept, "i32")), "i64")


def _over_chunks(builder, count, starts, width, body):
    """``body(index, mask, at)`` for vectors of each chunk of a mask; it returns how many results it wrote at ``at``."""
    with builder.parallel((count + (_CHUNK - 1)) // _CHUNK) as chunk:
        first = chunk * _CHUNK
        builder.for_lanes(
            first,
            builder.minimum(first + _CHUNK, count),
            width,
            lambda index, mask, carry: [carry[0] + body(index, mask, carry[0])],
            [builder.load(starts, chunk)],
        )


def positions_program(dimensions, width):
    """``(mask, starts, count, out0, ..., length1, ...)``: the coordinates of the True elements, in order.

    ``starts`` says where the results of each chunk begin; the first dimension's length does not matter.
    """
    outs = [(f"out{i}", "i64*") for i in range(dimensions)]
    lengths = [(f"length{i}", "i64") for i in range(1, dimensions)]
    builder = Builder("positions", [("mask", "bool*"), ("starts", "i64*"), ("count", "i64"), *outs, *lengths])
    mask_pointer, starts, count, *rest = builder.parameters
    outs, lengths = rest[:dimensions], rest[dimensions:]
    steps = builder.iota(f"i64x{width}")

    def body(index, mask, at):
        kept, found = _kept(builder, mask_pointer, index, width, mask)
        written = builder.first_lanes(found, width)
        places = builder.compress(steps + builder.splat(index, width), kept)
        for out, length in zip(outs[:0:-1], lengths[::-1]):
            length = builder.splat(length, width)
            quotient = builder.convert(places, "f64") / builder.convert(length, "f64")
            rows = builder.convert(builder.unary("trunc", quotient), "i64")
            builder.store(places - rows * length, out, at, written)
            places = rows
        builder.store(places, outs[0], at, written)
        return found

    _over_chunks(builder, count, starts, width, body)
    return Program("positions", [builder.function])


def selected_program(scalar, width):
    """``(mask, starts, count, x, out)``: the elements of x where the mask is True, in order."""
    parameters = [("mask", "bool*"), ("starts", "i64*"), ("count", "i64"), ("x", scalar + "*"), ("out", scalar + "*")]
    builder = Builder("selected", parameters)
    mask_pointer, starts, count, x, out = builder.parameters

    def body(index, mask, at):
        kept, found = _kept(builder, mask_pointer, index, width, mask)
        values = builder.compress(builder.load(x, index, width, mask), kept)
        builder.store(values, out, at, builder.first_lanes(found, width))
        return found

    _over_chunks(builder, count, starts, width, body)
    return Program("selected", [builder.function])


def scattered_program(scalar):
    """``(mask, starts, count, source, last, out)``: the elements of source, in order, to where the mask is True; ``last`` is
    the number of the last one that is read. A vector has no places for its elements to go to, so they go one by one."""
    parameters = [("mask", "bool*"), ("starts", "i64*"), ("count", "i64"), ("source", scalar + "*"), ("last", "i64")]
    builder = Builder("scattered", [*parameters, ("out", scalar + "*")])
    mask, starts, count, source, last, out = builder.parameters
    with builder.parallel((count + (_CHUNK - 1)) // _CHUNK) as chunk:
        first = chunk * _CHUNK
        end = builder.minimum(first + _CHUNK, count)
        with builder.loop(first, end, 1, [builder.load(starts, chunk)]) as each:
            (at,) = each.carry
            kept = builder.load(mask, each.index)
            value = builder.load(source, builder.minimum(at, last))
            builder.store(builder.select(kept, value, builder.load(out, each.index)), out, each.index)
            each.carry = [at + builder.convert(kept, "i64")]
    return Program("scattered", [builder.function])


@functools.cache
def _kernel(name, *options):
    return compiled((name, *options), lambda: globals()[name](*options))


def _starts(mask):
    """Where the results of each chunk of a mask begin, and how many there are."""
    flat = mask.reshape(-1)
    counts = [np.count_nonzero(flat[i : i + _CHUNK]) for i in range(0, flat.size, _CHUNK)]
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts, int(starts[-1])


def _run(kernel, size):
    return kernel.threaded if size >= _THREADED_FROM else kernel.alone


def positions(mask):
    """The coordinates of the True elements of a mask: an int64 array (dimensions, elements); None where NumPy finds them."""
    if mask.dtype != _BOOL or not is_plain(mask) or not 1 <= mask.ndim <= _MOST_DIMENSIONS or mask.size >= _LONGEST:
        return None
    starts, total = _starts(mask)
    found = np.empty((mask.ndim, total), np.int64)
    _run(_kernel("positions_program", mask.ndim, lanes(8)), mask.size)(mask, starts, mask.size, *found, *mask.shape[1:])
    return found


@kernel_for("nonzero_rows")
def nonzero_rows(self):
    found = positions(self if self.dtype == _BOOL else self != 0)
    return NotImplemented if found is None else found.T


@kernel_for("masked_select")
def masked_select(self, mask):
    scalar = _MOVED.get(self.itemsize)
    if scalar is None or mask.dtype != _BOOL or self.shape != mask.shape or not (is_plain(self) and is_plain(mask)):
        return NotImplemented
    starts, total = _starts(mask)
    out = np.empty(total, self.dtype)
    _run(_kernel("selected_program", scalar, lanes(self.itemsize)), self.size)(mask, starts, mask.size, self, out)
    return out


@kernel_for("masked_scatter_")
def masked_scatter_(self, mask, source):
    scalar = _MOVED.get(self.itemsize)
    if scalar is None or mask.dtype != _BOOL or self.shape != mask.shape or not (is_plain(self) and is_plain(mask)):
        return NotImplemented
    if source.dtype != self.dtype or np.may_share_memory(self, source) or np.may_share_memory(self, mask):
        return NotImplemented
    starts, total = _starts(mask)
    if not 0 < total <= source.size:
        return NotImplemented
    source = np.ascontiguousarray(source)
    _run(_kernel("scattered_program", scalar), self.size)(mask, starts, mask.size, source, total - 1, self)
    return None


@kernel_for("masked_scatter")
def masked_scatter(self, mask, source):
    result = copied(self)
    return NotImplemented if masked_scatter_(result, mask, source) is NotImplemented else result


# ---------------------------------------------------------------- positions for every dimension


def _flat_places(builder, numbers, lengths):
    """(the places in memory that coordinates mean, negative ones counted from the end; whether all of them exist)."""
    place, inside = None, None
    for number, length in zip(numbers, lengths):
        length = builder.value(length, number.type)
        zero = builder.constant(0, number.type)
        number = builder.select(number < zero, number + length, number)
        exists = (number >= zero) & (number < length)
        inside = exists if inside is None else inside & exists
        place = number if place is None else place * length + number
    return place, inside


def taken_program(scalar, dimensions, width):
    """``(x, out, outside, index0, ..., length0, ..., count, chunks)``: out[i] = x[index0[i], index1[i], ...].

    ``outside`` gets for each chunk whether a position does not exist; such elements are not read.
    """
    indices = [(f"index{i}", "i64*") for i in range(dimensions)]
    sizes = [(f"length{i}", "i64") for i in range(dimensions)] + [("count", "i64"), ("chunks", "i64")]
    builder = Builder("taken", [("x", scalar + "*"), ("out", scalar + "*"), ("outside", "bool*"), *indices, *sizes])
    x, out, outside, *rest = builder.parameters
    indices, lengths, (count, chunks) = rest[:dimensions], rest[dimensions:-2], rest[-2:]
    with builder.parallel(chunks) as chunk:

        def body(index, mask, carry):
            numbers = [builder.load(each, index, width, mask) for each in indices]
            place, inside = _flat_places(builder, numbers, lengths)
            wrong = ~inside
            if mask is not None:
                inside, wrong = inside & mask, wrong & mask
            builder.store(builder.gather(x, place, inside), out, index, mask)
            return [carry[0] | wrong]

        none = builder.constant(False, f"boolx{width}")
        first, end = chunk * count // chunks, (chunk + 1) * count // chunks
        (wrong,) = builder.for_lanes(first, end, width, body, [none])
        builder.store(builder.reduce(wrong, "or"), outside, chunk)
    return Program("taken", [builder.function])


def places_program(dimensions, width):
    """``(out, outside, index0, ..., length0, ..., count, chunks)``: the coordinates index0[i], index1[i], ... as one place in
    memory. ``outside`` as of `taken_program`."""
    indices = [(f"index{i}", "i64*") for i in range(dimensions)]
    sizes = [(f"length{i}", "i64") for i in range(dimensions)] + [("count", "i64"), ("chunks", "i64")]
    builder = Builder("places", [("out", "i64*"), ("outside", "bool*"), *indices, *sizes])
    out, outside, *rest = builder.parameters
    indices, lengths, (count, chunks) = rest[:dimensions], rest[dimensions:-2], rest[-2:]
    with builder.parallel(chunks) as chunk:

        def body(index, mask, carry):
            place, inside = _flat_places(builder, [builder.load(each, index, width, mask) for each in indices], lengths)
            builder.store(place, out, index, mask)
            return [carry[0] | (~inside if mask is None else ~inside & mask)]

        none = builder.constant(False, f"boolx{width}" if width > 1 else "bool")
        (wrong,) = builder.for_lanes(chunk * count // chunks, (chunk + 1) * count // chunks, width, body, [none])
        builder.store(builder.reduce(wrong, "or"), outside, chunk)
    return Program("places", [builder.function])


def flat_places(indices, lengths):
    """The places that coordinates mean in contiguous memory of some lengths, negative ones counted from the end; None where
    there are none. ``indices`` are int64 arrays of one shape, one for each of ``lengths``."""
    shape, indices = indices[0].shape, [np.ascontiguousarray(index) for index in indices]
    if len(indices) > _MOST_DIMENSIONS:
        return None
    out, count = np.empty(shape, np.int64), indices[0].size
    chunks = _chunks(count)
    outside = np.empty(chunks, np.bool_)
    _run(_kernel("places_program", len(indices), lanes(8)), count)(out, outside, *indices, *lengths, count, chunks)
    return None if outside.any() else out


def _chunks(count):
    return max(1, min(64, count >> 12))


def _fit(array, indices):
    """Whether there is an int64 array for each dimension of a contiguous array, all of one shape."""
    return (
        len(indices) == array.ndim <= _MOST_DIMENSIONS
        and all(i is not None and i.dtype == _INT64 and i.shape == indices[0].shape for i in indices)
        and is_plain(array)
    )


def taken(array, indices):
    """``array[indices]`` where there are positions for every dimension; None where NumPy has to do it."""
    scalar = _MOVED.get(array.itemsize)
    if scalar is None or not array.size or not indices or not _fit(array, indices) or indices[0].size < _WORTHWHILE:
        return None
    shape, indices = indices[0].shape, [np.ascontiguousarray(index) for index in indices]
    out, count = np.empty(shape, array.dtype), math.prod(shape)
    chunks = _chunks(count)
    outside = np.empty(chunks, np.bool_)
    kernel = _kernel("taken_program", scalar, array.ndim, lanes(array.itemsize))
    _run(kernel, count)(array, out, outside, *indices, *array.shape, count, chunks)
    return None if outside.any() else out
