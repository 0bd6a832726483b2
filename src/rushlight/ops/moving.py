"""Arrays filled and copied, which many operations come down to; large ones by generated kernels."""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import narrowed
from ..base.dtypes import STORED
from ..base.lazy import LazyArray
from ..base.limits import refusal_of

# What computes from how many elements on: (elements, function that may return NotImplemented). `kernels.routing`, which
# lies above this room, puts its own here.
kernels = {}
_NONE = 1 << 62, None
PLAIN_COPY = 1 << 17  # bytes of contiguous memory that one thread of NumPy copies as fast as several
_ROW = 32  # elements: of rows of so many the same is true


def write(target, source, use="copy"):
    """Copy an array into another one, to whose shape it is broadcast, converting as C does; returns the target."""
    if target.__class__ is LazyArray:
        _write_lazily(target, source)
        return target
    elements, kernel = kernels.get(use, _NONE)
    if target.size >= elements and not _is_plain(target, source) and kernel(source, target) is not NotImplemented:
        return target
    if target.dtype is source.dtype:
        np.copyto(target, source)
    else:
        with np.errstate(all="ignore"):
            np.copyto(target, narrowed(source, target.dtype), casting="unsafe")
    return target


def _write_lazily(target, source):
    """`write` into memory that is read conjugated or negated; into that of a meta tensor nothing is written."""
    if target.meta:
        return
    numbers = write(np.empty(target.shape, target.dtype.numpy), source)
    write(target.stored, LazyArray(numbers, target.conj, target.neg).resolved())


def _is_plain(target, source):
    """Whether this is a copy of little memory, contiguous or in rows."""
    if target.nbytes >= PLAIN_COPY or source.dtype is not target.dtype or source.shape != target.shape:
        return False
    if source.flags.c_contiguous and target.flags.c_contiguous:
        return True
    return source.ndim and source.shape[-1] >= _ROW and source.strides[-1] == target.strides[-1] == source.itemsize


def copied(view, dtype=None):
    """A copy of an array, row by row; in another dtype if one is given."""
    if dtype is not None and dtype != view.dtype:
        return write(np.empty(view.shape, dtype), view, "convert")
    if view.size < kernels.get("copy", _NONE)[0] or (view.nbytes < PLAIN_COPY and view.flags.c_contiguous):
        return view.copy()
    return write(np.empty(view.shape, view.dtype), view)


def filled(shape, value, dtype):
    """A new array with one value everywhere."""
    if math.prod(shape) >= kernels.get("fill", _NONE)[0] and dtype not in STORED:
        try:  # the package's own calls come here without a guard: an optimizer that makes its state
            made = np.empty(shape, dtype)
        except MemoryError as error:
            raise refusal_of(error) from None
        return write(made, np.asarray(value).astype(dtype), "fill")
    if value.__class__ is int and not value:
        return np.zeros(shape, dtype)
    found = np.empty(shape, dtype)
    found.fill(value)
    return found


def progression(out, base, step, computed, first=0, direction=1):
    """Fill a vector with ``base + step * (first + direction * i)``, computed in a dtype of its own; returns it."""
    elements, kernel = kernels.get("progression", _NONE)
    if out.size < elements or kernel(out, base, step, first, direction, computed) is NotImplemented:
        places = np.arange(first, first + direction * out.size, direction).astype(computed, copy=False)
        np.copyto(out, base + step * places, casting="unsafe")
    return out


def ramps(out, firsts, lengths, step):
    """Fill a vector of integers with ``firsts[i]``, ``firsts[i] + step``, ..., so many as ``lengths[i]``, for each i; returns it."""
    elements, kernel = kernels.get("ramps", _NONE)
    starts = np.cumsum(lengths) - lengths
    if out.size < elements or kernel(out, firsts, starts, step) is NotImplemented:
        found = np.repeat(firsts, lengths)
        if step:
            found += step * (np.arange(out.size) - np.repeat(starts, lengths))
        np.copyto(out, found, casting="unsafe")
    return out
