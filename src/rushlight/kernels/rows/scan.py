"""Kernels of running sums, products and extrema along any dimension.

Sums of float32 are added up in float64, as PyTorch does. Running extrema come with their positions: where an element
equals the extremum that has been reached, which makes running maxima of places.
"""

from __future__ import annotations

import math

import numpy as np

from ...base import dtypes
from ...base.shapes import wrap_dim
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, pointer, vector
from ..planning.layout import Layout, copies, lanes_for
from ..planning.plan import Launch, Plan
from ..planning.runner import plan_for
from .reduce_programs import PART, ceiling, chunked

_NANOSECONDS = 0.3  # for an element
_INT64 = np.dtype(np.int64)

_IDENTITIES = {"cumsum": 0, "cumprod": 1, "logcumsumexp": -math.inf}


def _combined(builder, name, before, x):
    if name in ("cumsum", "cumprod"):
        return before + x if name == "cumsum" else before * x
    if name == "logcumsumexp":
        larger = builder.maximum(before, x)
        rest = builder.math("log1p", builder.math("exp", builder.minimum(before, x) - larger))
        found = builder.select(abs(larger).equals(math.inf), larger, larger + rest)
    else:  # of equal elements the latter
        found = builder.maximum(before, x) if name == "cummax" else builder.minimum(before, x)
    return builder.select(before.differs(before), before, found) if x.type.is_float else found


def _identity(name, scalar):
    if name in _IDENTITIES:
        return _IDENTITIES[name]
    kind = np.dtype(NUMPY[scalar])
    if kind.kind == "f":
        return -math.inf if name == "cummax" else math.inf
    return getattr(np.iinfo(kind), "min" if name == "cummax" else "max")


def _prefixes(builder, name, x, identity):
    """For each lane what it and all lanes before it come to: log2(lanes) steps, each twice as far back."""
    lanes, distance = x.type.lanes, 1
    while distance < lanes:
        back = [lane - distance if lane >= distance else lanes + lane for lane in range(lanes)]
        x = _combined(builder, name, builder.shuffle(x, identity, back), x)
        distance *= 2
    return x


def _row_scan(name, source, result):
    """The Builder of a scan's program over rows of (rows, length)."""
    sizes = ("rows", "length", "chunk")
    return Builder(name, [("x", pointer(source)), ("out", pointer(result)), *((size, "i64") for size in sizes)])


def build_rows(name, source, result, scalar, lanes):
    """The Program of scans along rows of (rows, length), one row after the other in each chunk."""
    builder = _row_scan(name, source, result)
    x, out, rows, length, chunk = builder.parameters
    identity = builder.constant(_identity(name, scalar), vector(scalar, lanes))
    # Adding -0.0 changes nothing, not even zeros, and LLVM has no slow instruction for moving it in, as it has for 0.0.
    neutral = builder.constant(-0.0, identity.type) if name == "cumsum" and identity.type.is_float else identity

    def row(index):
        start = index * length
        source_row, result_row = builder.offset(x, start), builder.offset(out, start)

        def body(index, mask, carry):
            values = builder.convert(builder.load(source_row, index, lanes, mask), scalar)
            prefixes = _prefixes(builder, name, values, neutral)
            running = _combined(builder, name, carry[0], prefixes)
            builder.store(builder.convert(running, result), result_row, index, mask)
            # The last lane's result, but by one instruction from the one before: vectors wait for nothing else.
            return [_combined(builder, name, carry[0], builder.shuffle(prefixes, prefixes, [lanes - 1] * lanes))]

        builder.for_lanes(0, length, lanes, body, [identity])

    chunked(builder, rows, chunk, row)
    return Program(name, [builder.function])


_EXPONENTS = {"f32": 80.0, "f64": 700.0}  # of what is far from overflow and underflow, with many added up


