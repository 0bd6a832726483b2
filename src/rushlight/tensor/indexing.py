"""``x[key]`` and ``x[key] = value``: views for numbers, slices, None and ``...``; copies for tensors and masks."""

from __future__ import annotations

import warnings

import numpy as np

from ..autograd.modes import PLAIN, state
from ..autograd.views import View, check_inplace
from ..base import dtypes
from ..base.errors import hinted
from ..kernels.routing import mask_positions
from ..ops.copy import number_for, refuse_overlap, refuse_shared
from ..ops.table import TABLE, functions, is_half
from .base import Tensor, method, wrap
from .binding import NAMESPACES
from .classes import PLAIN_CLASSES
from .creation import type_name
from .fast_views import link, tracker
from .index_values import all_positions, check_batched, index_array, index_shape, is_batched
from .internals import internal
from .interposers import INTERPOSERS

_track_select = tracker(TABLE["select"])
DOUBLE = np.dtype(np.float64)
# Lists of at least this length are always data, never a row of keys.
_LONGEST_KEY = 32


@method
def __getitem__(self, key):
    kind = key.__class__
    if self.__class__ in PLAIN_CLASSES and not INTERPOSERS and state.recording <= PLAIN:
        if kind is int:
            try:
                found = self._array[key, ...]
            except IndexError:
                return _select(self, 0, key, 0, self)
            return link(self, found, _track_select, (0, key))
        if kind is tuple or kind is slice:
            found = _basic_part(self, key if kind is tuple else (key,))
            if found is not None:
                return link(self, found, None, ())
        if kind is Tensor:
            indices = _indices_of_tensor(self, key._array)
            if indices is not None:
                return functions.index(self, indices)
    if kind is slice:
        return _sliced(self, 0, key)
    view, indices = _split_key(self, key)
    if indices is None:
        return functions.alias(view) if view is self else view
    return functions.index(view, _checked_positions(view, indices, index_shape(view, indices)))


def _indices_of_tensor(self, index):
    """What a single mask or row of positions means, where there is nothing to refuse; else None."""
    array = self._array
    if not index.ndim or not index.size or not array.size or not array.ndim:
        return None
    if index.dtype is dtypes.BOOL_ARRAY:
        return mask_positions(index) if index.shape == array.shape[: index.ndim] else None
    length = array.shape[0]
    if index.dtype is dtypes.INT64_ARRAY and index.min() >= -length and index.max() < length:
        return (index if self._edge is None else index.copy(),)
    return None


def _basic_part(self, key):
    """The array that a tuple of ints, slices and ``...`` picks in one step, where no graph is recorded; else None."""
    edge = self._edge
    if edge is not None and state.recording and not (edge.__class__ is View and edge.resolve(self) is None):
        return None
    open_ended = False
    for part in key:
        kind = part.__class__
        if kind is slice:
            step = part.step
            if step is not None and (step.__class__ is not int or step < 1):
                return None
        elif part is Ellipsis:
            if open_ended:
                return None
            open_ended = True
        elif kind is not int:
            return None
    try:
        found = self._array[key if open_ended else (*key, ...)]
    except (IndexError, TypeError):  # the general way says what is wrong
        return None
    return found if found.size else None  # empty parts keep their steps only in the general way


def _is_plain_mask(self, key):
    """Whether a key is a mask of the tensor's own shape, and no graph is to be recorded."""
    return (
        key.__class__ is Tensor
        and key._array.dtype is dtypes.BOOL_ARRAY
        and key._array.shape == self._array.shape
        and self._edge is None
        and self.__class__ in PLAIN_CLASSES
        and not INTERPOSERS
    )


