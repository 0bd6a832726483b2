"""NumPy arrays as memory: strided windows, the storage behind a view, contiguity."""

from __future__ import annotations

import ctypes
import functools
import math

import numpy as np

from . import stored
from .dtypes import STORED
from .errors import hinted
from .limits import LARGEST_WORD, no_memory, not_resizable, too_many_elements, too_much_memory
from .notes import warn_once
from .shapes import contiguous_strides

_new_array = np.ndarray.__new__
_HEADER = object.__basicsize__  # bytes of a Python object before its own fields
_word_at = ctypes.c_size_t.from_address
ndarray = np.ndarray


def _direct(function):
    """A function of NumPy's without its look for ``__array_function__`` in the arguments, which takes 0.1 to 0.3 us."""
    return getattr(function, "_implementation", function)


# For arrays alone: what only has the face of one refuses to be read by that look.
concatenate, copyto, count_nonzero, may_share_memory, putmask = map(
    _direct, (np.concatenate, np.copyto, np.count_nonzero, np.may_share_memory, np.putmask)
)
_FLOAT16, _FLOAT64 = np.dtype(np.float16), np.dtype(np.float64)
_COMPLEX64, _COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)


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
        flat = _all_between(owner)
    raw = flat.view(np.uint8)
    return raw, array.__array_interface__["data"][0] - raw.__array_interface__["data"][0]


def _all_between(owner):
    """The memory from the first to the last element of an array, flat; the array may leave gaps, on a foreign buffer."""
    moved = owner.transpose(sorted(range(owner.ndim), key=lambda d: -owner.strides[d]))
    if moved.flags.c_contiguous:
        return moved.reshape(-1)
    first = owner[(*[-1 if step < 0 else 0 for step in owner.strides], ..., None)]
    length = sum((n - 1) * abs(step) for n, step in zip(owner.shape, owner.strides)) // owner.itemsize + 1
    return np.lib.stride_tricks.as_strided(first, (length,), (owner.itemsize,))


def as_owner(array):
    """``array`` with its memory as if that began with its first element and ended with its last, whatever it is a window on."""
    memory = np.asarray(_Memory(_all_between(array)))
    return _new_array(ndarray, array.shape, array.dtype, memory, 0, array.strides)


class _Memory:
    """Offers the memory of an array to NumPy, which sees no array behind it: `owner_of` ends there."""

    __slots__ = ("__array_interface__", "array")

    def __init__(self, array):
        self.__array_interface__, self.array = array.__array_interface__, array


def narrowed(array, goal):
    """What an array is converted from on its way to the NumPy dtype ``goal``: float64 numbers become float16 by way of float32,
    rounded twice, as PyTorch rounds them; float8 and complex32 have conversions of their own (`base.stored`). Of complex numbers
    that become real the imaginary parts are left behind, with PyTorch's warning."""
    if STORED:
        array = stored.narrowed(array, goal) if goal in STORED else stored.widened(array)
    kind = array.dtype
    if (kind is _COMPLEX64 or kind is _COMPLEX128) and goal.kind not in "cb":
        if array.size:
            warn_once("Casting complex values to real discards the imaginary part")
        array, kind = array.real, kind is _COMPLEX128 and _FLOAT64
    if goal is not _FLOAT16 or kind is not _FLOAT64:
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
    return window_on(raw, shape, array.dtype, start + byte_offset, byte_strides)


