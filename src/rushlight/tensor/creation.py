"""Tensors from data: nested lists, numbers, NumPy arrays, buffers, other tensors."""

from __future__ import annotations

import warnings

import numpy as np

from ..autograd.leaves import require_grad
from ..base import dtypes
from ..base.arrays import as_owner, narrowed
from ..base.device import CPU, META, check_device
from ..base.errors import hinted, kind_name
from ..base.lazy import is_meta, meta_array, no_numbers, plain
from ..base.scalars import check_word, holds, no_place, range_of, unpackable
from ..base.user_code import to_user
from ..ops.copy import dense_copy
from ..ops.table import functions
from .base import Tensor, new_tensor, quiet, wrap
from .buffers import map_file
from .classes import SEQUENCES
from .internals import internal
from .lazy_calls import moved

_PYTHON_KINDS = (bool, int, float, complex)
_MISSING = object()


def type_name(dtype):
    """``torch.FloatTensor`` and so on: the legacy name of a tensor type."""
    return f"torch.{dtype.legacy_name}Tensor"


def as_dtype(value, function):
    """The DType meant by a ``dtype`` argument of ``function``: one itself, None, or a Python type."""
    if value is None or isinstance(value, dtypes.DType):
        return value
    found = dtypes.PYTHON.get(value) if isinstance(value, type) else None
    if found is None:
        raise TypeError(
            hinted(
                f"{function}(): argument 'dtype' must be torch.dtype, not {kind_name(value)}",
                "dtypes are torch.float32, torch.int64, ...",
            )
        )
    return found


# ---------------------------------------------------------------- nested sequences


def _is_sequence(value):
    return isinstance(value, (list, tuple)) or (
        hasattr(value, "__len__")
        and hasattr(value, "__getitem__")
        and not isinstance(value, (Tensor, np.generic, dict, str, bytes))
        and not (isinstance(value, np.ndarray) and value.ndim == 0)
    )


def _shape_of(data):
    """The shape of nested sequences, read off their first items."""
    shape = []
    while _is_sequence(data):
        shape.append(len(data))
        if not shape[-1]:
            break
        data = data[0]
        if isinstance(data, (str, bytes)) and len(data) and shape:
            kind = type(data).__name__
            first = f"too many dimensions '{kind}'" if isinstance(data, str) else f"new(): invalid data type '{kind}'"
            error = ValueError if isinstance(data, str) else TypeError
            raise error(hinted(first, "tensors hold numbers"))
    return tuple(shape)


def _leaves(data, depth, found):
    """Every item at ``depth`` of nested sequences, appended to ``found``; deeper ones count as they are met."""
    if depth == 1:
        found.extend(data)
        return found
    for item in data:
        if not _is_sequence(item):
            _dtype_of_leaf(item)
            raise TypeError(hinted("not a sequence", "every list at the same depth must hold lists, or none of them"))
        _leaves(item, depth - 1, found)
    return found


def _check_lengths(data, shape, level=0):
    """PyTorch's error where sequences at one depth differ in length."""
    if len(data) != shape[level]:
        raise ValueError(
            hinted(
                f"expected sequence of length {shape[level]} at dim {level} (got {len(data)})",
                "every list at the same depth must have the same length",
            )
        )
    if level + 1 < len(shape):
        for item in data:
            _check_lengths(item, shape, level + 1)


def _dtype_of_leaf(value):
    """The dtype that PyTorch infers from one item."""
    if isinstance(value, Tensor):
        return value.dtype
    if isinstance(value, (np.generic, np.ndarray)):
        return dtypes.from_numpy(value.dtype)
    if isinstance(value, _PYTHON_KINDS):
        return dtypes.of_scalar(value)
    if isinstance(value, (str, bytes)):
        raise TypeError(hinted(f"new(): invalid data type '{type(value).__name__}'", "tensors hold numbers"))
    if _is_sequence(value):
        inner = [_dtype_of_leaf(item) for item in value]
        return _promoted(inner) if inner else dtypes.get_default_dtype()
    raise RuntimeError(hinted(f"Could not infer dtype of {kind_name(value)}", "tensors hold numbers"))


def _promoted(found):
    result = found[0]
    for dtype in found[1:]:
        result = dtypes.promote_types(result, dtype)
    return result


def _inferred(leaves, kinds):
    """The dtype of a list of items, of the classes ``kinds``: that of the highest of them."""
    if kinds <= _PLAIN:
        for kind in (complex, float, int, bool):
            if kind in kinds:
                return dtypes.of_scalar(kind())
    return _promoted([_dtype_of_leaf(item) for item in leaves])


_PLAIN = frozenset(_PYTHON_KINDS)


