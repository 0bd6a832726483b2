"""The first elements in an order by kernels, for `topk`: see `leading_programs`."""

from __future__ import annotations

import math

import numpy as np

from ...base.shapes import wrap_dim
from ...ops.moving import copied
from ..compiler.kernel import compiled
from ..elementwise.half_precision import by_single_precision
from ..language.value_types import NUMPY, scalar_of
from ..machine.host import lanes
from ..machine.scratch import scratch
from ..places.indexing import gather
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from . import leading_programs as programs
from .radix import in_order

_CHUNKS = 16
_ALONE = 1 << 14  # elements that are looked through before another thread has come to help
# Few are kept in a heap: so many at most (64 rows of 10: 6 us against 37), or where there are so many times as many
# elements, which is when PyTorch does.
_FEW, _TIMES = 16, 64
_LONGEST = 1 << 31  # places are counted in the keys' type

_calls = Plans()


@kernel_for("topk_pair")
@by_single_precision()
def topk_pair(self, k, dim, largest, sorted):
    if scalar_of(self.dtype) in (None, "bool", "f16", "bf16") or not self.dtype.isnative:
        return NotImplemented
    if not self.ndim or not self.size:
        return NotImplemented
    axis = wrap_dim(dim, self.ndim)
    if not 0 < k <= self.shape[axis] < _LONGEST:
        return NotImplemented
    is_last = axis == self.ndim - 1
    rows = self if is_last else np.moveaxis(self, axis, -1)
    values, places = _leading(rows if rows.flags.c_contiguous else copied(rows), k, bool(largest))
    if not is_last:
        values, places = [copied(np.moveaxis(found, -1, axis)) for found in (values, places)]
    return values, places


def _prepared(shape, dtype, count, largest):
    """(kernel's call, elements and dtype of scratch memory, sizes, whether a heap brings them in order)."""
    length = shape[-1]
    is_few = count <= _FEW or count * _TIMES <= length
    rows = math.prod(shape[:-1])
    chunks = min(rows, _CHUNKS)
    scalar = scalar_of(dtype)
    key = NUMPY[programs.key_scalar(scalar)]
    room = chunks * ((count if is_few else length) + programs.PENDING)
    build = programs.few if is_few else programs.many
    options = scalar, largest, lanes(key.itemsize)
    kernel = compiled((f"leading_{build.__name__}", *options), lambda: build(*options))
    levels = (count.bit_length() - 1,) if is_few else ()
    run = kernel.alone if rows * length < _ALONE else kernel.threaded
    return run, room, key, (rows, length, count, *levels, chunks), is_few


def _leading(array, count, largest):
    """(the first elements of each row of a C-contiguous array, their places), in order."""
    if count == array.shape[-1]:
        return in_order(array, largest)
    run, room, key, sizes, is_few = _calls.remembered((array.shape, array.dtype, count, largest), _prepared)
    values = np.empty((*array.shape[:-1], count), array.dtype)
    places = np.empty(values.shape, np.int64)
    run(array, values, places, scratch("leading keys", room, key), scratch("leading places", room, key), *sizes)
    if is_few:
        return values, places
    values, order = in_order(values, largest)
    found = gather(places, -1, order, False)
    return values, np.take_along_axis(places, order, -1) if found is NotImplemented else found