def window_on(raw, shape, dtype, offset, byte_strides):
    """The window of ``shape`` and ``byte_strides``, ``offset`` bytes from the start of the flat uint8 array ``raw``; outside it
    is an error."""
    # NumPy's own check does not do: it takes an empty buffer for one that is large enough, and huge strides overflow.
    if 0 in shape:
        offset, byte_strides = min(max(offset, 0), raw.size), [_narrow(step) for step in byte_strides]
    else:
        lowest, needed = bounds(shape, byte_strides, dtype.itemsize, offset)
        if needed > raw.size or lowest < 0:
            raise _outside(raw, shape, dtype.itemsize, offset, byte_strides, needed)
        byte_strides = [_narrow(step) for step in byte_strides]
    try:
        if dtype.isbuiltin == 1:
            return _new_array(ndarray, shape, dtype, raw, offset, byte_strides)
        words = _new_array(ndarray, shape, f"u{dtype.itemsize}", raw, offset, byte_strides)
    except ValueError:
        raise too_many_elements(shape) from None
    return words.view(dtype)  # extension types such as bfloat16 have no buffer format of their own


def bounds(shape, byte_strides, itemsize, offset=0):
    """Where the memory of such a window with elements begins and ends, in bytes."""
    lowest = highest = offset
    for length, step in zip(shape, byte_strides):
        if step < 0:
            lowest += (length - 1) * step
        else:
            highest += (length - 1) * step
    return lowest, highest + itemsize


def _narrow(step):
    """The step as it is where NumPy can hold it; nobody takes one of a length of 1 or 0."""
    return step if abs(step) <= LARGEST_WORD else 0


def _outside(raw, shape, itemsize, offset, byte_strides, needed):
    """PyTorch's error for a window that does not fit."""
    steps = [s // itemsize for s in byte_strides]
    if needed > LARGEST_WORD or min(steps, default=0) < 0:
        return too_much_memory(shape, steps)
    return RuntimeError(
        hinted(
            f"setStorage: sizes {list(shape)}, strides {steps}, storage offset {offset // itemsize}, and itemsize {itemsize} "
            f"requiring a storage size of {needed} are out of bounds for storage of size {raw.size}",
            "the last element of such a view would lie outside the memory of the tensor",
        )
    )


def _stays_inside(array, shape, byte_strides):
    if not array.flags.c_contiguous or 0 in shape or array.dtype.isbuiltin != 1:
        return False
    last = elements = array.itemsize
    for length, stride in zip(shape, byte_strides):
        if not 0 <= stride <= LARGEST_WORD:
            return False
        last += (length - 1) * stride
        elements *= length
    return last <= array.nbytes and elements <= LARGEST_WORD


def expand_view(array, shape):
    """``array`` broadcast to ``shape`` without a copy, writable as PyTorch's ``expand`` is."""
    if array.shape == shape:
        return array[...]
    strides = _expanded_strides(array.shape, array.strides, array.itemsize, shape)
    if array.flags.c_contiguous and 0 not in shape and array.dtype.isbuiltin == 1:
        try:
            return _new_array(ndarray, shape, array.dtype, array, 0, strides)
        except ValueError:
            raise too_many_elements(shape) from None
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


def resized(array, shape, resizable=True):
    """A window of ``shape``, row by row, on the memory of ``array``; on new memory, which starts as a copy, if that is short."""
    raw, start = storage_bytes(array)
    size = array.itemsize
    strides = tuple(s * size for s in contiguous_strides(shape))
    needed = start + math.prod(shape) * size if math.prod(shape) else 0
    if needed > raw.size:
        if not resizable:
            raise not_resizable()
        if math.prod(shape) > LARGEST_WORD:
            raise too_many_elements(shape)
        raw = grown(raw, needed, shape)
    return window_on(raw, shape, array.dtype, start, strides)


def grown(raw, nbytes, shape, strides=None):
    """New memory of so many bytes, which starts as a copy of ``raw``, for an array of ``shape``."""
    if nbytes > LARGEST_WORD:
        raise too_much_memory(shape, strides)
    memory = aligned_bytes(nbytes)
    memory[: raw.size] = raw
    return memory


def aligned_bytes(nbytes):
    """Memory of so many bytes for elements of any dtype: a flat uint8 array."""
    if nbytes < 0:
        raise RuntimeError(
            hinted(
                "[enforce fail at alloc_cpu.cpp:98] ((ptrdiff_t)nbytes) >= 0. alloc_cpu() seems to have been called with negative "
                f"number: {nbytes + (1 << 64)}",
                "a storage has 0 or more bytes",
            )
        )
    try:
        return np.empty(nbytes, np.uint8)
    except (MemoryError, ValueError):
        raise no_memory(nbytes) from None


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


def place_of(array):
    """Where an array lies in memory, and how: equal for arrays of the same elements."""
    return address_of(array), array.shape, array.strides, array.dtype.char


def is_dense(array):
    """Whether the elements fill their memory, each in a place of its own, in whatever order of the dimensions."""
    if array.flags.c_contiguous:
        return True
    return array.transpose(sorted(range(array.ndim), key=lambda axis: -array.strides[axis])).flags.c_contiguous


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
    """``array``, channels last in memory where ``pattern``, of as many dimensions, lies so, else row by row."""
    if pattern.flags.c_contiguous or not is_channels_last(pattern):
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1)