@method
def __setitem__(self, key, value):
    if key is False:
        return
    if value.__class__ in (int, float) and _is_plain_mask(self, key) and self._array.dtype in dtypes.FLOATS:
        functions.masked_fill_(self, key, value)
        return
    if key is True:
        view, indices = functions.unsqueeze(self, 0), None
    else:
        view, indices = (self, None) if key.__class__ is tuple and not key else _split_key(self, key)
    if hasattr(value, "_edge"):
        if indices is not None:
            _put(view, indices, value, hasattr(key, "_edge") and key._array.dtype is dtypes.BOOL_ARRAY and key.ndim)
        else:
            _copy_into(view, value)
    elif isinstance(value, (int, float, complex)):
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
            raise ValueError(hinted("Overflow when unpacking long long", f"{value} needs more than 64 bits"))
        kind = self._array.dtype
        if indices is None and not view.requires_grad and not is_half(kind):
            refuse_overlap(view._array)
            view.fill_(value)
        else:
            # Into half precision PyTorch writes a double, which may become an infinity on the way.
            with np.errstate(over="ignore"):
                filler = wrap(number_for(DOUBLE, value).astype(kind) if is_half(kind) else number_for(kind, value))
            if indices is None:
                view.fill_(filler)
            else:
                _put(view, indices, filler)
    else:
        kind = value.__class__
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(
            hinted(
                f"can't assign a {name} to a {type_name(self.dtype)}",
                "assign a tensor or a number: torch.tensor(value)",
            )
        )


def _copy_into(view, value):
    """Write a tensor, broadcast, into the part that a key named."""
    shape = value._array.shape
    if shape == view._array.shape:
        view.copy_(value)
    elif not shape:
        view.fill_(value)
    else:
        value, place = _without_leading_ones(value), view._array.shape
        view.copy_(value if value._array.shape == place else value.expand(place))


@method
def __delitem__(self, key):
    raise TypeError(hinted("Tensor does not support deleting items", "torch.cat() joins the parts that stay"))


def _put(view, indices, value, is_mask=False):
    if value.dtype is not view.dtype:
        raise RuntimeError(
            hinted(
                f"Index put requires the source and destination dtypes match, got {view.dtype.legacy_name} for the "
                f"destination and {value.dtype.legacy_name} for the source.",
                f"convert the value first: value.to({view.dtype!r})",
            )
        )
    if view._edge is not None:
        check_inplace(view, "index_put_", (value,))
    place = index_shape(view, indices)
    if value._array.shape[:1] == (1,):
        value = _without_leading_ones(value)
    if value._array.size > 1 or not is_mask:  # one number goes into a mask without further ado
        refuse_shared(view._array, value._array)
    _check_fits(value, place)
    functions.index_put_arrays_(view, _checked_positions(view, indices, place), value, False)


def _check_fits(value, place):
    """Refuse a value that does not broadcast to the shape of the indexed part."""
    try:
        fits = np.broadcast_shapes(value.shape, place) == tuple(place)
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            hinted(
                f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to indexing result of "
                f"shape {list(place)}",
                "the value must have the shape that reading the same key gives, or broadcast to it",
            )
        )


def _without_leading_ones(value):
    """``value`` without its first dimensions of length 1."""
    shape = value._array.shape
    extra = 0
    while extra < len(shape) and shape[extra] == 1:
        extra += 1
    return value.view(shape[extra:])


# ---------------------------------------------------------------- reading keys


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


def _split_key(self, key):
    """The view that the basic parts of a key give, and the arrays of its advanced parts by dimension (None: none)."""
    parts = key if isinstance(key, tuple) else _keys_of_list(key) if isinstance(key, list) else (key,)
    ndim = self._array.ndim
    named = sum([_dims_used(part) for part in parts])
    if named > ndim:
        if key.__class__ is not tuple and ndim == 0 and _is_index(key):
            return _select(self, 0, key.__index__(), 0, self), None
        if key.__class__ is slice:
            return _sliced(self, 0, key), None
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
            view = _select(view, dim, part, place, self)
        elif kind is slice:
            view = _sliced(view, dim, part, skip_whole=True)
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
            view = _select(view, dim, part.__index__(), place, self)
        else:
            view, dim = _advanced(view, dim, part, indices, self, place)
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


def _select(view, dim, position, place, whole):
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


