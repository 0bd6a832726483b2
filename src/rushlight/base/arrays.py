"""NumPy arrays as memory: strided windows, the storage behind a view, contiguity."""

from __future__ import annotations

import ctypes
import functools
import math

import numpy as np

from .errors import hinted
from .shapes import contiguous_strides

_new_array = np.ndarray.__new__
_HEADER = object.__basicsize__  # bytes of a Python object before its own fields
_word_at = ctypes.c_size_t.from_address
ndarray = np.ndarray
_FLOAT16, _FLOAT64 = np.dtype(np.float16), np.dtype(np.float64)


def owner_of(array):
    """The array that owns the memory which ``array`` looks into (itself where it is no view)."""
    while type(array.base) is ndarray:
        array = array.base
    return array


def storage_bytes(array):
    """The whole memory behind ``array`` as a flat uint8 array, and the byte offset of its first element there."""
    owner = owner_of(array)
    if owner.flags.c_contiguous:
        flat = owner.reshape(-1)
    elif owner.flags.f_contiguous:
        flat = owner.T.reshape(-1)
    else:
        flat = owner.transpose(sorted(range(owner.ndim), key=lambda d: -owner.strides[d])).reshape(-1)
    raw = flat.view(np.uint8)
    return raw, array.__array_interface__["data"][0] - raw.__array_interface__["data"][0]


def narrowed(array, goal):
    """What an array is converted from on its way to the NumPy dtype ``goal``: float64 numbers become float16 by way of float32,
    rounded twice, as PyTorch rounds them."""
    if goal is not _FLOAT16 or array.dtype is not _FLOAT64:
        return array
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def deep_copy(array, memo):
    """A copy of ``array`` in a copy of the whole memory behind it, made once for all arrays that share memory and ``memo``.

    ``memo`` is that of `copy.deepcopy`.
    """
    raw, start = storage_bytes(array)
    copies, place = memo.setdefault(deep_copy, {}), (address_of(raw), raw.size)
    known = copies.get(place)
    if known is None:
        made = array.copy(order="K")
        if raw.size == array.nbytes and made.strides == array.strides:  # an array that owns its memory, as most do
            copies[place] = raw, made  # with the original, so that its memory is not given to another one meanwhile
            return made
        known = copies[place] = raw, raw.copy()
    return strided_view(storage_bytes(known[1])[0].view(array.dtype), array.shape, array.strides, start)


def strided_view(array, shape, byte_strides, byte_offset=0):
    """A window of ``shape`` and ``byte_strides`` on the memory of ``array``, ``byte_offset`` after its first element.

    The window may reach any element of the storage behind ``array``; outside it is an error.
    """
    if byte_offset == 0 and _stays_inside(array, shape, byte_strides):
        return _new_array(ndarray, shape, array.dtype, array, 0, byte_strides)
    raw, start = storage_bytes(array)
    try:
        return _window(raw, shape, array.dtype, start + byte_offset, byte_strides)
    except (ValueError, TypeError):
        size = array.itemsize
        needed = sum((n - 1) * s for n, s in zip(shape, byte_strides)) + start + byte_offset + size
        raise RuntimeError(
            hinted(
                f"setStorage: sizes {list(shape)}, strides {[s // size for s in byte_strides]}, storage offset "
                f"{(start + byte_offset) // size}, and itemsize {size} requiring a storage size of {needed} are out of bounds "
                f"for storage of size {raw.size}",
                "the last element of such a view would lie outside the memory of the tensor",
            )
        ) from None


def _window(raw, shape, dtype, offset, byte_strides):
    if 0 in shape:
        offset = min(max(offset, 0), raw.size)
    if dtype.isbuiltin == 1:
        return _new_array(ndarray, shape, dtype, raw, offset, byte_strides)
    words = _new_array(ndarray, shape, f"u{dtype.itemsize}", raw, offset, byte_strides)
    return words.view(dtype)  # extension types such as bfloat16 have no buffer format of their own


def _stays_inside(array, shape, byte_strides):
    if not array.flags.c_contiguous or 0 in shape or array.dtype.isbuiltin != 1:
        return False
    last = 0
    for length, stride in zip(shape, byte_strides):
        last += (length - 1) * stride
    return last + array.itemsize <= array.nbytes


def expand_view(array, shape):
    """``array`` broadcast to ``shape`` without a copy, writable as PyTorch's ``expand`` is."""
    if array.shape == shape:
        return array[...]
    strides = _expanded_strides(array.shape, array.strides, array.itemsize, shape)
    if array.flags.c_contiguous and 0 not in shape and array.dtype.isbuiltin == 1:
        return _new_array(ndarray, shape, array.dtype, array, 0, strides)
    return strided_view(array, shape, strides)


