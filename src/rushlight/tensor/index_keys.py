"""Reading keys: ``x[key]`` as views by its numbers and slices, and arrays of positions by its tensors, lists and masks."""

from __future__ import annotations

import warnings

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..ops.table import functions
from .base import Tensor
from .index_values import check_batched, index_array, is_batched

# Lists of at least this length are always data, never a row of keys.
_LONGEST_KEY = 32


def _keys_of_list(key):
    """The keys meant by a list: itself as data, or, where it holds slices, None, tensors or lists, one key for each."""
    if len(key) < _LONGEST_KEY and any(
        isinstance(item, (slice, list, tuple, Tensor, np.ndarray)) or item is None or item is Ellipsis for item in key
    ):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; "
            "use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
            "x[torch.tensor(seq)], which will result either in an error or a different result",
            UserWarning,
            stacklevel=4,
        )
        return tuple(key)
    return (key,)


def split_key(self, key):
    """The view that the basic parts of a key give, and the arrays of its advanced parts by dimension (None: none)."""
    parts = key if isinstance(key, tuple) else _keys_of_list(key) if isinstance(key, list) else (key,)
    ndim = self._array.ndim
    named = sum([_dims_used(part) for part in parts])
    if named > ndim:
        if key.__class__ is not tuple and ndim == 0 and _is_index(key):
            return select(self, 0, key.__index__(), 0, self), None
        if key.__class__ is slice:
            return sliced(self, 0, key), None
        raise IndexError(
            hinted(
                f"too many indices for tensor of dimension {ndim}",
                f"the key names {named} dimensions, the tensor has shape {list(self._array.shape)}",
            )
        )
    view, dim, indices = self, 0, []
    for place, part in enumerate(parts):
        kind = part.__class__
        if kind is int:
            view = select(view, dim, part, place, self)
        elif kind is slice:
            view = sliced(view, dim, part, skip_whole=True)
            dim += 1
        elif part is Ellipsis:
            dim += ndim - named
        elif part is None:
            view = functions.unsqueeze(view, dim)
            dim += 1
        elif kind is bool:
            view = functions.unsqueeze(view, dim)
            _place(indices, dim, np.arange(1) if part else np.arange(0))
            dim += 1
        elif _is_index(part):
            view = select(view, dim, part.__index__(), place, self)
        else:
            view, dim = take_advanced(view, dim, part, indices, self, place)
    return (view, tuple(indices)) if indices else (view, None)


def _is_index(part):
    """Whether a part that is no plain int counts as one: NumPy's integers, 0-dim integer arrays, ``__index__``."""
    if isinstance(part, (Tensor, np.bool_)):
        return False
    if isinstance(part, np.ndarray):
        return part.ndim == 0 and part.dtype.kind in "iu"
    return hasattr(part, "__index__")


def _dims_used(part):
    """How many dimensions of the tensor a part names."""
    if part is None or part is Ellipsis or part.__class__ is bool:
        return 0
    if isinstance(part, (Tensor, np.ndarray)):
        array = part._array if isinstance(part, Tensor) else part
        return array.ndim if array.dtype.kind == "b" or array.dtype == np.uint8 else 1
    if isinstance(part, (list, tuple)) and part:
        depth, leaf = 0, part
        while isinstance(leaf, (list, tuple)) and leaf:
            depth, leaf = depth + 1, leaf[0]
        return depth if isinstance(leaf, (bool, np.bool_)) else 1
    return 1


def _scalar_error():
    raise IndexError(
        hinted(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number",
            "a 0-dim tensor has no dimension to index",
        )
    )


def select(view, dim, position, place, whole):
    """``view`` at a position; messages name the ``place`` of this part in the key."""
    shape = view._array.shape
    if not shape and position == 0:
        _scalar_error()
    length = shape[dim] if dim < len(shape) else 0
    if not -length <= position < length:
        if not -(1 << 63) <= position < 1 << 63:
            raise ValueError(hinted("Overflow when unpacking long long", f"{position} needs more than 64 bits"))
        raise IndexError(
            hinted(
                f"index {position} is out of bounds for dimension {place} with size {length}",
                f"the tensor has shape {list(whole._array.shape)}; valid positions there are {-length} to {length - 1}",
            )
        )
    return functions.select(view, dim, position)


def sliced(view, dim, part, skip_whole=False):
    start, stop, step = (None if v is None else _position(v) for v in (part.start, part.stop, part.step))
    if not view._array.ndim:
        raise IndexError(hinted("slice() cannot be applied to a 0-dim tensor.", "it has no dimension to cut"))
    if step is None:
        step = 1
    if step == 0:
        raise ValueError(hinted("slice step cannot be zero", "a step of 1 takes every element"))
    if step < 0:
        raise ValueError(
            hinted(
                "step must be greater than zero",
                "views with negative strides do not exist here: use torch.flip(x, [dim]) for the reverse order",
            )
        )
    if (
        skip_whole
        and not start
        and step == 1
        and (stop is None or stop >= (view._array.shape[dim] if dim < view._array.ndim else 0))
    ):
        return view  # or beyond the last dimension, as a second Ellipsis leads to
    return functions.slice_dim(view, dim, start, stop, step)


def _position(value):
    try:
        return value.__index__()
    except AttributeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _place(indices, dim, array):
    while len(indices) < dim:
        indices.append(None)
    indices.append(array)


def take_advanced(view, dim, part, indices, whole, place=0):
    """Take a tensor, array or list as index of dimension ``dim``; a mask covers as many dimensions as it has."""
    array = index_array(part)
    if is_batched(array):
        check_batched(array)
        _place(indices, dim, array)
        return view, dim + 1
    if array.dtype.kind == "b" or array.dtype == np.uint8:
        if array.dtype.kind != "b":
            warnings.warn(
                "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.",
                UserWarning,
                stacklevel=4,
            )
        return _masked(view, dim, array, indices)
    if array.ndim == 0 and isinstance(part, Tensor) and array.dtype.kind == "i":
        return select(view, dim, int(array), place, whole), dim
    if array.dtype.kind != "i" or array.dtype.itemsize < 4:
        raise IndexError(
            hinted(
                "tensors used as indices must be long, int, byte or bool tensors",
                f"this index has dtype {dtypes.from_numpy(array.dtype)!r}; convert it with .long()",
            )
        )
    _place(indices, dim, array.copy() if isinstance(part, Tensor) else array)
    return view, dim + 1


def _masked(view, dim, mask, indices):
    """Take a bool array as index of as many dimensions as it has: the positions where it is True."""
    shape = view._array.shape
    for offset, length in enumerate(mask.shape):
        if shape[dim + offset] != length:
            raise IndexError(
                hinted(
                    f"The shape of the mask {list(mask.shape)} at index {offset} does not match the shape of the "
                    f"indexed tensor {list(shape)} at index {dim + offset}",
                    "a mask must have the lengths of the dimensions that it covers",
                )
            )
    if mask.ndim == 0:
        view = functions.unsqueeze(view, dim)
        _place(indices, dim, np.arange(1) if mask else np.arange(0))
        return view, dim + 1
    for offset, positions in enumerate(np.nonzero(mask)):
        _place(indices, dim + offset, positions)
    return view, dim + mask.ndim