def _number(value, dtype):
    """An item as a Python number that ``dtype`` can take."""
    if isinstance(value, (Tensor, np.ndarray)):
        if value.size != 1 if isinstance(value, np.ndarray) else value.numel() != 1:
            if dtype.is_floating_point or dtype.is_complex:
                raise ValueError(
                    hinted("only one element tensors can be converted to Python scalars", "torch.stack() joins tensors")
                )
            raise TypeError(
                hinted(
                    "only integer tensors of a single element can be converted to an index",
                    "torch.stack() joins tensors",
                )
            )
        return value.item()
    if isinstance(value, _PYTHON_KINDS):
        return value
    kind, wanted = type(value), kind_name(value)
    if dtype is dtypes.uint64 and not isinstance(value, np.integer):
        raise TypeError(hinted("an integer is required", f"write int(...) around what is a {wanted}"))
    if isinstance(value, np.complexfloating) and dtype.is_complex:
        return complex(value)
    if dtype.is_floating_point or dtype.is_complex:
        if hasattr(kind, "__float__") or hasattr(kind, "__index__"):
            return float(value)
        raise TypeError(hinted(f"must be real number, not {wanted}", "tensors hold numbers"))
    if dtype is dtypes.bool_ and isinstance(value, np.bool_):
        return bool(value)
    if hasattr(kind, "__index__"):
        return value.__index__()
    raise TypeError(hinted(f"'{wanted}' object cannot be interpreted as an integer", "write int(...) around it"))


def _refuse_unsigned(array, kind):
    """What PyTorch refuses in a list for uint64: negative integers, those beyond 64 bits and other numbers."""
    if kind in "fc":
        raise TypeError(hinted("an integer is required", "torch.uint64 holds whole numbers: round them first"))
    for value in array.reshape(-1).tolist():
        if value < 0:
            raise OverflowError(
                hinted("can't convert negative int to unsigned", "torch.uint64 has no negative numbers")
            )
        check_word(value)


def _fitted(array, dtype):
    """An array of Python numbers in ``dtype``; what does not fit is refused, as far as PyTorch refuses it."""
    goal = dtype.numpy
    if array.dtype is goal:
        return array
    kind = array.dtype.kind
    if goal.kind == "b":
        return array.astype(goal)
    if dtype is dtypes.uint64 and kind != "u":
        _refuse_unsigned(array, kind)
    if kind == "O" or (kind == "u" and goal.kind in "iu" and dtype is not dtypes.uint64):
        if goal.kind in "iu":
            raise unpackable("an integer among them")
        array = array.astype(np.float64)
    if kind == "c" and goal.kind not in "cW":
        words = (
            "'complex' object cannot be interpreted as an integer"
            if goal.kind in "iu"
            else "must be real number, not complex"
        )
        raise TypeError(hinted(words, "ask for a complex dtype, or take the real part"))
    if goal.kind in "iu" and kind in "iuf" and array.size:
        lowest, largest = range_of(goal)
        if kind == "f" and goal.kind == "u":  # integers count back from the end
            lowest = 0
        inside = lowest <= array.min().item() and array.max().item() <= largest
        if not inside or (kind == "f" and not np.isfinite(array).all()):
            raise no_place(dtype, holds(goal), dtype.name)
    return quiet().run(narrowed(array, goal).astype, goal)


def array_from(data, dtype):
    """A fresh array of ``data``, in ``dtype`` or the one PyTorch infers: bool, int64, the default float, its complex."""
    if data.__class__ in _PLAIN:
        return _fitted(np.array(data), dtype or dtypes.of_scalar(data))
    if isinstance(data, Tensor):
        return plain(data._array).astype((dtype or data.dtype).numpy, order="C", copy=True)
    if isinstance(data, np.ndarray):
        _check_numpy(data)
        array = dtypes.interned(np.asarray(data))
        if dtype is None or dtype.numpy == array.dtype:
            return dense_copy(array)
        order, goal = "C" if 0 in array.strides else "K", dtype.numpy
        return quiet().run(narrowed(array, goal).astype, goal, order)
    if isinstance(data, (str, bytes)):
        raise TypeError(hinted(f"new(): invalid data type '{type(data).__name__}'", "tensors hold numbers"))
    if not _is_sequence(data):
        wanted = dtype or _dtype_of_leaf(data)
        return _fitted(np.array(_number(data, wanted)), wanted)
    shape, leaves = None, data
    if data.__class__ not in SEQUENCES or not data or not _PLAIN.issuperset(map(type, data)):
        shape = _shape_of(data)
        if 0 in shape:
            return np.empty(shape, (dtype or dtypes.get_default_dtype()).numpy)
        leaves = _leaves(data, len(shape), [])
    kinds = set(map(type, leaves))
    wanted = dtype or _inferred(leaves, kinds)
    if shape is not None:
        _check_lengths(data, shape)
    if not kinds <= _PLAIN:
        leaves = [_number(item, wanted) for item in leaves]
    found = _fitted(np.array(leaves), wanted)
    return found if shape is None else found.reshape(shape)


