"""Sums, products and dot products of all elements of complex arrays."""

from __future__ import annotations

import numpy as np

from ..compiler.kernel import compiled
from ..elementwise.complex_functions import PARTS, SCALARS
from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import host
from .reduce_programs import PART, ceiling
from .spans import RowSpan, add_each

_THREADED_FROM = 32768  # complex numbers
_VECTORS = 4  # side by side, so that their additions overlap


def _multiplied(a, b):
    return [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]


def _multiplied_conjugate(a, b):
    return [a[0] * b[0] + a[1] * b[1], a[0] * b[1] - a[1] * b[0]]


# name -> what makes a term of the operands (None: it is the operand), how terms are merged, the empty one
_REDUCTIONS = {
    "sum": (None, add_each, (0.0, 0.0)),
    "prod": (None, _multiplied, (1.0, 0.0)),
    "dot": (_multiplied, add_each, (0.0, 0.0)),
    "vdot": (_multiplied_conjugate, add_each, (0.0, 0.0)),
}


def _reducer(builder, name, scalar, lanes):
    """A function ``reduced(pointers, end, term)``: the parts of what ``end`` numbers from the pointers on are reduced to."""
    _, merge, empty = _REDUCTIONS[name]
    even, odd = [2 * lane for lane in range(lanes)], [2 * lane + 1 for lane in range(lanes)]

    def reduced(pointers, end, term):
        span = RowSpan(builder, pointers, end, lanes, scalar)
        starts = [builder.constant(part, span.type) for part in empty]

        def take(pointers, index, mask, carry):
            both = None if mask is None else builder.first_lanes((end - index) * 2, 2 * lanes)
            loaded = [builder.load(pointer, index * 2, 2 * lanes, both) for pointer in pointers]
            numbers = [[builder.shuffle(each, each, side) for side in (even, odd)] for each in loaded]
            value = numbers[0] if term is None else term(*numbers)
            return merge(carry, [span.only(mask, part, start) for part, start in zip(value, starts)])

        return span.merged(starts, take, merge)

    return reduced


def program(name, scalar, lanes):
    """``(x, work, out, count, divisor)``, with ``y`` behind ``x`` where there are two operands: a reduction of ``count`` complex
    numbers whose parts are ``scalar``, divided by a real number. ``work`` has room for one of each part of `PART`."""
    term = _REDUCTIONS[name][0]
    given = ["x"] if term is None else ["x", "y"]
    arrays = [(array, f"{scalar}*") for array in (*given, "work", "out")]
    builder = Builder(f"complex_{name}", [*arrays, ("count", "i64"), ("divisor", scalar)])
    *pointers, work, out, count, divisor = builder.parameters
    reduced = _reducer(builder, name, scalar, lanes)
    parts = (count + (PART - 1)) // PART
    with builder.parallel(parts) as number:
        first = number * PART
        moved = [builder.offset(pointer, first * 2) for pointer in pointers]
        for side, part in enumerate(reduced(moved, builder.minimum(count - first, PART), term)):
            builder.store(part, work, number * 2 + side)
    with builder.parallel(1):
        for side, part in enumerate(reduced([work], parts, None)):
            builder.store(part / divisor, out, side)
    return Program(f"complex_{name}", [builder.function])


def rows_program(name, scalar, lanes):
    """``(x, out, rows, columns, share, divisor)``: each row of a matrix of complex numbers reduced, ``share`` rows a chunk."""
    extents = [*((extent, "i64") for extent in ("rows", "columns", "share")), ("divisor", scalar)]
    builder = Builder(f"complex_rows_{name}", [("x", f"{scalar}*"), ("out", f"{scalar}*"), *extents])
    x, out, rows, columns, share, divisor = builder.parameters
    reduced = _reducer(builder, name, scalar, lanes)
    with builder.parallel((rows + share - 1) // share) as number:
        first = number * share
        with builder.loop(first, builder.minimum(first + share, rows)) as row:
            found = reduced([builder.offset(x, row.index * columns * 2)], columns, None)
            for side, part in enumerate(found):
                builder.store(part / divisor, out, row.index * 2 + side)
    return Program(f"complex_rows_{name}", [builder.function])


def _kernel(name, dtype, build, count):
    """What is called for ``count`` numbers of a dtype."""
    scalar, lanes = SCALARS[dtype], host().vector_bytes // PARTS[dtype].itemsize * _VECTORS
    kernel = compiled(("complex reduction", build.__name__, name, scalar, lanes), lambda: build(name, scalar, lanes))
    return kernel.threaded if count >= _THREADED_FROM else kernel.alone


def run(name, arrays, divisor=1):
    """The reduction of contiguous arrays of one complex dtype and length, which is not 0, as an array without dimensions."""
    first = arrays[0]
    out, work = np.empty((), first.dtype), np.empty(ceiling(first.size, PART), first.dtype)
    _kernel(name, first.dtype, program, first.size)(*arrays, work, out, first.size, float(divisor))
    return out


def run_rows(name, array, columns, shape, divisor=1):
    """The reduction of each ``columns`` numbers in a row of a contiguous complex array, as an array of a shape."""
    out, share = np.empty(shape, array.dtype), max(1, PART // columns)
    call = _kernel(name, array.dtype, rows_program, array.size)
    call(array, out, array.size // columns, columns, share, float(divisor))
    return out
