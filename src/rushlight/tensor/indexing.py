"""``x[key]`` and ``x[key] = value``: views for numbers, slices, None and ``...``; copies for tensors and masks."""

from __future__ import annotations

import numpy as np

from ..autograd.modes import PLAIN, state
from ..autograd.views import View, check_inplace
from ..base import dtypes
from ..base.errors import hinted, kind_name
from ..base.scalars import fitted, is_signed_word, number_in, relaxed, unpackable
from ..kernels.routing import elements_of
from ..ops.copy import refuse_overlap, refuse_shared
from ..ops.table import TABLE, functions, is_half
from .base import Tensor, method, wrap
from .classes import PLAIN_CLASSES
from .creation import type_name
from .fast_views import link, tracker
from .index_keys import select, sliced, split_key, take_advanced
from .index_values import checked_positions, index_array, index_shape, indices_of_tensors, is_plain_number
from .internals import internal
from .interposers import INTERPOSERS
from .names import NAMESPACES
from .writes import bump, is_tracked

_track_select = tracker(TABLE["select"])
_LITTLE = 2048  # elements that NumPy writes as fast as a kernel
_PICKED = elements_of("index")  # elements that a kernel picks from, which does not look whether they exist; NumPy does


@method
def __getitem__(self, key):
    kind = key.__class__
    recording = state.recording
    if recording <= PLAIN and self.__class__ in PLAIN_CLASSES and not INTERPOSERS:
        if kind is int:
            try:
                found = self._array[key, ...]
            except (IndexError, TypeError):  # TypeError: of memory with lazy bits NumPy makes no views
                return select(self, 0, key, 0, self)
            return link(self, found, _track_select, (0, key), recording)
        if kind is tuple or kind is slice:
            found = _basic_part(self, key if kind is tuple else (key,), recording)
            if found is not None:
                return link(self, found, None, (), recording)
        looked_through = self._array.size >= _PICKED
        indices = indices_of_tensors(self, key, looked_through)
        if indices is not None:
            try:
                return functions.index(self, indices)
            except IndexError:  # below is said which position does not exist
                if looked_through:
                    raise
    if kind is slice:
        return sliced(self, 0, key)
    view, indices = split_key(self, key)
    if indices is None:
        return functions.alias(view) if view is self else view
    return functions.index(view, checked_positions(view, indices, index_shape(view, indices)))


def _basic_part(self, key, recording):
    """The array that a tuple of ints, slices, ``...`` and None picks in one step, where no graph is recorded; else None."""
    edge = self._edge
    if edge is not None and recording and not (edge.__class__ is View and edge.resolve(self) is None):
        return None
    open_ended, added = False, 0
    for part in key:
        kind = part.__class__
        if kind is slice:
            step = part.step
            if step is not None and (step.__class__ is not int or step < 1):
                return None
            if added and not (part.start is None and part.stop is None and step is None):
                return None
        elif part is Ellipsis:
            if open_ended:
                return None
            open_ended = True
        elif part is None:
            added += 1
        elif kind is not int or added:
            return None
    try:
        found = self._array[key if open_ended else (*key, ...)]
    except (IndexError, TypeError):  # the general way says what is wrong
        return None
    if added:
        # NumPy gives new dimensions steps of 0; before whole ones of a contiguous part they follow from its shape, other
        # lengths of 1 aside.
        shape = found.shape
        if not found.flags.c_contiguous or shape.count(1) > added:
            return None
        found = found.reshape(-1).reshape(shape)
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
    if _is_plain_mask(self, key) and is_plain_number(self._array.dtype, value):
        functions.masked_fill_(self, key, value)
        return
    if (key.__class__ is int or key.__class__ is slice or key.__class__ is tuple) and _write_part(self, key, value):
        return
    indices = None
    recorded = self._edge is not None or getattr(value, "_edge", None) is not None  # then positions are copied
    if not recorded and self.__class__ in PLAIN_CLASSES and not INTERPOSERS:
        indices = indices_of_tensors(self, key)
    checked = indices is not None
    if checked:
        view = self
    elif key is True:
        view, indices = functions.unsqueeze(self, 0), None
    else:
        view, indices = (self, None) if key.__class__ is tuple and not key else split_key(self, key)
    if hasattr(value, "_edge"):
        if indices is not None:
            _put(view, indices, value, _is_mask(_without_numbers(key) if key.__class__ is tuple else (key,)), checked)
        else:
            _copy_into(view, value)
    elif isinstance(value, (int, float, complex)):
        if isinstance(value, int) and not is_signed_word(value):
            raise unpackable(value)
        kind = self.dtype.numpy
        if indices is None and not view.requires_grad and not is_half(kind):
            refuse_overlap(view._array)
            view.fill_(value)
        else:
            filler = wrap(relaxed(kind, value))
            if indices is None:
                _copy_into(view, filler)
            else:
                _put(view, indices, filler, False, checked)
    else:
        kind = value.__class__
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(
            hinted(
                f"can't assign a {name} to a {type_name(self.dtype)}",
                "assign a tensor or a number: torch.tensor(value)",
            )
        )


