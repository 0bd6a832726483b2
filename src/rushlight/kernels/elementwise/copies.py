"""Copies by kernels: clones, conversions between dtypes, writing into existing memory, fills, also of masked elements."""

from __future__ import annotations

import numpy as np

from ...base.device import contiguous_format, preserve_format
from ...base.scalars import fitted
from ...base.shapes import broadcast_shapes
from ...ops.copy import is_expanded, is_same_window, refuse_overlap, refuse_shared
from ...ops.moving import PLAIN_COPY
from ...ops.table import TABLE
from ..planning.registry import kernel_for
from .calls import copy, run


def _target(array, dtype, memory_format):
    """An array for a copy: the order of dimensions is kept where the array is dense. None for other formats."""
    if memory_format not in (None, preserve_format, contiguous_format):
        return None
    if memory_format is contiguous_format or array.flags.c_contiguous or 0 in array.strides:
        return np.empty(array.shape, dtype)
    return np.empty_like(array, dtype)


@kernel_for("clone")
def clone(self, memory_format):
    if self.flags.c_contiguous and self.nbytes < PLAIN_COPY:
        return NotImplemented
    return _copied(self, self.dtype, memory_format)


@kernel_for("to_copy")
def to_copy(self, dtype, memory_format):
    return _copied(self, dtype.numpy, memory_format)


def _copied(array, dtype, memory_format):
    out = _target(array, dtype, memory_format)
    return NotImplemented if out is None else copy(array, out=out)


@kernel_for("copy_from")
def copy_from(self, src, non_blocking):
    if src.shape != self.shape or (np.may_share_memory(self, src) and is_same_window(self, src)):
        return NotImplemented
    refuse_shared(self, src)
    refuse_overlap(self)
    return _written(self, src)


@kernel_for("fill_number")
def fill_number(self, value):
    return NotImplemented if is_expanded(self) else _written(self, fitted(self.dtype, value))


@kernel_for("zero_")
def zero_(self):
    return NotImplemented if is_expanded(self) else _written(self, np.zeros((), self.dtype))


@kernel_for("masked_fill")
def masked_fill(self, mask, value):
    if mask.dtype.kind != "b" or getattr(value, "ndim", 0):
        return NotImplemented
    filler = fitted(self.dtype, value.item() if isinstance(value, np.ndarray) else value)
    out = np.empty(broadcast_shapes(mask.shape, self.shape), self.dtype)
    return run(TABLE["where_select"], [mask, filler, self], dtype=self.dtype, out=out)


@kernel_for("masked_fill_")
def masked_fill_(self, mask, value):
    if mask.dtype.kind != "b" or getattr(value, "ndim", 0) or broadcast_shapes(mask.shape, self.shape) != self.shape:
        return NotImplemented
    refuse_overlap(self)
    filler = fitted(self.dtype, value.item() if isinstance(value, np.ndarray) else value)
    found = run(TABLE["where_select"], [mask, filler, self], dtype=self.dtype, out=self)
    return NotImplemented if found is NotImplemented else None


@kernel_for("tril")
def tril(self, diagonal):
    return _triangle(self, diagonal, "le")


@kernel_for("triu")
def triu(self, diagonal):
    return _triangle(self, diagonal, "ge")


def _triangle(array, diagonal, comparison):
    if array.ndim < 2:
        return NotImplemented
    rows, columns = (np.arange(length, dtype=np.int32) for length in array.shape[-2:])
    limit = np.iinfo(np.int32).max
    rows += min(max(diagonal, -limit), limit - len(rows))
    inside = run(TABLE[comparison], [columns, rows[:, None]])
    if inside is NotImplemented:
        return NotImplemented
    return run(TABLE["where_select"], [inside, array, np.zeros((), array.dtype)], dtype=array.dtype)


@kernel_for("reshape_copy")
def reshape_copy(self, size):
    found = copy(self, out=np.empty(self.shape, self.dtype))
    return found if found is NotImplemented else found.reshape(size)


def _written(target, source):
    return NotImplemented if copy(source, out=target) is NotImplemented else None