@functools.lru_cache(512)
def _expanded_strides(own_shape, own_strides, itemsize, shape):
    """The strides, in bytes, of an array broadcast to ``shape``."""
    missing = len(shape) - len(own_shape)
    strides = [0] * len(shape)
    step, length = itemsize, 1  # of the dimension after the one looked at
    for position in range(len(shape) - 1, -1, -1):
        if position >= missing:
            own, stride = own_shape[position - missing], own_strides[position - missing]
        else:
            own, stride = 1, step * length
        length = shape[position]
        strides[position] = step = stride if own == length else 0
    return tuple(strides)


def resized(array, shape):
    """A window of ``shape``, row by row, on the memory of ``array``; on new memory, which starts as a copy, if that is short."""
    raw, start = storage_bytes(array)
    size = array.itemsize
    strides = tuple(s * size for s in contiguous_strides(shape))
    needed = start + math.prod(shape) * size
    if needed <= raw.size:
        return strided_view(array, shape, strides)
    memory = np.empty(needed // size, array.dtype)
    memory.view(np.uint8)[: raw.size] = raw
    return strided_view(memory, shape, strides, start)


def element_strides(array):
    """Strides in elements, as PyTorch counts them."""
    size = array.itemsize
    if not array.size and not any(array.strides):  # NumPy makes empty arrays with strides of zero
        return contiguous_strides(array.shape)
    return tuple([s // size for s in array.strides])


def address_of(array):
    """The address of the first element."""
    # Where CPython's array object holds it: a tenth of the time that __array_interface__ takes.
    return _word_at(id(array) + _HEADER).value


def is_channels_last(array):
    """Whether dimension 1 of a 4- or 5-dim array is the innermost in memory and the others follow in their order.

    Among equal steps, those of dimensions of length 1, PyTorch's rule decides: the array counts as row by row.
    """
    steps, shape = array.strides, array.shape
    if array.ndim not in (4, 5) or not steps[1]:
        return False
    least = 0
    for axis in (1, *range(array.ndim - 1, 1, -1), 0):
        if not shape[axis] or steps[axis] < least or (axis == 0 and least == steps[1]):
            return False
        least = steps[axis] * shape[axis] if shape[axis] > 1 else steps[axis]
    return True


def laid_out_as(array, pattern):
    """``array``, copied to channels last in memory where ``pattern``, of as many dimensions, lies so."""
    if pattern.flags.c_contiguous or not is_channels_last(pattern):
        return array
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def result_order(arrays, shape):
    """The order of dimensions in memory, outermost first, of what an elementwise operation makes of ``arrays``, broadcast to
    ``shape``; None for 0, 1, 2, ...

    Of each two dimensions, the first array that has different steps along them decides, as in PyTorch.
    """
    if len(shape) < 2:
        return None
    steps = [_steps_along(array, shape) for array in arrays if array.ndim > 1]
    order = list(range(len(shape)))[::-1]  # innermost first
    for place in range(1, len(order)):
        here = place
        for before in range(place - 1, -1, -1):
            ahead = _is_ahead(steps, shape, order[before], order[here])
            if ahead > 0:
                order[before], order[here] = order[here], order[before]
                here = before
            elif ahead < 0:
                break
    order.reverse()
    return None if order == list(range(len(shape))) else order


def _steps_along(array, shape):
    """The size of an array's step along each dimension of ``shape``; 0 where it is broadcast."""
    missing = len(shape) - array.ndim
    steps = [
        0 if length == 1 != wanted else abs(step)
        for length, step, wanted in zip(array.shape, array.strides, shape[missing:])
    ]
    return [0] * missing + steps


def _is_ahead(steps, shape, inner, outer):
    """1 where the inner one of two dimensions takes larger steps than the outer one, -1 where smaller ones, 0 for neither."""
    for each in steps:
        step, other = each[inner], each[outer]
        if step and other:
            if step != other:
                return 1 if step > other else -1
            if shape[inner] > shape[outer]:
                return 1
    return 0


def in_result_order(found, arrays):
    """``found``, computed from ``arrays`` element by element, laid out in their `result_order`."""
    if found.ndim < 2 or not found.size or _all_alike(found, arrays):
        return found
    order = result_order(arrays, found.shape)
    if order is None:
        return np.ascontiguousarray(found)
    laid = found.transpose(order)
    if laid.flags.c_contiguous:
        return found
    return np.ascontiguousarray(laid).transpose([order.index(axis) for axis in range(found.ndim)])


def _all_alike(found, arrays):
    """Whether all arrays that have the shape of ``found`` lie in memory as it does, and the others have no dimensions."""
    shape, strides = found.shape, [step // found.itemsize for step in found.strides]
    return all(
        not a.ndim or (a.shape == shape and [step // a.itemsize for step in a.strides] == strides) for a in arrays
    )
