"""Arithmetic progressions as kernels: what `arange` and `linspace` consist of, and many short ones behind each other."""

from __future__ import annotations

import numpy as np

from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, scalar_of
from ..machine.host import lanes

_CHUNK = 16384  # numbers
_ALONE = 32768  # numbers that are written before another thread has come to help


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


def ramps_program(stored, width):
    """``out[starts[i] + k] = firsts[i] + step * k`` for the numbers of each ramp i, which ends where the next one starts, in
    i64; a chunk is ``share`` of the ``ramps``, and ``starts`` has one more, the end."""
    sizes = [(name, "i64") for name in ("step", "ramps", "share")]
    builder = Builder("ramps", [("out", stored + "*"), ("firsts", "i64*"), ("starts", "i64*"), *sizes])
    out, firsts, starts, step, ramps, share = builder.parameters
    lane = builder.iota(f"i64x{width}") * builder.splat(step, width)
    with builder.parallel((ramps + share - 1) // share) as chunk:
        begin = chunk * share
        with builder.loop(begin, builder.minimum(begin + share, ramps)) as ramp:
            start, first = builder.load(starts, ramp.index), builder.load(firsts, ramp.index)

            def numbers(index, mask, carry):
                value = builder.splat(first + (index - start) * step, width) + lane
                builder.store(builder.convert(value, stored), out, index, mask)

            builder.for_lanes(start, builder.load(starts, ramp.index + 1), width, numbers)
    return Program("ramps", [builder.function])


def fill_ramps(out, firsts, starts, step):
    """Fill a contiguous vector of integers with a ramp from each of ``firsts`` on, which begin at ``starts``."""
    stored, width = scalar_of(out.dtype), lanes(8)
    if not out.flags.c_contiguous or stored is None or firsts.dtype != np.int64 or starts.dtype != np.int64:
        return NotImplemented
    kernel = compiled(("ramps", stored, width), lambda: ramps_program(stored, width))
    share = max(1, _CHUNK * starts.size // out.size)
    run = kernel.alone if out.size < _ALONE else kernel.threaded
    run(out, np.ascontiguousarray(firsts), np.append(starts, out.size), step, starts.size, share)


def fill(out, base, step, first, direction, computed):
    """Fill a contiguous array of integers or floats; ``computed`` is the NumPy dtype of ``base`` and ``step``."""
    computed, stored = scalar_of(np.dtype(computed)), scalar_of(out.dtype)
    width = lanes(8)  # places are counted in 64 bits
    kernel = compiled(("progression", computed, stored, width), lambda: program(computed, stored, width))
    number = int if NUMPY[computed].kind == "i" else float
    run = kernel.alone if out.size < _ALONE else kernel.threaded
    run(out, number(base), number(step), first, direction, out.size)
