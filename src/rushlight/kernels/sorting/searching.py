"""Binary search as a kernel: `searchsorted` and `bucketize`, many values at once."""

from __future__ import annotations

import math

import numpy as np

from ...ops.sort import ends_in_nan
from ..language.builder import Builder
from ..language.program import Program
from ..planning.layout import Layout, copies, lanes_for
from ..planning.plan import Condition, Launch, Plan
from ..planning.runner import plan_for

_CHUNK = 4096  # values
_NANOSECONDS = 1.25  # for a value
_LONGEST = 1 << 30  # elements of a sequence: places are counted in 32 bits
_SCALARS = frozenset(("f32", "f64", "i32", "i64"))


def program(scalar, stored, right, width):
    """``(sequence, values, places, rows, length, count)``: for each row, where its ``count`` values belong.

    The interval that may hold the place is halved as often as the length needs, for all lanes alike, without branches.
    An element lies before a value unless it is larger or, with ``right`` False, equal: NaN comes last.
    """
    sizes = [(name, "i64") for name in ("rows", "length", "count")]
    builder = Builder(
        "search", [("sequence", f"{scalar}*"), ("values", f"{scalar}*"), ("places", f"{stored}*"), *sizes]
    )
    sequence, values, places, rows, length, count = builder.parameters
    chunks = (count + (_CHUNK - 1)) // _CHUNK
    with builder.parallel(rows * chunks) as chunk:
        row, begin = chunk // chunks, chunk % chunks * _CHUNK
        elements = builder.offset(sequence, row * length)
        own, out = builder.offset(values, row * count), builder.offset(places, row * count)

        def before(place, value):
            element = builder.gather(elements, place)
            return ~(element > value) if right else ~(element >= value)

        def search(at, mask, carry):
            value = builder.load(own, at, width, mask)
            zero = builder.constant(0, f"i32x{width}")
            with builder.loop(0, builder.convert(_halvings(builder, length), "i64"), 1, [zero, length]) as loop:
                place, left = loop.carry
                half = left // 2
                step = builder.splat(builder.convert(half, "i32"), width)
                loop.carry = [builder.select(before(place + step - 1, value), place + step, place), left - half]
            place = loop.results[0]
            place = builder.select(before(place, value), place + 1, place)
            builder.store(builder.convert(place, stored), out, at, mask)

        builder.for_lanes(begin, builder.minimum(begin + _CHUNK, count), width, search)
    return Program("search", [builder.function])


def _halvings(builder, length):
    """How often ``length`` must be halved, the larger half kept, until one element is left: the bits of length - 1."""
    zero = builder.constant(0)
    with builder.loop(0, 31, 1, [zero, length - 1]) as loop:
        bits, rest = loop.carry
        loop.carry = [builder.select(rest > 0, bits + 1, bits), rest // 2]
    return loop.results[0]


def _is_searched(sequence):
    return not ends_in_nan(sequence)


@plan_for("search_positions")
def search_positions(sorted_sequence: Layout, self: Layout, out_int32, right):
    scalar = self.scalar
    length = sorted_sequence.shape[-1] if sorted_sequence.ndim else 0
    if scalar not in _SCALARS or sorted_sequence.dtype != self.dtype or not 0 < length < _LONGEST or not self.size:
        return None
    rows = math.prod(sorted_sequence.shape[:-1])
    form = scalar, "i32" if out_int32 else "i64", right, lanes_for(scalar)
    arguments = "sorted_sequence", "self", "places", rows, length, self.size // rows
    places = Layout(self.shape, np.dtype(np.int32 if out_int32 else np.int64))
    return Plan(
        [Launch(program, form, arguments, self.size * _NANOSECONDS)],
        {"places": places},
        copied=copies(sorted_sequence=sorted_sequence, self=self),
        conditions=[Condition(_is_searched, ("sorted_sequence",))],
    )
