"""Kernels of running sums and products along any dimension; float32 is added up in float64, as PyTorch does."""

from __future__ import annotations

import math

import numpy as np

from ..base import dtypes
from ..base.shapes import wrap_dim
from .builder import Builder
from .host import host
from .kernel import compiled
from .plans import Plans
from .program import Program
from .reduce import is_plain
from .reduce_programs import PART, ceiling, chunked
from .routing import kernel_for
from .value_types import NUMPY, pointer, scalar_of, vector

_THREADED_FROM = 16384  # elements
_INT64 = np.dtype(np.int64)

_calls = Plans()


def _combined(name, a, b):
    return a + b if name == "cumsum" else a * b


def _prefixes(builder, name, x, identity):
    """For each lane what it and all lanes before it come to: log2(lanes) steps, each twice as far back."""
    lanes, distance = x.type.lanes, 1
    while distance < lanes:
        back = [lane - distance if lane >= distance else lanes + lane for lane in range(lanes)]
        x = _combined(name, x, builder.shuffle(x, identity, back))
        distance *= 2
    return x


def build_rows(name, source, result, scalar, lanes):
    """The Program of scans along rows of (rows, length), one row after the other in each chunk."""
    parameters = [
        ("x", pointer(source)),
        ("out", pointer(result)),
        ("rows", "i64"),
        ("length", "i64"),
        ("chunk", "i64"),
    ]
    builder = Builder(name, parameters)
    x, out, rows, length, chunk = builder.parameters
    identity = builder.constant(int(name == "cumprod"), vector(scalar, lanes))

    def row(index):
        start = index * length
        source_row, result_row = builder.offset(x, start), builder.offset(out, start)

        def body(index, mask, carry):
            values = builder.convert(builder.load(source_row, index, lanes, mask), scalar)
            running = _combined(name, _prefixes(builder, name, values, identity), builder.splat(carry[0], lanes))
            builder.store(builder.convert(running, result), result_row, index, mask)
            return [builder.extract(running, lanes - 1)]

        builder.for_lanes(0, length, lanes, body, [builder.extract(identity, 0)])

    chunked(builder, rows, chunk, row)
    return Program(name, [builder.function])


def build_columns(name, source, result, scalar, lanes):
    """The Program of scans along the middle of (outer, length, inner): each lane runs down a column of its own."""
    sizes = ("outer", "length", "inner", "blocks", "chunk")
    builder = Builder(name, [("x", pointer(source)), ("out", pointer(result)), *((size, "i64") for size in sizes)])
    x, out, outer, length, inner, blocks, chunk = builder.parameters
    identity = builder.constant(int(name == "cumprod"), vector(scalar, lanes))

    def column(task):
        block = task % blocks
        start = task // blocks * (length * inner) + block * lanes
        mask = builder.first_lanes(builder.minimum(inner - block * lanes, lanes), lanes)
        with builder.loop(0, length, 1, [identity]) as loop:
            place = start + loop.index * inner
            values = builder.convert(builder.load(x, place, lanes, mask), scalar)
            loop.carry = [_combined(name, loop.carry[0], values)]
            builder.store(builder.convert(loop.carry[0], result), out, place, mask)

    chunked(builder, outer * blocks, chunk, column)
    return Program(name, [builder.function])


def _prepared(name, array, dim, kind):
    source, result = scalar_of(array.dtype), scalar_of(kind)
    if source is None or not array.ndim or not array.size or not array.dtype.isnative:
        return False
    axis = wrap_dim(dim, array.ndim)
    outer, length, inner = math.prod(array.shape[:axis]), array.shape[axis], math.prod(array.shape[axis + 1 :])
    scalar = {"f16": "f32", "bf16": "f32", "f32": "f64"}.get(result, result)
    lanes = host().vector_bytes // NUMPY[scalar].itemsize
    if inner == 1:
        build, sizes = build_rows, (outer, length, max(1, PART // length))
    else:
        lanes *= 1 if inner <= lanes else 2
        blocks = ceiling(inner, lanes)
        build, sizes = build_columns, (outer, length, inner, blocks, max(1, PART // (length * lanes)))
    options = (name, source, result, scalar, lanes)
    kernel = compiled((build.__name__ + " of scans", *options), lambda: build(*options))
    return kernel.threaded if array.size >= _THREADED_FROM else kernel.alone, sizes


def _scan(name, array, dim, dtype):
    kind = _INT64 if array.dtype.kind in "biu" else array.dtype
    if dtype is not None and dtype is not dtypes.from_numpy(kind):
        return NotImplemented
    key = (name, array.shape, array.dtype, dim)
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = _prepared(name, array, dim, kind)
    if found is False or not is_plain(array):
        return NotImplemented
    run, sizes = found
    out = np.empty(array.shape, kind)
    run(array, out, *sizes)
    return out


@kernel_for("cumsum")
def cumsum(self, dim, dtype):
    return _scan("cumsum", self, dim, dtype)


@kernel_for("cumprod")
def cumprod(self, dim, dtype):
    return _scan("cumprod", self, dim, dtype)
