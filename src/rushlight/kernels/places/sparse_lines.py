"""Products with sparse matrices by kernels: sums of a dense matrix's rows, line by line, and products of rows with rows."""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import lanes
from ..planning.layout import Layout, copies
from ..planning.plan import Launch, Plan, View
from ..planning.runner import plan_for
from .embedding_bags import pooled
from .indexing import ADDED, NANOSECONDS, POSITIONS

_CHUNK = 1 << 13  # elements of rows that a chunk multiplies
_ENTRIES = 4  # whose products grow side by side


@plan_for("sparse_line_sums")
def line_sums(starts: Layout, others: Layout, order: Layout | None, values: Layout, dense: Layout):
    """`sparse.row_products.line_sums`: bags of rows of ``dense``, each times its value; ``starts`` says where each begins, and the
    last one ends."""
    each = Layout((max(starts.size - 1, 0),), starts.dtype)
    if not dense.size or dense.dtype != values.dtype or not starts.is_plain:
        return None
    names = "dense", "others", "begin", "end", "values", "order"
    plan = pooled(dense.plain(), others, each, each, values.plain(), "sum", order, names)
    views = {"begin": View("starts", index=slice(None, -1)), "end": View("starts", index=slice(1, None))}
    if plan is None:
        return None
    places = plan.results["places"]
    return plan._replace(results={"found": plan.results["found"]}, scratch=[("places", *places[:2])],
                         views=views, copied=copies(dense=dense, values=values))  # fmt: skip


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


@plan_for("sparse_line_products")
def line_products(rows: Layout, columns: Layout, left: Layout, right: Layout):
    """`sparse.row_products.line_products`."""
    position = POSITIONS.get(rows.dtype)
    if left.dtype not in ADDED or right.dtype != left.dtype or position is None or columns.dtype != rows.dtype:
        return None
    if not left.size:
        return None
    found, width = Layout((rows.size,), left.dtype), left.shape[1]
    form = (ADDED[left.dtype], position, lanes(left.itemsize))
    arguments = "rows", "columns", "left", "right", "found", width, rows.size, max(1, _CHUNK // width)
    launch = Launch(row_products, form, arguments, rows.size * width * NANOSECONDS, "sparse_row_products")
    return Plan([launch], {"found": found}, copied=copies(rows=rows, columns=columns, left=left, right=right))