def build_log_rows(name, source, result, scalar, lanes):
    """The Program of `logcumsumexp` along rows of (rows, length).

    Running sums of exponentials are carried with the maximum that has been subtracted: a vector takes one exp, and
    one log. Where its elements, or those before, are so far apart that some would be lost beside the largest, and where
    one is not finite, logarithms are added up pair by pair.
    """
    builder = _row_scan(name, source, result)
    x, out, rows, length, chunk = builder.parameters
    type = vector(scalar, lanes)
    least, neutral, one = (builder.constant(number, type) for number in (-math.inf, -0.0, 1.0))
    last = [lanes - 1] * lanes

    def sums(values, top, scale, total):
        """The logarithms where ``top`` is the largest element so far, and what is carried on."""
        if scale is not None:
            total = total * builder.math("exp", scale)
        whole = builder.select(top.equals(least), neutral, top)  # nothing but minus infinities so far: all sums are 0
        parts = _prefixes(builder, "cumsum", builder.math("exp", values - whole), neutral)
        return [builder.math("log", total + parts) + top, top, total + builder.shuffle(parts, parts, last)]

    def pairs(values, before, total):
        before = before + builder.math("log", total)
        found = _combined(builder, name, before, _prefixes(builder, name, values, least))
        return [found, builder.shuffle(found, found, last), one]

    def row(index):
        source_row, result_row = (builder.offset(each, index * length) for each in (x, out))

        # All vectors under a mask: that takes little beside the functions, which then stand in the code but once.
        with builder.loop(0, length, lanes, [least, one]) as loop:
            before, total = loop.carry
            mask = builder.first_lanes(length - loop.index, lanes)
            values = builder.convert(builder.load(source_row, loop.index, lanes, mask), scalar)
            values = builder.select(mask, values, least)
            top = builder.maximum(before, builder.splat(builder.reduce(values, "max"), lanes))
            lowest = top - _EXPONENTS[scalar]
            near = (values >= lowest) | values.equals(least)
            near = near & ((before >= lowest) | before.equals(least)) & (top < math.inf)
            found, *loop.carry = builder.choose(
                builder.reduce(near, "and"),
                lambda: builder.choose(
                    builder.reduce(top > before, "or"),
                    lambda: sums(values, top, before - top, total),
                    lambda: sums(values, top, None, total),
                ),
                lambda: pairs(values, before, total),
            )
            builder.store(builder.convert(found, result), result_row, loop.index, mask)

    chunked(builder, rows, chunk, row)
    return Program(name, [builder.function])


def build_columns(name, source, result, scalar, lanes):
    """The Program of scans along the middle of (outer, length, inner): each lane runs down a column of its own."""
    sizes = ("outer", "length", "inner", "blocks", "chunk")
    builder = Builder(name, [("x", pointer(source)), ("out", pointer(result)), *((size, "i64") for size in sizes)])
    x, out, outer, length, inner, blocks, chunk = builder.parameters
    identity = builder.constant(_identity(name, scalar), vector(scalar, lanes))

    def column(task):
        block = task % blocks
        start = task // blocks * (length * inner) + block * lanes
        mask = builder.first_lanes(builder.minimum(inner - block * lanes, lanes), lanes)
        with builder.loop(0, length, 1, [identity]) as loop:
            place = start + loop.index * inner
            values = builder.convert(builder.load(x, place, lanes, mask), scalar)
            loop.carry = [_combined(builder, name, loop.carry[0], values)]
            builder.store(builder.convert(loop.carry[0], result), out, place, mask)

    chunked(builder, outer * blocks, chunk, column)
    return Program(name, [builder.function])


def _reached(values, running):
    """Where an element is the extremum so far."""
    hit = values.equals(running)
    return hit | (values.differs(values) & running.differs(running)) if values.type.is_float else hit


def build_extreme_rows(name, source, scalar, place, lanes):
    """The Program of running extrema and their positions along rows of (rows, length)."""
    kinds = [("x", pointer(source)), ("out", pointer(source)), ("places", pointer("i64"))]
    builder = Builder(name, [*kinds, ("rows", "i64"), ("length", "i64"), ("chunk", "i64")])
    x, out, places, rows, length, chunk = builder.parameters
    identity = builder.constant(_identity(name, scalar), vector(scalar, lanes))
    steps, zeros = builder.iota(vector(place, lanes)), builder.constant(0, vector(place, lanes))

    def row(index):
        source_row, result_row, place_row = (builder.offset(start, index * length) for start in (x, out, places))

        def body(index, mask, carry):
            before, place_before = (builder.splat(value, lanes) for value in carry)
            values = builder.convert(builder.load(source_row, index, lanes, mask), scalar)
            running = _combined(builder, name, before, _prefixes(builder, name, values, identity))
            here = steps + builder.splat(builder.convert(index, place), lanes)
            reached = builder.select(_reached(values, running), here, place_before)
            reached = _prefixes(builder, "cummax", reached, zeros)
            builder.store(builder.convert(running, source), result_row, index, mask)
            builder.store(builder.convert(reached, "i64"), place_row, index, mask)
            return [builder.extract(running, lanes - 1), builder.extract(reached, lanes - 1)]

        builder.for_lanes(0, length, lanes, body, [builder.extract(identity, 0), builder.extract(zeros, 0)])

    chunked(builder, rows, chunk, row)
    return Program(name, [builder.function])


