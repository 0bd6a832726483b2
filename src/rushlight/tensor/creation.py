"""Tensors from data: nested lists, numbers, NumPy arrays, other tensors; PyTorch's legacy constructors."""

from __future__ import annotations

import warnings

import numpy as np

from ..autograd.leaves import require_grad
from ..base import dtypes
from ..base.device import check_device
from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from .base import Tensor, wrap
from .internals import internal

_KINDS = {"b": dtypes.bool_, "i": dtypes.int64, "u": dtypes.int64}


def _first_leaf(data):
    while isinstance(data, (list, tuple)) and data:
        data = data[0]
    return data


def _plain(data):
    """Nested sequences with tensors and arrays inside replaced by lists and numbers."""
    if isinstance(data, Tensor):
        return data.tolist() if data.ndim else data.item()
    if isinstance(data, np.ndarray):
        return data.tolist()
    if isinstance(data, (list, tuple, range)):
        return [_plain(item) for item in data]
    if hasattr(data, "__array__") and not isinstance(data, np.generic):
        return np.asarray(data).tolist()
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict)):
        return [_plain(data[i]) for i in range(len(data))]
    return data


def _check_rectangular(data, depth=0):
    """PyTorch's error where sequences at one depth differ in length."""
    if not isinstance(data, list) or not data:
        return
    if any(isinstance(item, list) for item in data):
        length = len(data[0]) if isinstance(data[0], list) else None
        for item in data:
            if not isinstance(item, list):
                raise TypeError("not a sequence")
            if length is not None and len(item) != length:
                raise ValueError(
                    hinted(
                        f"expected sequence of length {length} at dim {depth + 1} (got {len(item)})",
                        "every list at the same depth must have the same length",
                    )
                )
        for item in data:
            _check_rectangular(item, depth + 1)


def array_from(data, dtype):
    """A fresh array of ``data``, in ``dtype`` or the one PyTorch infers: bool, int64, the default float, its complex."""
    if isinstance(data, Tensor):
        return data._array.astype((dtype or data.dtype).numpy, copy=True)
    if isinstance(data, (np.ndarray, np.generic)):
        own = dtypes.from_numpy(data.dtype)
        return np.array(data, dtype=(dtype or own).numpy, copy=True, order="C")
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return array_from(np.asarray(data), dtype)
    leaf = _first_leaf(data)
    numpy_leaf = isinstance(leaf, (np.generic, np.ndarray))
    tensor_leaf = isinstance(leaf, Tensor)
    plain = data if isinstance(data, (int, float, complex)) else _plain(data)
    try:
        array = np.array(plain)
    except ValueError:
        _check_rectangular(plain)
        raise
    if array.dtype.kind in "OUSVM" or (array.dtype.kind == "u" and dtype is None):
        _refuse(plain, array)
    if dtype is None:
        if array.size == 0 and not (numpy_leaf or tensor_leaf):
            dtype = dtypes.get_default_dtype()
        elif numpy_leaf:
            dtype = dtypes.from_numpy(np.asarray(leaf).dtype)
        elif tensor_leaf:
            dtype = leaf.dtype if array.dtype.kind == leaf._array.dtype.kind else None
    if dtype is None:
        kind = array.dtype.kind
        dtype = _KINDS.get(kind) or (dtypes.get_default_dtype() if kind == "f" else dtypes.get_default_dtype().to_complex())
    with np.errstate(all="ignore"):
        if array.dtype.kind == "c" and not dtype.is_complex:
            raise TypeError("must be real number, not complex")
        return array.astype(dtype.numpy, copy=False)


def _refuse(plain, array):
    """The error for data that holds something other than numbers."""
    leaf, path = plain, 0
    while isinstance(leaf, list) and leaf:
        leaf = next((item for item in leaf if isinstance(item, list) or not isinstance(item, (int, float, complex))), leaf[0])
        path += 1
    if isinstance(leaf, int):
        raise RuntimeError("Overflow when unpacking long long")
    if isinstance(leaf, str):
        raise ValueError("too many dimensions 'str'")
    if leaf is None:
        raise RuntimeError("Could not infer dtype of NoneType")
    raise RuntimeError(f"Could not infer dtype of {type(leaf).__name__}")


