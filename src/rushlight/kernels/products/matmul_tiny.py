"""Products of many tiny matrices: each of them number by number, without loops, so that nothing but numbers is fetched."""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program

LARGEST = 4  # rows, columns and depth at most
_LEAST = 1 << 14  # multiplications that are worth a chunk
_SIZES = ("batch", "a_batch", "b_batch", "together", "chunks")  # numbers the program reads


def dense_form(rows, columns, row_step, column_step):
    """How a matrix lies in memory: "rows" or "columns", one after the other; None where neither."""
    if (column_step == 1 or columns == 1) and (row_step == columns or rows == 1):
        return "rows"
    if (row_step == 1 or rows == 1) and (column_step == rows or columns == 1):
        return "columns"
    return None


def tiny_plan(batch, m, n, k, a_batch, b_batch):
    """The numbers for so many products, with such steps between matrices."""
    together = min(batch, max(1, _LEAST // (m * n * k)))
    return batch, a_batch, b_batch, together, -(-batch // together)


def tiny_program(storage, m, n, k, a_form, b_form):
    """As ``matmul_program`` for (m, k) and (k, n) matrices of float32 or float64 in such forms; C lies row by row.

    There are no bias, addend, alpha and row sums, and ``resume`` must be 0.
    """
    parameters = [(name, f"{storage}*") for name in ("a", "b", "c", "bias", "addend", "workspace")]
    parameters += [("sizes", "i64*"), ("alpha", storage), ("resume", "i64"), ("row_sums", f"{storage}*")]
    builder = Builder("matmul_tiny", parameters)
    a, b, c, _, _, _, sizes, *_ = builder.parameters
    size = {name: builder.load(sizes, i) for i, name in enumerate(_SIZES)}
    with builder.parallel(size["chunks"]) as chunk:
        first = chunk * size["together"]
        with builder.loop(first, builder.minimum(first + size["together"], size["batch"])) as each:
            left = _loaded(builder, a, each.index * size["a_batch"], m, k, a_form)
            right = _loaded(builder, b, each.index * size["b_batch"], k, n, b_form)
            out = builder.offset(c, each.index * (m * n))
            for i in range(m):
                for j in range(n):
                    total = left[i, 0] * right[0, j]
                    for p in range(1, k):
                        total = builder.fma(left[i, p], right[p, j], total)
                    builder.store(total, out, i * n + j)
    return Program("matmul_tiny", [builder.function])


def _loaded(builder, matrices, start, rows, columns, form):
    """The numbers of one matrix, by row and column."""
    place = builder.offset(matrices, start)
    steps = (columns, 1) if form == "rows" else (1, rows)
    return {(i, j): builder.load(place, i * steps[0] + j * steps[1]) for i in range(rows) for j in range(columns)}