def _sliced(view, dim, part, skip_whole=False):
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
    if skip_whole and not start and step == 1 and (stop is None or stop >= view._array.shape[dim]):
        return view
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


def _advanced(view, dim, part, indices, whole, place=0):
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
        return _select(view, dim, int(array), place, whole), dim
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


def _checked_positions(tensor, indices, place):
    """``indices``, refused where they name positions that do not exist; ``place`` is the shape that they pick."""
    shape = tensor._array.shape
    if not tensor._array.size or 0 in place:
        for dim, array in enumerate(indices):
            if array is not None and all_positions(array).size and not shape[dim] and 0 not in place:
                raise IndexError(
                    hinted("index is out of bounds for dimension with size 0", f"dimension {dim} is empty")
                )
        # Nothing is read: PyTorch does not look at the positions either.
        return tuple([None if i is None else np.zeros_like(i) if shape[d] else i[:0] for d, i in enumerate(indices)])
    for dim, array in enumerate(indices):
        if array is None:
            continue
        array = all_positions(array)
        if not array.size:
            continue
        length = shape[dim]
        if int(array.min()) < -length or int(array.max()) >= length:
            wrong = next(int(i) for i in array.reshape(-1) if not -length <= i < length)
            raise IndexError(
                hinted(
                    f"index {wrong} is out of bounds for dimension {dim} with size {length}",
                    f"valid positions are {-length} to {length - 1}",
                )
            )
    return indices


# ---------------------------------------------------------------- index_put


def _index_arrays(tensor, indices):
    """A tuple of index tensors (None for a whole dimension) as arrays, masks turned into positions."""
    found, dim, ndim = [], 0, tensor._array.ndim
    for part in indices:
        if part is None:
            dim += 1
            continue
        array = part._array
        if dim + (array.ndim if array.dtype.kind == "b" or array.dtype == np.uint8 else 1) > ndim:
            raise IndexError(
                hinted(
                    f"too many indices for tensor of dimension {ndim} (got {len(indices)})",
                    f"the tensor has shape {list(tensor._array.shape)}",
                )
            )
        # A 0-dim position is a row of one here, which broadcasts like it.
        plain = array.ndim or array.dtype.kind == "b"
        _, dim = _advanced(tensor, dim, part if plain else index_array(part), found, tensor)
    return tuple(found)


def _index_put(self, indices, values, accumulate, name):
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            hinted(
                f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}",
                "give a tuple, also for a single index: (index,)",
            )
        )
    if values.dtype is not self.dtype:
        raise RuntimeError(
            hinted(
                f"Index put requires the source and destination dtypes match, got {self.dtype.legacy_name} for the "
                f"destination and {values.dtype.legacy_name} for the source.",
                f"convert the values first: values.to({self.dtype!r})",
            )
        )
    if all(part is None for part in indices):
        raise RuntimeError(hinted(f"{name}(): at least one index is needed", "fill_() and copy_() write everywhere"))
    arrays = _index_arrays(self, indices)
    place = index_shape(self, arrays)
    _check_fits(values, place)
    arrays = _checked_positions(self, arrays, place)
    put = functions.index_put_arrays_ if name.endswith("_") else functions.index_put_arrays
    return put(self, arrays, values, accumulate)


@internal
@method
def index_put(self, indices, values, accumulate=False):
    """A copy of the tensor with ``values`` at ``indices``, a tuple of index tensors; added where ``accumulate``.

    >>> import rushlight as torch
    >>> torch.zeros(3).index_put((torch.tensor([0, 0]),), torch.tensor(1.0), accumulate=True)
    tensor([2., 0., 0.])
    """
    return _index_put(self, indices, values, accumulate, "index_put")


@internal
@method
def index_put_(self, indices, values, accumulate=False):
    """Write ``values`` at ``indices``, a tuple of index tensors; add where ``accumulate``, repeated places included."""
    return _index_put(self, indices, values, accumulate, "index_put_")


NAMESPACES["torch"].update(index_put=index_put, index_put_=index_put_)