@internal
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
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
    check_device(device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    made = wrap(array_from(data, dtype))
    return require_grad(made) if requires_grad else made


@internal
def from_numpy(ndarray):
    """A tensor on the memory of a NumPy array: a change of one shows in the other."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtypes.from_numpy(ndarray.dtype)
    if any(stride < 0 for stride in ndarray.strides):
        raise ValueError(
            hinted(
                "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
                "supported. (You can probably work around this by making a copy of your array  with array.copy().) ",
                "reversed arrays such as a[::-1] have negative strides",
            )
        )
    if any(stride % ndarray.itemsize for stride in ndarray.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    if not ndarray.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this "
            "tensor will result in undefined behavior. You may want to copy the array to protect its data or make it writable "
            "before converting it to a tensor. This type of warning will be suppressed for the rest of this program.",
            UserWarning,
            stacklevel=2,
        )
    return wrap(ndarray.view(np.ndarray) if type(ndarray) is not np.ndarray else ndarray[...])


@internal
def as_tensor(data, dtype=None, device=None):
    """``data`` as a tensor, without a copy where it is a tensor or a NumPy array of the wanted dtype."""
    check_device(device)
    if isinstance(data, Tensor):
        return data if dtype is None or data.dtype is dtype else data.to(dtype)
    if isinstance(data, np.ndarray):
        made = from_numpy(data)
        return made if dtype is None or made.dtype is dtype else made.to(dtype)
    return wrap(array_from(data, dtype))


@internal
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=False):
    """``obj`` as a tensor: shares memory with tensors, NumPy arrays and buffers unless ``copy`` or the dtype forbids it."""
    if isinstance(obj, (Tensor, np.ndarray)):
        made = as_tensor(obj, dtype, device)
        shared = made is obj or (isinstance(obj, np.ndarray) and np.shares_memory(made._array, obj))
        if copy is False and not shared and made.numel():
            raise ValueError("can't alias tensor with dtype different from the one given")
        made = made.clone() if copy and shared else made
        made = made.detach() if isinstance(obj, Tensor) and not requires_grad and made._edge is not None and copy else made
    elif isinstance(obj, (bytes, bytearray, memoryview)):
        made = frombuffer(obj, dtype=dtype or dtypes.get_default_dtype())
        made = made.clone() if copy else made
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        made = wrap(array_from(obj, dtype))
    return require_grad(made) if requires_grad else made


@internal
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-dim tensor on the memory of an object with Python's buffer interface."""
    size = len(memoryview(buffer).cast("B"))
    if size == 0 or count == 0:
        raise ValueError(f"both buffer length ({size}) and count ({count}) must not be 0")
    if not 0 <= offset < size:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({size} bytes) minus 1")
    if count < 0 and (size - offset) % dtype.itemsize:
        raise ValueError(
            f"buffer length ({size - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({dtype.itemsize})"
        )
    if count > 0 and offset + count * dtype.itemsize > size:
        raise ValueError(
            f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({size} bytes)"
        )
    array = np.frombuffer(buffer, dtype.numpy, count, offset)
    if not array.flags.writeable:
        warnings.warn(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the "
            "underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or "
            "make it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this "
            "program.",
            UserWarning,
            stacklevel=2,
        )
    made = wrap(array)
    return require_grad(made) if requires_grad else made


# ---------------------------------------------------------------- legacy constructors


def _legacy(dtype, args, kwargs, name):
    """``torch.Tensor(...)`` and the typed forms: sizes give uninitialised memory, one sequence is copied."""
    check_device(kwargs.pop("device", None))
    if kwargs:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if not args:
        return np.empty(0, dtype.numpy)
    if all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in args):
        return np.empty(tuple(int(a) for a in args), dtype.numpy)
    if len(args) != 1:
        raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
    data = args[0]
    if isinstance(data, Size):
        return np.empty(tuple(data), dtype.numpy)
    if isinstance(data, Tensor):
        if data.dtype is not dtype:
            raise TypeError(
                f"expected {type_name(dtype)} (got {type_name(data.dtype)})"
            )
        return data._array
    if isinstance(data, (str, bytes, float, complex, bool)) or not (hasattr(data, "__len__") or hasattr(data, "__iter__")):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return array_from(list(data) if not isinstance(data, np.ndarray) else data, dtype)


@internal
def legacy_constructor(cls, args, kwargs):
    """What ``Tensor(...)`` makes for class ``cls``, in the default dtype."""
    made = object.__new__(cls)
    if len(args) == 1 and isinstance(args[0], Tensor):
        made._array = args[0]._array
        return made
    made._array = _legacy(dtypes.get_default_dtype(), args, kwargs, "Tensor")
    return made


def type_name(dtype):
    """``torch.FloatTensor`` and so on: the legacy name of a tensor type."""
    return f"torch.{dtype.legacy_name}Tensor"


class _TypedConstructor(type):
    """The type of ``torch.FloatTensor`` and its like: calling makes a tensor, isinstance asks for the dtype."""

    def __call__(cls, *args, **kwargs):
        return wrap(_legacy(cls.dtype, args, kwargs, cls.__name__))

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls):
        return f"<class '{type_name(cls.dtype)}'>"


TYPED = {
    f"{dtype.legacy_name}Tensor": _TypedConstructor(
        f"{dtype.legacy_name}Tensor", (), {"dtype": dtype, "__module__": "torch", "__doc__": f"Legacy constructor of {dtype!r} tensors."}
    )
    for dtype in dtypes.ALL
    if not dtype.is_complex and dtype.legacy_name[:4] != "UInt"
}
