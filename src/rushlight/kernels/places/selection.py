"""Kernels of masks: where elements are True, the elements there, and elements picked by a position for each dimension."""

from __future__ import annotations

import functools

import numpy as np

from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import lanes
from ..planning.in_place import are_apart, on_copy
from ..planning.layout import Layout, Layouts, copies, is_plain
from ..planning.plan import Check, Condition, Launch, Made, Plan, View, left_to_numpy
from ..planning.registry import kernel_for
from ..planning.runner import plan_for

_CHUNK = 1 << 16  # elements of a mask
_MOST_DIMENSIONS = 5
_LONGEST = 1 << 52  # positions that double precision divides exactly
_MOVED = {4: "u32", 8: "u64"}  # an element's size -> as what it is moved
_THREADED_FROM = 1 << 14
_NANOSECONDS = 5000 / _THREADED_FROM  # for an element
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


def _starts(mask):
    """Where the results of each chunk of a mask begin, and at the end how many there are."""
    flat = mask.reshape(-1)
    counts = [np.count_nonzero(flat[i : i + _CHUNK]) for i in range(0, flat.size, _CHUNK)]
    starts = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts


# What the True elements of a mask are counted for has no plan: the numbers decide how large the results are, and no Layout
# says that. So it is with `positions`, `masked_select` and, in `sorting/radix.py`, `unique_parts`, and with bincount().


@functools.cache
def _kernel(build, *form):
    return compiled((build.__name__, *form), lambda: build(*form))


def _run(size, build, *form):
    kernel = _kernel(build, *form)
    return kernel.threaded if size >= _THREADED_FROM else kernel.alone


def positions(mask):
    """The coordinates of the True elements of a mask: an int64 array (dimensions, elements); None where NumPy finds them."""
    if mask.dtype != _BOOL or not is_plain(mask) or not 1 <= mask.ndim <= _MOST_DIMENSIONS or mask.size >= _LONGEST:
        return None
    starts = _starts(mask)
    found = np.empty((mask.ndim, starts.item(-1)), np.int64)
    _run(mask.size, positions_program, mask.ndim, lanes(8))(mask, starts, mask.size, *found, *mask.shape[1:])
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
    starts = _starts(mask)
    out = np.empty(starts.item(-1), self.dtype)
    _run(self.size, selected_program, scalar, lanes(self.itemsize))(mask, starts, mask.size, self, out)
    return out


def _last(starts, size):
    """The number of the last element of a source that is read; NotImplemented where there are too few, or none is."""
    total = starts.item(-1)
    return total - 1 if 0 < total <= size else NotImplemented


@plan_for("masked_scatter_")
def masked_scatter_(self: Layout, mask: Layout, source: Layout):
    scalar = _MOVED.get(self.itemsize)
    if scalar is None or mask != Layout(self.shape, _BOOL) or not self.is_plain or source.dtype != self.dtype:
        return None
    arguments = "mask", "starts", self.size, "source", "last", "self"
    launch = Launch(scattered_program, (scalar,), arguments, self.size * _NANOSECONDS)
    made = {"starts": Made(_starts, ("mask",)), "last": Made(_last, ("starts", source.size))}
    apart = [Condition(are_apart, ("self", "mask", "source"))]
    return Plan([launch], {}, copied=copies(source=source), in_place=("self",), made=made, conditions=apart)


masked_scatter = plan_for("masked_scatter")(on_copy(masked_scatter_.plan))


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


def _views_of(indices):
    """(names of the arrays of a list called "indices", views and copies for a plan)."""
    names = [f"index{i}" for i in range(len(indices))]
    copied = {name: None for name, index in zip(names, indices) if not index.is_plain}
    return names, {"views": {name: View("indices", index=i) for i, name in enumerate(names)}, "copied": copied}


def _checked(launch, out, chunks, **fields):
    check = Check("outside", left_to_numpy, ())
    return Plan([launch], {"out": out}, [("outside", chunks, _BOOL)], check=check, **fields)


@plan_for()
def flat_places(indices: Layouts, lengths):
    """The places that coordinates mean in contiguous memory of some lengths, negative ones counted from the end; NotImplemented
    where there are none. ``indices`` are int64 arrays of one shape, one for each of ``lengths``."""
    if len(indices) > _MOST_DIMENSIONS:
        return None
    (names, fields), out = _views_of(indices), Layout(indices[0].shape, _INT64)
    chunks = _chunks(out.size)
    arguments = "out", "outside", *names, *lengths, out.size, chunks
    launch = Launch(places_program, (len(indices), lanes(8)), arguments, out.size * _NANOSECONDS)
    return _checked(launch, out, chunks, **fields)


def _chunks(count):
    return max(1, min(64, count >> 12))


def taken(x, indices):
    """The Plan of ``x[indices]`` where there are positions for every dimension; None where there is no program."""
    scalar = _MOVED.get(x.itemsize)
    fits = len(indices) == x.ndim <= _MOST_DIMENSIONS and None not in indices and x.is_plain and x.size
    if scalar is None or not fits or any(i.dtype != _INT64 or i.shape != indices[0].shape for i in indices):
        return None
    (names, fields), out = _views_of(indices), Layout(indices[0].shape, x.dtype)
    chunks = _chunks(out.size)
    arguments = "self", "out", "outside", *names, *x.shape, out.size, chunks
    launch = Launch(taken_program, (scalar, x.ndim, lanes(x.itemsize)), arguments, out.size * _NANOSECONDS)
    return _checked(launch, out, chunks, pays=out.size >= _WORTHWHILE, **fields)
