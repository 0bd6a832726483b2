"""Products of a matrix with one vector or a few, when both are contiguous over k: sums along the rows of the matrix.

What takes the time is to read the matrix once; so nothing is packed, and vectors run along k.
"""

from __future__ import annotations

from itertools import product

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import vector
from .matmul_micro import ACTIVATIONS, PLAIN
from .matmul_packing import PAIRS

SIZES = (
    "rows",
    "step",
    "vectors",
    "vector_step",
    "depth",
    "c_step",
    "chunk_rows",
    "parts",  # of one matrix
    "batch",
    "matrix_batch",
    "vectors_batch",
    "c_batch",
    "together",  # matrices in a chunk
    "chunks",
    "sums",  # that a chunk has at once, where they are rounded in the end
)  # numbers the program reads
FEW = 8  # vectors for which the matrix is read again from a cache
# Number of registers -> vectors -> rows that are multiplied at once with them: enough sums to keep the multipliers busy.
_ROWS = {32: {1: 8, 2: 8, 4: 4}, 16: {1: 8, 2: 4, 4: 2}}
_BLOCK = 8  # rows that one chunk has a multiple of
_LEAST = 1 << 14  # elements of the matrix that are worth a chunk
_STRETCH = 64  # vectors that are added to one another in a row: rounding errors of short sums are small