def _write_part(self, key, value):
    """Write a number, or a little tensor that fits as it is, where nothing is recorded; whether that was done."""
    edge = self._edge
    if (
        self.__class__ not in PLAIN_CLASSES
        or INTERPOSERS
        or (edge is not None and state.recording and is_tracked(edge))
    ):
        return False
    part = _basic_part(self, key if key.__class__ is tuple else (key,), state.recording)
    if part is None or part.size >= _LITTLE or is_half(part.dtype):
        return False
    if value.__class__ is int or value.__class__ is float:
        if value.__class__ is int and not is_signed_word(value):
            return False
        refuse_overlap(part)
        np.copyto(part, fitted(part.dtype, value))
        bump(self, "fill_number")
        return True
    if value.__class__ not in PLAIN_CLASSES or (value._edge is not None and state.recording):
        return False
    array = value._array
    if array.shape != part.shape or array.dtype is not part.dtype:
        return False
    TABLE["copy_from"].forward(part, array, False)
    bump(self, "copy_from")
    return True


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


def _put(view, indices, value, is_mask, checked):
    """Write a value at positions; ``checked`` if all of them exist."""
    if view._edge is not None:
        check_inplace(view, "index_put_", (value,))
    place = index_shape(view, indices)
    if is_mask and value._array.size == 1:
        value = _filling(view, value)
    elif value._array.shape[:1] == (1,):
        value = _without_leading_ones(value)
    if value._array.size > 1 or not is_mask:  # one number goes into a mask without further ado
        refuse_shared(view._array, value._array)
    if value._array.shape and value._array.shape != place:
        _check_fits(value, place)
    if is_mask and value._array.size == 1 and value.dtype is not view.dtype:
        value = value.to(view.dtype)
    _check_same_dtype(view, value, "value")
    indices = indices if checked else checked_positions(view, indices, place)
    functions.index_put_arrays_(view, indices, value, False)


def _without_numbers(key):
    """The parts of a key that are no integer tensors without dimensions, which stand for their numbers."""
    return [part for part in key if not hasattr(part, "_edge") or part.ndim or part._array.dtype.kind == "b"]


def _is_mask(key):
    """Whether the tensors of a key are one mask."""
    tensors = [part for part in key if hasattr(part, "_edge")]
    if len(tensors) != 1 or not tensors[0].ndim:
        return False
    return tensors[0]._array.dtype.kind == "b" and all(
        part is None or part.__class__ in _PLAIN_PARTS or part is tensors[0] for part in key
    )


_PLAIN_PARTS = frozenset((int, slice, type(...)))


def _filling(target, value):
    """A tensor of one element as the number that fills a mask: of the target's dtype, where that has a place for it."""
    if value.dtype is not target.dtype:
        number_in(target.dtype.numpy, value.detach().item())
        value = (value.real if value.is_complex() and not target.is_complex() else value).to(target.dtype)
    return value.reshape(())


def _check_same_dtype(target, source, name):
    """Refuse what is of another dtype than the tensor that it is to be written into; the user calls it ``name``."""
    if source.dtype is not target.dtype:
        raise RuntimeError(
            hinted(
                f"Index put requires the source and destination dtypes match, got {target.dtype.legacy_name} for the "
                f"destination and {source.dtype.legacy_name} for the source.",
                f"convert the {name} first: {name}.to({target.dtype!r})",
            )
        )


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
        _, dim = take_advanced(tensor, dim, part if plain else index_array(part), found, tensor)
    return tuple(found)


def _index_put(self, indices, values, accumulate, name):
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            hinted(
                f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {kind_name(indices)}",
                "give a tuple, also for a single index: (index,)",
            )
        )
    if name.endswith("_"):
        check_inplace(self, name, (values,))
    for number, part in enumerate(indices):
        if part is None:
            raise TypeError(
                hinted(
                    f"expected Tensor as element {number} in argument 0, but got NoneType",
                    "x[:, index] = value leaves a dimension whole",
                )
            )
    if not indices:
        return _put_nowhere(self, values, accumulate, name)
    arrays = None
    if self._edge is None and values._edge is None and self.__class__ in PLAIN_CLASSES and not INTERPOSERS:
        arrays = indices_of_tensors(self, tuple(indices))
    checked = arrays is not None
    if not checked:
        arrays = _index_arrays(self, indices)
    place = index_shape(self, arrays)
    if not accumulate and values._array.size == 1 and _is_mask(indices):
        values = _filling(self, values)
    _check_fits(values, place)
    _check_same_dtype(self, values, "values")
    if not checked:
        arrays = checked_positions(self, arrays, place)
    if name.endswith("_"):
        for read in (values, *indices):
            if read is not None:
                refuse_shared(self._array, read._array)
    put = functions.index_put_arrays_ if name.endswith("_") else functions.index_put_arrays
    return put(self, arrays, values, accumulate)


def _put_nowhere(self, values, accumulate, name):
    """No index at all: PyTorch takes that for tensors without elements, of which a number fills no mask."""
    _check_fits(values, self._array.shape)
    if accumulate or values._array.size != 1:
        _check_same_dtype(self, values, "values")
    if self._array.size or not (accumulate or values._array.size != 1):
        raise RuntimeError(
            hinted("sym_strides() called on an undefined Tensor", f"{name}() needs an index; copy_() writes everywhere")
        )
    return self if name.endswith("_") else self.clone()


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
