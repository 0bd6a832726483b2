"""What the parts of a key stand for: arrays of positions or masks, their common shape; under vmap, tensors of whole batches."""

from __future__ import annotations

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.lazy import is_meta, no_shape, plain
from ..base.scalars import largest_float
from ..kernels.routing import mask_positions
from ..kernels.rows.extremes import all_inside, extremes
from .base import Tensor
from .creation import array_from

_PLAIN, _WHOLE = largest_float(dtypes.float16), slice(None)


def _nowhere(array):
    """The array of an index that is a meta tensor: zeros, which lie within any dimension; masks would have to be looked at."""
    if array.dtype.kind == "b" or array.dtype.numpy == np.uint8:
        raise no_shape("nonzero")
    return np.zeros(array.shape, array.dtype.numpy)


def index_array(part):
    """The array of an index that is a tensor, an array or a sequence; numbers in arrays and sequences become int64.

    A tensor that differs between the entries of a vmap stays one: `is_batched`.
    """
    if isinstance(part, Tensor):
        values = getattr(part, "index_values", None)
        if is_meta(part._array):
            return _nowhere(part._array)
        return plain(part._array) if values is None else values()
    if not isinstance(part, (list, tuple, range, np.ndarray)):
        if isinstance(part, str):
            raise TypeError(hinted("new(): invalid data type 'str'", "a key is made of numbers, slices and tensors"))
        kind = "numpy.bool" if isinstance(part, np.bool_) else part.__class__.__name__
        raise IndexError(
            hinted(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
                f"{kind})",
                "convert it to one of these",
            )
        )
    array = part if isinstance(part, np.ndarray) else array_from(list(part), None)
    is_mask = array.dtype.kind == "b" or array.dtype == np.uint8
    return dtypes.interned(array) if is_mask else array.astype(np.int64)


def is_batched(index):
    """Whether an index is a tensor that holds positions for every entry of a batch."""
    return hasattr(index, "_edge")


def all_positions(index):
    """An array with every position of an index, those of all entries included."""
    return index.elements() if is_batched(index) else index


def check_batched(index):
    """Refuse indices that differ between the entries of a batch and are no positions."""
    name = index.dtype.name
    if name in ("bool", "uint8"):
        raise RuntimeError(
            hinted(
                "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing "
                "with a boolean mask.",
                "torch.where(mask, a, b) chooses element by element and keeps the shape",
            )
        )
    if name not in ("int32", "int64"):
        raise IndexError(
            hinted(
                "tensors used as indices must be long, int, byte or bool tensors",
                f"this index has dtype {index.dtype!r}; convert it with .long()",
            )
        )


def index_shape(tensor, indices):
    """The shape of ``tensor`` indexed by arrays, in PyTorch's words where they do not broadcast."""
    arrays = [i for i in indices if i is not None]
    inner = arrays[0].shape
    for array in arrays[1:]:
        if array.shape != inner:
            inner = _common_index_shape(arrays)
            break
    shape = tensor._array.shape
    rest = [n for n, i in zip(shape, (*indices, *(None,) * (len(shape) - len(indices)))) if i is None]
    places = [d for d, i in enumerate(indices) if i is not None]
    if places == list(range(places[0], places[-1] + 1)):
        at = places[0]
        return (*rest[:at], *inner, *rest[at:])
    return (*inner, *rest)


def _common_index_shape(arrays):
    try:
        return np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        raise IndexError(
            hinted(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                + ", ".join(str(list(a.shape)) for a in arrays),
                "index tensors of one key must have the same shape, or broadcast",
            )
        ) from None


def is_plain_number(dtype, value):
    """Whether a floating dtype takes a Python number in an assignment as `masked_fill_` does."""
    if dtype not in dtypes.FLOATS or value.__class__ not in (int, float):
        return False
    if dtype.itemsize == 2 or value.__class__ is int:
        return -_PLAIN <= value <= _PLAIN
    return True


# ---------------------------------------------------------------- positions, looked through


def indices_of_tensors(self, key, looked_through=True):
    """What a single mask means, or positions of one shape for some of the dimensions, where there is nothing to refuse; else
    None. Whether the positions exist is only looked at where they are to be ``looked_through``."""
    array = self._array
    keys = key if key.__class__ is tuple else (key,)
    if not 0 < len(keys) <= array.ndim or not array.size:
        return None
    found, shape = [], None
    for part, length in zip(keys, array.shape):
        if part.__class__ is not Tensor:
            if part.__class__ is slice and part == _WHOLE:
                found.append(None)
                continue
            return None
        index = part._array
        if not index.ndim or not index.size:
            return None
        if index.dtype is not dtypes.INT64_ARRAY:
            if index.dtype is dtypes.BOOL_ARRAY and len(keys) == 1 and index.shape == array.shape[: index.ndim]:
                return mask_positions(index)
            return None
        shape = shape or index.shape
        if index.shape != shape or (looked_through and not _exist(index, length)):
            return None
        found.append(index if self._edge is None else index.copy())
    while found and found[-1] is None:
        found.pop()
    return tuple(found) or None


def _exist(positions, length):
    """Whether all of an array's positions are there, negative ones counted from the end."""
    if all_inside(positions, length):
        return True
    smallest, largest = extremes(positions)
    return smallest >= -length and largest < length


def checked_positions(tensor, indices, place):
    """``indices``, refused where they name positions that do not exist; ``place`` is the shape that they pick."""
    shape = tensor._array.shape
    if not tensor._array.size or 0 in place:
        common = np.broadcast_shapes(*[array.shape for array in indices if array is not None])
        for dim, array in enumerate(indices):
            if array is not None and not shape[dim] and 0 not in common:
                raise IndexError(
                    hinted("index is out of bounds for dimension with size 0", f"dimension {dim} is empty")
                )
        # Nothing is read: PyTorch does not look at the positions either.
        return tuple([None if array is None else np.zeros(common, np.int64) for array in indices])
    for dim, array in enumerate(indices):
        if array is None:
            continue
        array = all_positions(array)
        if not array.size:
            continue
        length = shape[dim]
        if not _exist(array, length):
            wrong = next(int(i) for i in array.reshape(-1) if not -length <= i < length)
            raise IndexError(
                hinted(
                    f"index {wrong} is out of bounds for dimension {dim} with size {length}",
                    f"valid positions are {-length} to {length - 1}",
                )
            )
    return indices
