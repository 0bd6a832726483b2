"""What the parts of a key stand for: arrays of positions or masks, their common shape; under vmap, tensors of whole batches."""

from __future__ import annotations

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.scalars import largest_float
from .base import Tensor
from .creation import array_from

_PLAIN = largest_float(dtypes.float16)


def index_array(part):
    """The array of an index that is a tensor, an array or a sequence; numbers in arrays and sequences become int64.

    A tensor that differs between the entries of a vmap stays one: `is_batched`.
    """
    if isinstance(part, Tensor):
        values = getattr(part, "index_values", None)
        return part._array if values is None else values()
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
    return array if array.dtype.kind == "b" or array.dtype == np.uint8 else array.astype(np.int64)


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
