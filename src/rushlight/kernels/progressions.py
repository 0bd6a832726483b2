"""Arithmetic progressions as a kernel: what `arange` and `linspace` consist of."""

from __future__ import annotations

import numpy as np

from .builder import Builder
from .host import lanes
from .kernel import compiled
from .program import Program
from .value_types import NUMPY, scalar_of

_CHUNK = 16384  # numbers


def program(computed, stored, width):
    """``out[i] = base + step * (first + direction * i)``, in the scalar type ``computed`` and rounded after each operation."""
    name = "progression"
    places = [("first", "i64"), ("direction", "i64"), ("count", "i64")]
    builder = Builder(name, [("out", stored + "*"), ("base", computed), ("step", computed), *places])
    out, base, step, first, direction, count = builder.parameters
    start, distance = builder.splat(base, width), builder.splat(step, width)
    lane = builder.iota(f"i64x{width}") * builder.splat(direction, width)
    with builder.parallel((count + _CHUNK - 1) // _CHUNK) as chunk:

        def numbers(index, mask, carry):
            place = builder.splat(first + direction * index, width) + lane
            value = start + distance * builder.convert(place, computed)
            builder.store(builder.convert(value, stored), out, index, mask)

        begin = chunk * _CHUNK
        builder.for_lanes(begin, builder.minimum(begin + _CHUNK, count), width, numbers)
    return Program(name, [builder.function])


def fill(out, base, step, first, direction, computed):
    """Fill a contiguous array of integers or floats; ``computed`` is the NumPy dtype of ``base`` and ``step``."""
    computed, stored = scalar_of(np.dtype(computed)), scalar_of(out.dtype)
    width = lanes(8)  # places are counted in 64 bits
    kernel = compiled(("progression", computed, stored, width), lambda: program(computed, stored, width))
    number = int if NUMPY[computed].kind == "i" else float
    kernel.threaded(out, number(base), number(step), first, direction, out.size)