def result_order(arrays, shape, casts=()):
    """The order of dimensions in memory, outermost first, of what an elementwise operation makes of ``arrays``, broadcast to
    ``shape``; None for 0, 1, 2, ...

    Of each two dimensions, the first array that has different steps along them decides, as in PyTorch. Where ``casts`` is
    true, an array counts as its conversion to another dtype would lie.
    """
    forms = [(array.shape, array.strides) for array in arrays]
    for place, cast in enumerate(casts):
        if cast and 0 in forms[place][1]:
            forms[place] = arrays[place].shape, dense_strides(*forms[place])
    return _order_of(shape, tuple(forms))


def dense_strides(shape, strides):
    """The strides, in elements, of an array without gaps in the `result_order` of one of this shape and these strides."""
    order = _order_of(shape, ((shape, strides),)) or range(len(shape))
    laid = contiguous_strides([shape[axis] for axis in order])
    return tuple([step for _, step in sorted(zip(order, laid))])


@functools.lru_cache(maxsize=4096)
def _order_of(shape, forms):
    if len(shape) < 2:
        return None
    steps = [_steps_along(lengths, strides, shape) for lengths, strides in forms if len(lengths) > 1]
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
    return None if order == list(range(len(shape))) else tuple(order)


def _steps_along(lengths, strides, shape):
    """The size of an array's step along each dimension of ``shape``; 0 where it is broadcast."""
    missing = len(shape) - len(lengths)
    steps = [
        0 if length == 1 != wanted else abs(step) for length, step, wanted in zip(lengths, strides, shape[missing:])
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
    if found.ndim < 2 or not found.size:
        return found
    shape = found.shape
    for array in arrays:
        if not array.flags.c_contiguous:
            return in_memory_order(found, result_order(arrays, shape))
        if array.shape == shape:  # row by row: it decides
            break
    return found if found.flags.c_contiguous else np.ascontiguousarray(found)


def in_memory_order(found, order, copied=np.ascontiguousarray):
    """``found``, laid out with its dimensions in this order in memory, outermost first; None for 0, 1, 2, ...

    ``copied`` makes the copies, row by row.
    """
    if order is None:
        return found if found.flags.c_contiguous else copied(found)
    laid = found.transpose(order)
    if laid.flags.c_contiguous:
        return found
    return copied(laid).transpose([order.index(axis) for axis in range(found.ndim)])


def empty_in_result_order(arrays, shape, dtype):
    """An array of ``shape``, laid out in the `result_order` of ``arrays``."""
    order = result_order(arrays, shape)
    if order is None:
        return np.empty(shape, dtype)
    laid = np.empty([shape[axis] for axis in order], dtype)
    return laid.transpose([order.index(axis) for axis in range(len(order))])


def converted(array, dtype):
    """``array`` in another dtype, laid out as PyTorch lays out the conversion."""
    found = array.astype(dtype)
    return in_result_order(found, (array,)) if array.ndim > 1 and not array.flags.c_contiguous else found
