"""The first elements in an order by kernels, for `topk`: see `leading_programs`."""

from __future__ import annotations

import numpy as np

from ..language.value_types import NUMPY
from ..machine.host import lanes
from ..places.indexing import gather
from ..planning.layout import Layout
from ..planning.plan import Launch, Plan
from ..planning.precision import in_single_precision
from ..planning.runner import plan_for
from . import leading_programs as programs
from .radix import in_rows, is_sorted_here, ordered

_CHUNKS = 16
_NANOSECONDS = 0.305  # for an element
_INT64 = np.dtype(np.int64)
# Few are kept in a heap: so many at most (64 rows of 10: 6 us against 37), or where there are so many times as many
# elements, which is when PyTorch does.
_FEW, _TIMES = 16, 64
_LONGEST = 1 << 31  # places are counted in the keys' type


@plan_for("topk_pair")
@in_single_precision()
def topk_pair(self: Layout, k, dim, largest, sorted):
    if not is_sorted_here(self) or self.scalar == "bool":
        return None
    rows, fields, back = in_rows(self, dim)
    if not 0 < k <= rows.shape[-1] < _LONGEST:
        return None
    leading = _leading(rows, k, bool(largest))
    values = Layout((*rows.shape[:-1], k), self.dtype)
    turned = {} if back == list(range(self.ndim)) else {"values": back, "places": back}
    return leading._replace(results={"values": values, "places": values.of(_INT64)}, turned=turned, **fields)


def _leading(rows, count, largest):
    """The Plan of the first elements of each of the "rows", and their places, in order, but for its results."""
    if count == rows.shape[-1]:
        launches, scratch = ordered(rows, largest, "rows")
        return Plan(launches, {}, scratch)
    length = rows.shape[-1]
    is_few = count <= _FEW or count * _TIMES <= length
    chunks = min(rows.size // length, _CHUNKS)
    key = np.dtype(NUMPY[programs.key_scalar(rows.scalar)])
    room = chunks * ((count if is_few else length) + programs.PENDING)
    scratch = [("leading_keys", room, key), ("leading_places", room, key)]
    form, sizes = (rows.scalar, largest, lanes(key.itemsize)), (rows.size // length, length, count)
    if is_few:
        arguments = "rows", "values", "places", "leading_keys", "leading_places", *sizes, count.bit_length() - 1, chunks
        return Plan([Launch(programs.few, form, arguments, rows.size * _NANOSECONDS)], {}, scratch)
    # The leading ones are found in any order, then sorted, and their places follow.
    found = Layout((*rows.shape[:-1], count), rows.dtype)
    scratch += [("found", found.size, found.dtype), ("found_places", found.size, _INT64), ("order", found.size, _INT64)]
    arguments = "rows", "found", "found_places", "leading_keys", "leading_places", *sizes, chunks
    launch = Launch(programs.many, form, arguments, rows.size * _NANOSECONDS)
    launches, memory = ordered(found, largest, "found", "values", "order")
    moved = gather.plan(found.of(_INT64), -1, found.of(_INT64), False)
    moved = moved.named({"self": "found_places", "index": "order", "out": "places"})
    return Plan([launch, *launches, *moved.launches], {}, [*scratch, *memory, *moved.scratch])