@internal
def tensor(data=_MISSING, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor that copies ``data``: numbers, nested sequences of them, NumPy arrays or tensors.

    Args:
        data: what to copy.
        dtype: by default inferred: bool, int64, the default floating type or its complex; that of an array or tensor.
        device: only ``"cpu"`` in this version.
        requires_grad: whether operations on the tensor are recorded.

    >>> import rushlight as torch
    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if data is _MISSING:
        raise TypeError(hinted('tensor() missing 1 required positional arguments: "data"', "give a number or a list"))
    if requires_grad.__class__ is not bool or pin_memory.__class__ is not bool:
        raise TypeError("tensor(): requires_grad and pin_memory must be bool")
    dtype = as_dtype(dtype, "tensor")
    where = check_device(device)
    if isinstance(data, Tensor):
        warnings.warn(
            hinted(
                "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
                "the copy is outside of the graph: no gradient flows through it",
            ),
            UserWarning,
            stacklevel=to_user(),
        )
    if isinstance(data, Tensor) and is_meta(data._array):
        if device is not None and where is not META:
            raise no_numbers()
        made = wrap(meta_array(data.shape, (dtype or data.dtype).numpy))
    else:
        made = wrap(array_from(data, dtype))
        made = made if where is CPU else moved(made, where)
    return require_grad(made) if requires_grad else made


# ---------------------------------------------------------------- shared memory


def _check_numpy(array):
    """Refuse arrays whose memory a tensor cannot describe."""
    if not array.dtype.isnative:
        raise ValueError(
            hinted(
                "given numpy array has byte order different from the native byte order. Conversion between byte "
                "orders is currently not supported.",
                "convert it: array.astype(array.dtype.newbyteorder('='))",
            )
        )
    dtypes.from_numpy(array.dtype)
    for stride in array.strides:
        if stride < 0:
            raise ValueError(
                hinted(
                    "At least one stride in the given numpy array is negative, and tensors with negative strides are "
                    "not currently supported. (You can probably work around this by making a copy of your array  with "
                    "array.copy().) ",
                    "reversed arrays such as a[::-1] have negative strides",
                )
            )


@internal
def from_numpy(ndarray):
    """A tensor on the memory of a NumPy array: a change of one shows in the other.

    >>> import numpy
    >>> import rushlight as torch
    >>> a = numpy.zeros(2)
    >>> torch.from_numpy(a).fill_(1), a
    (tensor([1., 1.], dtype=torch.float64), array([1., 1.]))
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        raise TypeError(hinted(f"expected np.ndarray (got {name})", "torch.as_tensor() takes numbers and lists too"))
    _check_numpy(ndarray)
    itemsize = ndarray.itemsize
    for stride in ndarray.strides:
        if stride % itemsize:
            raise ValueError(
                hinted(
                    "given numpy array strides not a multiple of the element byte size. Copy the numpy array to "
                    "reallocate the memory.",
                    "fields of structured arrays have such strides",
                )
            )
    if not ndarray.flags.writeable:
        _warn_read_only(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means "
            "writing to this tensor will result in undefined behavior. You may want to copy the array to protect its "
            "data or make it writable before converting it to a tensor. This type of warning will be suppressed for "
            "the rest of this program."
        )
    array = ndarray[...] if ndarray.__class__ is np.ndarray else ndarray.view(np.ndarray)
    is_window = ndarray.base.__class__ is np.ndarray and array.size
    return on_foreign_memory(as_owner(array) if is_window else array)


def on_foreign_memory(array):
    """A tensor on memory that is not its own: it may not grow."""
    made = new_tensor()
    made._array, made._edge, made._resizable = dtypes.interned(array), None, False
    return made


@internal
def mapped_file(filename, shared, size, dtype):
    """The tensor of `from_file`."""
    raw = map_file(filename, shared, size * dtype.itemsize) if size else np.empty(0, np.uint8)
    return on_foreign_memory(raw[: size * dtype.itemsize].view(dtype.numpy))


def _warn_read_only(text):
    warnings.warn(text, UserWarning, stacklevel=3)


@internal
def as_tensor(data, *, dtype=None, device=None):
    """``data`` as a tensor, without a copy where it is a tensor or a NumPy array of the wanted dtype."""
    dtype = as_dtype(dtype, "as_tensor")
    where = check_device(device)
    if isinstance(data, Tensor):
        data = data if device is None else moved(data, where)
        return data if dtype is None or data.dtype is dtype else data.to(dtype)
    if where is not CPU:
        return moved(wrap(array_from(data, dtype)), where)
    if isinstance(data, np.ndarray):
        made = from_numpy(data)
        return made if dtype is None or made.dtype is dtype else made.to(dtype)
    return wrap(array_from(data, dtype))


def _cannot_alias(made, dtype):
    return ValueError(
        hinted(
            f"can't alias tensor with dtype '{made.dtype.legacy_name}' into dtype '{dtype.legacy_name}'.",
            "leave copy=False away, or the dtype",
        )
    )


@internal
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """``obj`` as a tensor: shares memory with tensors, NumPy arrays and buffers unless ``copy`` or the dtype forbids.

    Args:
        copy: True always copies, False refuses what it would have to copy, None copies where needed.
        requires_grad: whether the result requires grad; a tensor in a graph is detached otherwise.
    """
    if {requires_grad.__class__, copy.__class__} - {bool, type(None)}:
        raise TypeError("asarray(): copy and requires_grad must be bool")
    dtype = as_dtype(dtype, "asarray")
    where = check_device(device)
    exported = functions.is_capsule(obj) or (hasattr(obj, "__dlpack__") and not isinstance(obj, np.generic))
    if exported or isinstance(obj, (Tensor, np.ndarray)):
        source = obj
        if not isinstance(obj, Tensor):
            source = as_tensor(obj) if isinstance(obj, np.ndarray) else functions.from_dlpack(obj)
        if dtype is not None and source.dtype is not dtype:
            if copy is False:
                raise _cannot_alias(source, dtype)
            made = source.to(dtype)
        else:
            made = source.clone() if copy else source
        if requires_grad and made is obj and not made.requires_grad:
            made = made.detach()
    elif isinstance(obj, (bytes, bytearray, memoryview)):
        made = frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
        made = made.clone() if copy else made
    else:
        if copy is False:
            raise ValueError(hinted("can't alias arbitrary sequence into a tensor.", "its numbers have to be copied"))
        made = wrap(array_from(obj, dtype))
    if where is not CPU and (device is not None or not isinstance(obj, Tensor)):
        made = moved(made, where)
    return require_grad(made) if requires_grad else made


@internal
def frombuffer(buffer, *, dtype=None, count=-1, offset=0, requires_grad=False):
    """A 1-dim tensor on the memory of an object with Python's buffer interface.

    Args:
        dtype: how its bytes are read.
        count: how many elements; -1 for all that follow ``offset``.
        offset: how many bytes to leave out first.

    >>> import rushlight as torch
    >>> torch.frombuffer(bytearray(b"ab"), dtype=torch.uint8)
    tensor([97, 98], dtype=torch.uint8)
    """
    if dtype is None:
        raise TypeError(hinted('frombuffer() missing 1 required positional arguments: "dtype"', "bytes have no type"))
    dtype = as_dtype(dtype, "frombuffer")
    if requires_grad.__class__ is not bool:
        raise TypeError("frombuffer(): requires_grad must be bool")
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError(
            hinted("object does not implement Python buffer protocol.", f"it is a {type(buffer).__name__}")
        ) from None
    if not view.c_contiguous:
        raise RuntimeError(
            hinted("could not retrieve buffer from object", "the bytes of a buffer must follow each other")
        )
    size = view.nbytes
    if size == 0 or count == 0:
        raise ValueError(
            hinted(f"both buffer length ({size}) and count ({count}) must not be 0", "torch.empty(0) is empty")
        )
    if not 0 <= offset < size:
        raise ValueError(
            hinted(
                f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1",
                "it says where the first element starts",
            )
        )
    if count < 0 and (size - offset) % dtype.itemsize:
        raise ValueError(
            hinted(
                f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element "
                f"size ({dtype.itemsize})",
                "count= reads a part of the buffer",
            )
        )
    if count >= 1 << 63:
        raise ValueError(hinted("Overflow when unpacking long long", "count= is a number of elements"))
    if count > 0 and offset + count * dtype.itemsize > size:
        raise ValueError(
            hinted(
                f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not be "
                f"greater than actual buffer length ({size} bytes)",
                "count=-1 reads what is there",
            )
        )
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    if not array.flags.writeable:
        _warn_read_only(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can "
            "write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy the "
            "buffer to protect its data or make it writable before converting it to a tensor. This type of warning "
            "will be suppressed for the rest of this program."
        )
    made = on_foreign_memory(array)
    return require_grad(made) if requires_grad else made
