"""``x[key]`` and ``x[key] = value``: views for numbers, slices, None and ``...``; copies for tensors, lists and masks."""

from __future__ import annotations

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..ops.table import functions
from .base import Tensor, method
from .creation import type_name
from .internals import internal

_FULL = slice(None, None, None)


@method
def __getitem__(self, key):
    if key.__class__ is int:
        return functions.select(self, 0, key) if self._array.ndim else _scalar_error()
    view, indices = _split_key(self, key)
    if indices is None:
        return functions.alias(view) if view is self else view
    return functions.index(view, indices)


@method
def __setitem__(self, key, value):
    view, indices = _split_key(self, key)
    if indices is not None:
        _put(view, indices, value)
    elif hasattr(value, "_edge"):
        view.copy_(_without_leading_ones(value, view))
    elif isinstance(value, (int, float, complex, np.generic)):
        view.fill_(value)
    else:
        if not isinstance(value, (np.ndarray, list, tuple)):
            raise TypeError(f"can't assign a {type(value).__name__} to a {type_name(self.dtype)}")
        view.copy_(_without_leading_ones(functions.tensor(value, dtype=self.dtype), view))


def _put(view, indices, value):
    if hasattr(value, "_edge"):
        if value.dtype is not view.dtype:
            if value.ndim:
                raise RuntimeError(
                    hinted(
                        f"Index put requires the source and destination dtypes match, got {view.dtype.legacy_name} for the destination "
                        f"and {value.dtype.legacy_name} for the source.",
                        f"convert the value first: value.to({view.dtype!r})",
                    )
                )
            value = value.to(view.dtype)
    else:
        value = functions.tensor(value, dtype=view.dtype)
    place = functions.index_shape(view, indices)
    value = _without_leading_ones(value, place)
    _check_fits(value, place)
    functions.index_put_(view, indices, value, False)


def _check_fits(value, place):
    """Refuse a value that does not broadcast to the shape of the indexed part."""
    try:
        fits = np.broadcast_shapes(value.shape, place) == tuple(place)
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            hinted(
                f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of shape {list(place)}",
                "the value must have the shape that reading the same key gives, or broadcast to it",
            )
        )


def _without_leading_ones(value, target):
    """``value`` without first dimensions of length 1 that the target does not have."""
    ndim = len(target) if isinstance(target, tuple) else target._array.ndim
    shape = tuple(value.shape)
    extra = 0
    while len(shape) - extra > ndim and shape[extra] == 1:
        extra += 1
    return value.reshape(shape[extra:]) if extra else value


def _scalar_error():
    raise IndexError(
        hinted(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to "
            "a number",
            "a 0-dim tensor has no dimension to index",
        )
    )


def _is_sequence_key(key):
    """Whether a list stands for a tuple of keys, as in old NumPy: short, and holding slices, None, ... or sequences."""
    return any(isinstance(item, slice) or item is None or item is Ellipsis for item in key)


def _split_key(self, key):
    """The view that the basic parts of a key give, and the arrays of its advanced parts by dimension (None: none)."""
    if isinstance(key, list) and _is_sequence_key(key):
        key = tuple(key)
    parts = key if isinstance(key, tuple) else (key,)
    named = sum(_dims_used(part) for part in parts)
    array_ndim = self._array.ndim
    if named > array_ndim:
        if array_ndim == 0 and all(isinstance(p, (int, slice)) and not isinstance(p, bool) for p in parts):
            _scalar_error()
        raise IndexError(
            hinted(
                f"too many indices for tensor of dimension {array_ndim}",
                f"the key names {named} dimensions, the tensor has shape {list(self._array.shape)}",
            )
        )
    view, dim, indices = self, 0, []
    for part in parts:
        kind = part.__class__
        if kind is int or isinstance(part, np.integer):
            view = _select(view, dim, int(part), self)
        elif kind is slice:
            view = _sliced(view, dim, part)
            dim += 1
        elif part is Ellipsis:
            dim += array_ndim - named
        elif part is None:
            view = functions.unsqueeze(view, dim)
            dim += 1
        elif kind is bool or isinstance(part, np.bool_):
            view = functions.unsqueeze(view, dim)
            _place(indices, dim, np.arange(1) if part else np.arange(0))
            dim += 1
        else:
            view, dim = _advanced(view, dim, part, indices)
    return (view, tuple(indices)) if indices else (view, None)


def _dims_used(part):
    if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
        return 0
    dtype = getattr(part, "dtype", None)
    if dtype is not None and str(dtype).rsplit(".", 1)[-1] in ("bool", "uint8"):
        return part.ndim
    if isinstance(part, list) and part:
        depth, leaf = 0, part
        while isinstance(leaf, list) and leaf:
            depth, leaf = depth + 1, leaf[0]
        return depth if isinstance(leaf, (bool, np.bool_)) else 1
    return 1


