"""Arrays filled and copied, which many operations come down to; large ones by generated kernels."""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import copyto, narrowed
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
        copyto(target, source)
    else:
        with np.errstate(all="ignore"):
            copyto(target, narrowed(source, target.dtype), casting="unsafe")
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


def copied(view, dtype=None, strides=None):
    """A copy of an array, row by row or with these strides; in another dtype if one is given."""
    if dtype is not None and dtype != view.dtype:
        return write(np.ndarray(view.shape, dtype, None, 0, strides), view, "convert")
    if strides is not None:
        return write(np.ndarray(view.shape, view.dtype, None, 0, strides), view)
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


def progression(out, base, step, computed, first=0, direction=1, fused=False):
    """Fill a vector with ``base + step * (first + direction * i)``, computed in a dtype of its own; returns it.

    ``fused`` rounds once, not after the product.
    """
    elements, kernel = kernels.get("progression", _NONE)
    if out.size < elements or kernel(out, base, step, first, direction, computed, fused) is NotImplemented:
        places = np.arange(first, first + direction * out.size, direction).astype(computed, copy=False)
        found = fused_line(base, step, places) if fused else base + step * places
        copyto(out, found, casting="unsafe")
    return out


_HIGH = np.int64(-(1 << 27))  # the bits of a float64 number that make 26 of its digits


def fused_line(base, step, places):
    """``base + step * places`` for an array of whole numbers in a float dtype, rounded once, as a fused operation does."""
    if places.dtype == np.float32:  # products are exact in float64
        with np.errstate(all="ignore"):
            return (np.asarray(base, np.float64) + np.float64(step) * places).astype(np.float32)
    if places.dtype != np.float64 or not np.isfinite(step):
        return base + step * places
    # The step in two parts, of which each has exact products with the places; and what is lost when the first is added.
    high = (np.array(step, np.float64).view(np.int64) & _HIGH).view(np.float64)
    large, small = places * high, places * (step - high)
    found = base + large
    added = found - base
    lost = (base - (found - added)) + (large - added)
    return found + (lost + small)


def ramps(out, firsts, lengths, step):
    """Fill a vector of integers with ``firsts[i]``, ``firsts[i] + step``, ..., so many as ``lengths[i]``, for each i; returns it."""
    elements, kernel = kernels.get("ramps", _NONE)
    starts = np.cumsum(lengths) - lengths
    if out.size < elements or kernel(out, firsts, starts, step) is NotImplemented:
        found = np.repeat(firsts, lengths)
        if step:
            found += step * (np.arange(out.size) - np.repeat(starts, lengths))
        copyto(out, found, casting="unsafe")
    return out
