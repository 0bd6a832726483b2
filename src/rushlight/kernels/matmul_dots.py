"""Products of a matrix with one vector or a few, when both are contiguous over k: sums along the rows of the matrix.

What takes the time is to read the matrix once; so nothing is packed, and vectors run along k.
"""

from __future__ import annotations

from .builder import Builder
from .matmul_micro import ACTIVATIONS, PLAIN
from .program import Program
from .value_types import vector

SIZES = (
    "rows",
    "step",
    "vectors",
    "vector_step",
    "depth",
    "c_step",
    "chunk_rows",
    "chunks",
)  # numbers the program reads
FEW = 4  # vectors for which the matrix is read again from the nearest cache
_ROWS = 8  # sums at once: enough to keep the multipliers busy, and as many streams as are fetched ahead
_LEAST = 1 << 14  # elements of the matrix that are worth a chunk


def dots_plan(rows, step, vectors, vector_step, depth, c_step):
    """The numbers for a (rows, depth) matrix and so many vectors; ``c_step`` between results of different vectors."""
    blocks = -(-rows // _ROWS)
    chunks = max(1, min(blocks, 32, rows * depth // _LEAST))
    chunk_rows = -(-blocks // chunks) * _ROWS
    return (rows, step, vectors, vector_step, depth, c_step, chunk_rows, -(-rows // chunk_rows))


def dots_program(storage, lanes, matrix, epilogue):
    """As ``matmul_program`` for float32 and float64, with A or B^T (``matrix`` "a" or "b") as the matrix.

    The results for one vector lie side by side in C. There is no addend, and ``resume`` must be 0.
    """
    block = _block(storage, lanes)
    parameters = [("a", f"{storage}*"), ("b", f"{storage}*"), ("c", f"{storage}*"), ("bias", f"{storage}*")]
    parameters += [("addend", f"{storage}*"), ("workspace", f"{storage}*"), ("sizes", "i64*"), ("alpha", storage)]
    builder = Builder("matmul_dots", [*parameters, ("resume", "i64")])
    a, b, c, bias, _, _, sizes, alpha, _ = builder.parameters
    rows, step, vectors, vector_step, depth, c_step, chunk_rows, chunks = (
        builder.load(sizes, i) for i in range(len(SIZES))
    )
    held, given = (a, b) if matrix == "a" else (b, a)
    with builder.parallel(chunks) as chunk:
        first = chunk * chunk_rows
        last = builder.minimum(first + chunk_rows, rows)
        with builder.loop(first, last, _ROWS) as row, builder.loop(0, vectors) as v:
            count = builder.minimum(last - row.index, _ROWS)
            place = builder.offset(builder.offset(c, v.index * c_step), row.index)
            right = builder.offset(given, v.index * vector_step)
            builder.call(block, builder.offset(held, row.index * step), step, right, depth, place, count)
        if epilogue != PLAIN:
            with builder.loop(0, vectors) as v:
                results = builder.offset(c, v.index * c_step)

                def finish(index, mask, _):
                    value = builder.load(results, index, lanes, mask)
                    if epilogue.scaled:
                        value = value * builder.splat(alpha, lanes)
                    if epilogue.bias:
                        value = value + builder.load(bias, index, lanes, mask)
                    if epilogue.activation:
                        value = ACTIVATIONS[epilogue.activation](builder, value)
                    builder.store(value, results, index, mask)

                builder.for_lanes(first, last, lanes, finish)
    return Program("matmul_dots", [block, builder.function])


def _block(storage, lanes):
    """Function: the sums over k of ``count`` rows (at most _ROWS), ``step`` apart, times a vector."""
    parameters = [("rows", f"{storage}*"), ("step", "i64"), ("vector", f"{storage}*"), ("depth", "i64")]
    builder = Builder("dot_block", [*parameters, ("out", f"{storage}*"), ("count", "i64")])
    rows, step, right, depth, out, count = builder.parameters
    places = [builder.minimum(count - 1, i) for i in range(_ROWS)]  # beyond the last row, that one again
    pointers = [builder.offset(rows, place * step) for place in places]

    def add(index, mask, sums):
        x = builder.load(right, index, lanes, mask)
        return [builder.fma(builder.load(p, index, lanes, mask), x, s) for p, s in zip(pointers, sums)]

    sums = builder.for_lanes(0, depth, lanes, add, [builder.constant(0, vector(storage, lanes))] * _ROWS)
    for total, place in zip(sums, places):
        builder.store(builder.reduce(total), out, place)
    return builder.function