def build_extreme_columns(name, source, scalar, place, lanes):
    """The same along the middle of (outer, length, inner): each lane runs down a column of its own."""
    kinds = [("x", pointer(source)), ("out", pointer(source)), ("places", pointer("i64"))]
    sizes = ("outer", "length", "inner", "blocks", "chunk")
    builder = Builder(name, [*kinds, *((size, "i64") for size in sizes)])
    x, out, places, outer, length, inner, blocks, chunk = builder.parameters
    identity = builder.constant(_identity(name, scalar), vector(scalar, lanes))
    zeros = builder.constant(0, vector(place, lanes))

    def column(task):
        block = task % blocks
        start = task // blocks * (length * inner) + block * lanes
        mask = builder.first_lanes(builder.minimum(inner - block * lanes, lanes), lanes)
        with builder.loop(0, length, 1, [identity, zeros]) as loop:
            at = start + loop.index * inner
            values = builder.convert(builder.load(x, at, lanes, mask), scalar)
            running = _combined(builder, name, loop.carry[0], values)
            here = builder.splat(builder.convert(loop.index, place), lanes)
            reached = builder.select(_reached(values, running), here, loop.carry[1])
            loop.carry = [running, reached]
            builder.store(builder.convert(running, source), out, at, mask)
            builder.store(builder.convert(reached, "i64"), places, at, mask)

    chunked(builder, outer * blocks, chunk, column)
    return Program(name, [builder.function])


_ACCUMULATED = {"f16": "f32", "bf16": "f32", "f32": "f64"}
_COMPARED = {"f16": "f32", "bf16": "f32", "i8": "i32", "u8": "i32", "i16": "i32", "u16": "i32", "u32": "i64"}


def _plan(name, x, dim, source, result, results):
    """The Plan of a scan whose elements are read as ``source`` and whose results are ``result``, scalar types."""
    if None in (source, result) or not x.ndim or not x.size:
        return None
    axis = wrap_dim(dim, x.ndim)
    outer, length, inner = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    is_extreme = name in ("cummax", "cummin")
    scalar = (_COMPARED if is_extreme else _ACCUMULATED).get(result, result)
    if is_extreme and length >= 1 << 31:
        return None
    width = lanes_for(scalar)
    if inner == 1:
        build = build_extreme_rows if is_extreme else build_log_rows if name == "logcumsumexp" else build_rows
        sizes = (outer, length, max(1, PART // length))
    else:
        width *= 1 if inner <= width else 2
        blocks = ceiling(inner, width)
        build = build_extreme_columns if is_extreme else build_columns
        sizes = (outer, length, inner, blocks, max(1, PART // (length * width)))
    place = f"i{8 * NUMPY[scalar].itemsize}"
    form = (name, source, scalar, place, width) if is_extreme else (name, source, result, scalar, width)
    launch = Launch(build, form, ("self", *results, *sizes), x.size * _NANOSECONDS, name)
    return Plan([launch], results, copied=copies(self=x))


def _sums(name, x, dim, dtype):
    kind = _INT64 if x.dtype.kind in "biu" else x.dtype
    if dtype is not None and dtype is not dtypes.from_numpy(kind):
        return None
    out = Layout(x.shape, kind)
    return _plan(name, x, dim, x.scalar, out.scalar, {"out": out})


@plan_for("cumsum")
def cumsum(self: Layout, dim, dtype):
    return _sums("cumsum", self, dim, dtype)


@plan_for("cumprod")
def cumprod(self: Layout, dim, dtype):
    return _sums("cumprod", self, dim, dtype)


@plan_for("logcumsumexp")
def logcumsumexp(self: Layout, dim):
    return None if self.dtype.kind in "biu" else _sums("logcumsumexp", self, dim, None)


def _extremes(name, x, dim):
    scalar = "u8" if x.scalar == "bool" else x.scalar
    return _plan(name, x, dim, scalar, scalar, {"values": x.plain(), "places": Layout(x.shape, _INT64)})


@plan_for("cummax_pair")
def cummax_pair(self: Layout, dim):
    return _extremes("cummax", self, dim)


@plan_for("cummin_pair")
def cummin_pair(self: Layout, dim):
    return _extremes("cummin", self, dim)
