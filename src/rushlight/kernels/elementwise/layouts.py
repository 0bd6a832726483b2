"""What convolutions take and give: which arrays have kernels, in which order their dimensions lie, copies in another."""

from __future__ import annotations

import numpy as np

from ...base.arrays import is_channels_last, strided_view
from ..language.value_types import scalar_of
from .calls import copy

SCALARS = ("f32", "f64", "f16", "bf16")


def common_scalar(*arrays):
    """The scalar of native floating-point arrays of one dtype that all have elements; else None."""
    kind = arrays[0].dtype
    scalar = scalar_of(kind)
    if scalar not in SCALARS or not kind.isnative or any(a.dtype != kind or not a.size for a in arrays):
        return None
    return scalar


def is_plain(*arrays):
    """Whether all are C-contiguous, aligned arrays of one native floating type, single or double, with elements."""
    return common_scalar(*arrays) in ("f32", "f64") and all(a.flags.c_contiguous and a.flags.aligned for a in arrays)


def is_deep(array):
    """Whether the channels of a dense array of images (or weights) lie side by side, as in channels_last."""
    return is_channels_last(array) and array.nbytes == _extent(array)


def is_deep_weight(array):
    """`is_deep` for a weight; that of lines counts as one of images of height 1, which PyTorch makes of it."""
    if array.ndim == 3:
        (samples, channels, length), (far, near, step) = array.shape, array.strides
        array = strided_view(array, (samples, channels, 1, length), (far, near, length * step, step))
    return is_deep(array)


def _extent(array):
    """Bytes from the first element to the end of the last."""
    return sum((n - 1) * step for n, step in zip(array.shape, array.strides)) + array.itemsize


def plain(array, dtype=None):
    """The array if it is C-contiguous, aligned and of the dtype, else such a copy."""
    dtype = dtype or array.dtype
    if array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned:
        return array
    return copied(array, np.empty(array.shape, dtype))


def copied(source, target):
    """``target``, with the numbers of ``source``."""
    if copy(source, out=target) is NotImplemented:
        target[...] = source
    return target


def empty(shape, dtype, deep):
    """A new array; ``deep``: with the channels, its second dimension, side by side."""
    if not deep:
        return np.empty(shape, dtype)
    return np.moveaxis(np.empty((shape[0], *shape[2:], shape[1]), dtype), -1, 1)


def given(found, dtype, deep):
    """A contiguous result in the dtype and order that it must have."""
    if found.dtype == dtype and not deep:
        return found
    return copied(found, empty(found.shape, dtype, deep))


def turned(array, deep):
    """The array if its dimensions lie in the wanted order, else a copy that does."""
    if is_deep(array) if deep else array.flags.c_contiguous:
        return array
    return copied(array, empty(array.shape, array.dtype, deep))


def rows_of(array):
    """The array, copied where it does not lie row by row; None where it is of no native floating type, single or double."""
    return plain(array) if common_scalar(array) in ("f32", "f64") else None