def dots_plan(rows, step, vectors, vector_step, depth, c_step, batch=1, batch_steps=(0, 0, 0)):
    """The numbers for a (rows, depth) matrix and so many vectors; ``c_step`` between results of different vectors.

    ``batch_steps`` are those between matrices, their vectors and their results.
    """
    blocks = -(-rows // _BLOCK)
    parts = max(1, min(blocks, 32, rows * depth // _LEAST))
    chunk_rows = -(-blocks // parts) * _BLOCK
    parts = -(-rows // chunk_rows)
    together = min(batch, max(1, _LEAST // (rows * depth)))
    chunks = -(-batch // together) * parts
    sums = chunk_rows * vectors
    return (
        rows,
        step,
        vectors,
        vector_step,
        depth,
        c_step,
        chunk_rows,
        parts,
        batch,
        *batch_steps,
        together,
        chunks,
        sums,
    )


def at_once(vectors):
    """How many vectors are multiplied at once where there are so many."""
    return max(count for count in (1, 2, 4) if count <= vectors)


def dots_program(storage, compute, packed, lanes, registers, matrix, epilogue, at_once):
    """As ``matmul_program``, with A or B^T (``matrix`` "a" or "b") as the matrix; nothing is packed, but pairs are multiplied
    where ``packed`` says so.

    The results for one vector lie side by side in C; there may be more vectors than are multiplied ``at_once``. There are
    no addend and no sums of rows, and ``resume`` must be 0. Sums in another type than C's wait in the workspace.
    """
    rows_at_once = _ROWS[registers][at_once]
    block = _block(storage, compute, packed, lanes, rows_at_once, at_once)
    parameters = [("a", f"{storage}*"), ("b", f"{storage}*"), ("c", f"{storage}*"), ("bias", f"{storage}*")]
    parameters += [("addend", f"{storage}*"), ("workspace", f"{compute}*"), ("sizes", "i64*"), ("alpha", compute)]
    builder = Builder("matmul_dots", [*parameters, ("resume", "i64"), ("row_sums", f"{storage}*")])
    a, b, c, bias, _, workspace, sizes, alpha, _, _ = builder.parameters
    size = {name: builder.load(sizes, i) for i, name in enumerate(SIZES)}
    held, given = (a, b) if matrix == "a" else (b, a)
    with builder.parallel(size["chunks"]) as chunk:
        item, part = chunk // size["parts"] * size["together"], chunk % size["parts"]
        first = part * size["chunk_rows"]
        last = builder.minimum(first + size["chunk_rows"], size["rows"])
        with builder.loop(item, builder.minimum(item + size["together"], size["batch"])) as one:
            matrix_of, vectors_of, results = (
                builder.offset(pointer, one.index * size[step])
                for pointer, step in ((held, "matrix_batch"), (given, "vectors_batch"), (c, "c_batch"))
            )
            sums, step = results, size["c_step"]
            if storage != compute:
                sums, step = builder.offset(workspace, builder.worker() * size["sums"] - first), size["chunk_rows"]
            place = sums, step, first, last
            _multiply_rows(builder, size, block, (rows_at_once, at_once), matrix_of, vectors_of, *place)
            if epilogue != PLAIN or storage != compute:
                _finish_rows(builder, size, compute, lanes, epilogue, bias, alpha, results, *place)
    return Program("matmul_dots", [block, builder.function])


def _multiply_rows(builder, size, block, at_once, matrix, vectors, sums, sums_step, first, last):
    """Rows ``first`` to ``last`` of one matrix times all its vectors, so many rows and vectors ``at_once``."""
    step, vector_step = size["step"], size["vector_step"]
    with builder.loop(first, last, at_once[0]) as row, builder.loop(0, size["vectors"], at_once[1]) as v:
        place = builder.offset(builder.offset(sums, v.index * sums_step), row.index)
        left, right = builder.offset(matrix, row.index * step), builder.offset(vectors, v.index * vector_step)
        counts = last - row.index, size["vectors"] - v.index
        builder.call(block, left, step, right, vector_step, size["depth"], place, sums_step, *counts)


def _finish_rows(builder, size, compute, lanes, epilogue, bias, alpha, results, sums, sums_step, first, last):
    """The epilogue for rows ``first`` to ``last``."""
    with builder.loop(0, size["vectors"]) as v:
        row, results_row = builder.offset(sums, v.index * sums_step), builder.offset(results, v.index * size["c_step"])

        def finish(index, mask, _):
            value = builder.load(row, index, lanes, mask)
            if epilogue.scaled:
                value = value * builder.splat(alpha, lanes)
            if epilogue.bias:
                value = value + builder.convert(builder.load(bias, index, lanes, mask), compute)
            if epilogue.activation:
                value = ACTIVATIONS[epilogue.activation](builder, value)
            builder.store(builder.convert(value, results.type.element.scalar), results_row, index, mask)

        builder.for_lanes(first, last, lanes, finish)


def _block(storage, compute, packed, lanes, row_count, vector_count):
    """Function: the sums over k of so many rows, ``step`` apart, times so many vectors.

    Where there are fewer, ``rows_left`` and ``vectors_left``, the last ones are taken again.
    """
    names = [("rows", f"{storage}*"), ("step", "i64"), ("vectors", f"{storage}*"), ("vector_step", "i64")]
    names += [("depth", "i64"), ("out", f"{compute}*"), ("out_step", "i64")]
    builder = Builder("dot_block", [*names, ("rows_left", "i64"), ("vectors_left", "i64")])
    rows, step, vectors, vector_step, depth, out, out_step, rows_left, vectors_left = builder.parameters
    places = [builder.minimum(rows_left - 1, i) for i in range(row_count)]
    others = [builder.minimum(vectors_left - 1, i) for i in range(vector_count)]
    lefts = [builder.offset(rows, place * step) for place in places]
    rights = [builder.offset(vectors, other * vector_step) for other in others]

    pairs = packed == PAIRS
    at_once, multiply = (2 * lanes, builder.dot) if pairs else (lanes, builder.fma)

    def fetch(pointer, index, mask):
        values = builder.load(pointer, index, at_once, mask)
        return builder.bitcast(values, PAIRS) if pairs else builder.convert(values, compute)

    def add(index, mask, sums):
        left, right = ([fetch(p, index, mask) for p in side] for side in (lefts, rights))
        return [multiply(x, y, total) for (x, y), total in zip(product(left, right), sums)]

    zeros = [builder.constant(0, vector(compute, lanes))] * (row_count * vector_count)
    with builder.loop(0, depth, _STRETCH * at_once, zeros) as stretch:
        end = builder.minimum(stretch.index + _STRETCH * at_once, depth)
        sums = builder.for_lanes(stretch.index, end, at_once, add, zeros)
        stretch.carry = [total + part for total, part in zip(stretch.carry, sums)]
    for (place, other), total in zip(product(places, others), stretch.results):
        builder.store(builder.reduce(total), out, other * out_step + place)
    return builder.function
