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


def program(computed, stored, fused, width):
    """``out[i] = base + step * (first + direction * i)``, in the scalar type ``computed``; rounded once if ``fused``, else twice."""
    name = "progression"
    places = [("first", "i64"), ("direction", "i64"), ("count", "i64")]
    builder = Builder(name, [("out", stored + "*"), ("base", computed), ("step", computed), *places])
    out, base, step, first, direction, count = builder.parameters
    start, distance = builder.splat(base, width), builder.splat(step, width)
    lane = builder.iota(f"i64x{width}") * builder.splat(direction, width)
    with builder.parallel((count + _CHUNK - 1) // _CHUNK) as chunk:

        def numbers(index, mask, carry):
            place = builder.splat(first + direction * index, width) + lane
            place = builder.convert(place, computed)
            value = builder.fma(distance, place, start) if fused else start + distance * place
            builder.store(builder.convert(value, stored), out, index, mask)

        begin = chunk * _CHUNK
        builder.for_lanes(begin, builder.minimum(begin + _CHUNK, count), width, numbers)
    return Program(name, [builder.function])


def vectors_program(stored, group, width):
    """``out[i] = first + step * (i % group)``, where ``first = base + step * (i - i % group)`` is rounded to ``stored``, in f64;
    from ``whole`` on each number is a first one."""
    sizes = [(name, "i64") for name in ("whole", "count")]
    builder = Builder("vectors", [("out", stored + "*"), ("base", "f64"), ("step", "f64"), *sizes])
    out, base, step, whole, count = builder.parameters
    start, distance, lane = builder.splat(base, width), builder.splat(step, width), builder.iota(f"i64x{width}")
    none, within = builder.splat(builder.constant(0), width), builder.splat(builder.constant(group - 1), width)

    with builder.parallel((count + _CHUNK - 1) // _CHUNK) as chunk:

        def numbers(index, mask, carry):
            place = builder.splat(index, width) + lane
            inner = builder.select(place < builder.splat(whole, width), place & within, none)
            first = builder.fma(distance, builder.convert(place - inner, "f64"), start)
            first = builder.convert(builder.convert(first, stored), "f64")
            value = builder.fma(distance, builder.convert(inner, "f64"), first)
            builder.store(builder.convert(value, stored), out, index, mask)

        begin = chunk * _CHUNK
        builder.for_lanes(begin, builder.minimum(begin + _CHUNK, count), width, numbers)
    return Program("vectors", [builder.function])


def fill_vectors(out, base, step, group, whole):
    """Fill a contiguous float array with numbers ``step`` apart, counted anew in float64 from every ``group``-th one before ``whole``."""
    stored, width = scalar_of(out.dtype), lanes(8)
    kernel = compiled(("vectors", stored, group, width), lambda: vectors_program(stored, group, width))
    run = kernel.alone if out.size < _ALONE else kernel.threaded
    run(out, float(base), float(step), whole, out.size)


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


def fill(out, base, step, first, direction, computed, fused):
    """Fill a contiguous array of integers or floats; ``computed`` is the NumPy dtype of ``base`` and ``step``.

    ``fused``, for floats, rounds once.
    """
    computed, stored = scalar_of(np.dtype(computed)), scalar_of(out.dtype)
    width = lanes(8)  # places are counted in 64 bits
    kernel = compiled(("progression", computed, stored, fused, width), lambda: program(computed, stored, fused, width))
    number = int if NUMPY[computed].kind == "i" else float
    run = kernel.alone if out.size < _ALONE else kernel.threaded
    run(out, number(base), number(step), first, direction, out.size)
