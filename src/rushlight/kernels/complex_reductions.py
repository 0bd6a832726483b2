"""Sums, products and dot products of all elements of complex arrays."""

from __future__ import annotations

import numpy as np

from .builder import Builder
from .complex_functions import PARTS, SCALARS
from .host import host
from .kernel import compiled
from .program import Program
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


def program(name, scalar, lanes):
    """``(x, work, out, count, divisor)``, with ``y`` behind ``x`` where there are two operands: a reduction of ``count`` complex
    numbers whose parts are ``scalar``, divided by a real number. ``work`` has room for one of each part of `PART`."""
    term, merge, empty = _REDUCTIONS[name]
    given = ["x"] if term is None else ["x", "y"]
    arrays = [(array, f"{scalar}*") for array in (*given, "work", "out")]
    builder = Builder(f"complex_{name}", [*arrays, ("count", "i64"), ("divisor", scalar)])
    *pointers, work, out, count, divisor = builder.parameters
    even, odd = [2 * lane for lane in range(lanes)], [2 * lane + 1 for lane in range(lanes)]

    def reduced(pointers, end, term):
        """The parts of what ``end`` elements from the pointers on are reduced to."""
        span = RowSpan(builder, pointers, end, lanes, scalar)
        starts = [builder.constant(part, span.type) for part in empty]

        def take(pointers, index, mask, carry):
            both = None if mask is None else builder.first_lanes((end - index) * 2, 2 * lanes)
            loaded = [builder.load(pointer, index * 2, 2 * lanes, both) for pointer in pointers]
            numbers = [[builder.shuffle(each, each, side) for side in (even, odd)] for each in loaded]
            value = numbers[0] if term is None else term(*numbers)
            return merge(carry, [span.only(mask, part, start) for part, start in zip(value, starts)])

        return span.merged(starts, take, merge)

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


def run(name, arrays, divisor=1):
    """The reduction of contiguous arrays of one complex dtype and length, which is not 0, as an array without dimensions."""
    first = arrays[0]
    scalar, kind, size = SCALARS[first.dtype], PARTS[first.dtype], first.size
    lanes = host().vector_bytes // kind.itemsize * _VECTORS
    kernel = compiled(("complex reduction", name, scalar, lanes), lambda: program(name, scalar, lanes))
    out, work = np.empty((), first.dtype), np.empty(ceiling(size, PART), first.dtype)
    (kernel.threaded if size >= _THREADED_FROM else kernel.alone)(*arrays, work, out, size, float(divisor))
    return out