def _select(view, dim, position, whole):
    length = view._array.shape[dim]
    if not -length <= position < length:
        raise IndexError(
            hinted(
                f"index {position} is out of bounds for dimension {dim} with size {length}",
                f"the tensor has shape {list(whole._array.shape)}; valid positions there are {-length} to {length - 1}",
            )
        )
    return functions.select(view, dim, position)


def _sliced(view, dim, part):
    if part == _FULL:
        return view
    start, stop, step = (None if v is None else _position(v) for v in (part.start, part.stop, part.step))
    if step is not None and step <= 0:
        raise ValueError(
            hinted(
                "step must be greater than zero",
                "views with negative strides do not exist here: use torch.flip(x, [dim]) for the reverse order",
            )
        )
    return functions.slice_dim(view, dim, start, stop, step or 1)


def _position(value):
    try:
        return value.__index__()
    except AttributeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _place(indices, dim, array):
    while len(indices) < dim:
        indices.append(None)
    indices.append(array)


def _advanced(view, dim, part, indices):
    """Take a tensor, array or list as index of dimension ``dim``; a mask covers as many dimensions as it has."""
    if isinstance(part, (list, tuple, range)):
        part = np.asarray(functions.tensor(list(part))._array) if len(part) else np.empty(0, np.int64)
    array = part._array if isinstance(part, Tensor) else np.asarray(part)
    kind = array.dtype.kind
    if kind == "b" or array.dtype == np.uint8:
        shape = view._array.shape
        for offset, length in enumerate(array.shape):
            if shape[dim + offset] != length:
                raise IndexError(
                    hinted(
                        f"The shape of the mask {list(array.shape)} at index {offset} does not match the shape of the indexed tensor "
                        f"{list(shape)} at index {dim + offset}",
                        "a mask must have the lengths of the dimensions that it covers",
                    )
                )
        if array.ndim == 0:
            view = functions.unsqueeze(view, dim)
            _place(indices, dim, np.arange(1) if array else np.arange(0))
            return view, dim + 1
        for offset, positions in enumerate(np.nonzero(array)):
            _place(indices, dim + offset, positions)
        return view, dim + array.ndim
    if kind not in "iu":
        raise IndexError(
            hinted(
                "tensors used as indices must be long, int, byte or bool tensors",
                f"this index has dtype {dtypes.from_numpy(array.dtype)!r}; convert it with .long()",
            )
        )
    if array.ndim == 0 and isinstance(part, Tensor):
        return _select(view, dim, int(array), view), dim
    length = view._array.shape[dim]
    if array.size and not (-length <= int(array.min()) and int(array.max()) < length):
        wrong = next(int(i) for i in array.reshape(-1) if not -length <= i < length)
        raise IndexError(
            hinted(
                f"index {wrong} is out of bounds for dimension {dim} with size {length}",
                f"valid positions are {-length} to {length - 1}",
            )
        )
    _place(indices, dim, array.copy() if isinstance(part, Tensor) else array)
    return view, dim + 1


@internal
def index_shape(tensor, indices):
    """The shape of ``tensor`` indexed by arrays, in PyTorch's words where they do not broadcast."""
    arrays = [i for i in indices if i is not None]
    try:
        inner = np.broadcast_shapes(*[a.shape for a in arrays])
    except ValueError:
        raise IndexError(
            hinted(
                "shape mismatch: indexing tensors could not be broadcast together with shapes "
                + ", ".join(str(list(a.shape)) for a in arrays),
                "index tensors of one key must have the same shape, or broadcast",
            )
        ) from None
    shape = tensor._array.shape
    rest = [n for n, i in zip(shape, (*indices, *(None,) * (len(shape) - len(indices)))) if i is None]
    places = [d for d, i in enumerate(indices) if i is not None]
    if places == list(range(places[0], places[-1] + 1)):
        at = places[0]
        return (*rest[:at], *inner, *rest[at:])
    return (*inner, *rest)


@internal
def index_arrays(tensor, indices):
    """A tuple of index tensors (None for a whole dimension) as arrays, masks turned into positions."""
    found = []
    dim = 0
    for part in indices:
        if part is None:
            dim += 1
        else:
            _, dim = _advanced(tensor, dim, part, found)
    return tuple(found)


def _index_put(self, indices, values, accumulate, inplace):
    name = "index_put_" if inplace else "index_put"
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}")
    if values.dtype is not self.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {self.dtype.legacy_name} for the destination and "
            f"{values.dtype.legacy_name} for the source."
        )
    arrays = index_arrays(self, indices)
    _check_fits(values, index_shape(self, arrays))
    return getattr(functions, name)(self, arrays, values, accumulate)


@method
def index_put(self, indices, values, accumulate=False):
    """A copy of the tensor with ``values`` at ``indices``, a tuple of index tensors; added where ``accumulate``."""
    return _index_put(self, indices, values, accumulate, False)


@method
def index_put_(self, indices, values, accumulate=False):
    """Write ``values`` at ``indices``, a tuple of index tensors; add where ``accumulate``, repeated places included."""
    return _index_put(self, indices, values, accumulate, True)
