"""Products with sparse matrices by kernels: sums of a dense matrix's rows, line by line, and products of rows with rows."""

from __future__ import annotations

import numpy as np

from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import lanes
from ..planning.registry import kernel_for
from .embedding_bags import pooled
from .indexing import ADDED, ALONE, POSITIONS, are_plain

_CHUNK = 1 << 13  # elements of rows that a chunk multiplies
_ENTRIES = 4  # whose products grow side by side


@kernel_for("sparse_line_sums")
def line_sums(lines, values, dense):
    """`sparse.row_products.line_sums`: bags of rows of ``dense``, each times its value."""
    if values.dtype not in ADDED or dense.dtype != values.dtype or lines.others.dtype not in POSITIONS:
        return NotImplemented
    dense, values = np.ascontiguousarray(dense), np.ascontiguousarray(values)
    if not lines.starts.size or not dense.size or not are_plain(dense, values, lines.others):
        return NotImplemented
    starts, ends = lines.starts[:-1], lines.starts[1:]
    return pooled(dense, lines.others, starts, ends, values, "sum", lines.order)[0] if starts.size else NotImplemented


def row_products(scalar, index_scalar, lanes):
    """``(rows, columns, left, right, out, width, count, share)``: out[i] = left[rows[i], :] times right[columns[i], :], added up.

    Chunks are ``share`` entries, `_ENTRIES` of them side by side.
    """
    arrays = [("rows", index_scalar), ("columns", index_scalar), ("left", scalar), ("right", scalar), ("out", scalar)]
    sizes = [(name, "i64") for name in ("width", "count", "share")]
    builder = Builder("entry", [*((name, kind + "*") for name, kind in arrays), *sizes])
    rows, columns, left, right, out, width, count, share = builder.parameters
    zero = builder.constant(0, left.type.element.with_lanes(lanes))

    def products(first, entries):
        pairs = []
        for entry in range(entries):
            places = [builder.convert(builder.load(each, first + entry), "i64") for each in (rows, columns)]
            pairs.append([builder.offset(each, place * width) for each, place in zip((left, right), places)])

        def step(at, mask, carry):
            return [
                builder.fma(builder.load(one, at, lanes, mask), builder.load(other, at, lanes, mask), total)
                for (one, other), total in zip(pairs, carry)
            ]

        for entry, total in enumerate(builder.for_lanes(0, width, lanes, step, [zero] * entries)):
            builder.store(builder.reduce(total), out, first + entry)

    with builder.parallel((count + share - 1) // share) as chunk:
        first, end = chunk * share, builder.minimum((chunk + 1) * share, count)
        whole = first + (end - first) // _ENTRIES * _ENTRIES
        with builder.loop(first, whole, _ENTRIES) as some:
            products(some.index, _ENTRIES)
        with builder.loop(whole, end) as one:
            products(one.index, 1)
    return Program("row_products", [builder.function])


@kernel_for("sparse_line_products")
def line_products(rows, columns, left, right):
    """`sparse.row_products.line_products`."""
    position = POSITIONS.get(rows.dtype)
    if left.dtype not in ADDED or right.dtype != left.dtype or position is None or columns.dtype != rows.dtype:
        return NotImplemented
    left, right, rows, columns = map(np.ascontiguousarray, (left, right, rows, columns))
    if not left.size or not are_plain(left, right):
        return NotImplemented
    found, width = np.empty(rows.size, left.dtype), left.shape[1]
    key = (ADDED[left.dtype], position, lanes(left.itemsize))
    kernel = compiled(("sparse_row_products", *key), lambda: row_products(*key))
    run = kernel.alone if rows.size * width <= ALONE else kernel.threaded
    run(rows, columns, left, right, found, width, rows.size, max(1, _CHUNK // width))
    return found
