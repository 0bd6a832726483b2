"""PyTorch's legacy constructors: ``torch.Tensor(...)``, ``torch.FloatTensor(...)``, ``tensor.new(...)``."""

from __future__ import annotations

import numpy as np

from ..base import dtypes
from ..base.device import check_device
from ..base.errors import hinted
from ..base.lazy import plain
from ..base.notes import warn_once
from ..base.size import Size
from ..base.uninitialised import FILLING, fill_new
from ..ops.table import functions
from .base import Tensor, method, wrap
from .creation import array_from, type_name
from .internals import internal
from .storage import TypedStorage, is_storage


def _combination(args, kwargs):
    given = ", ".join([type(a).__name__ for a in args] + [f"{k}={_shown(v)}, " for k, v in kwargs.items()])
    return TypeError(
        hinted(
            f"new() received an invalid combination of arguments - got ({given}), but expected one of:",
            "the legacy constructors take lengths, or one sequence of numbers; torch.tensor(data) and "
            "torch.empty(2, 3) are clearer",
        )
    )


def _shown(value):
    return "torch.dtype" if isinstance(value, dtypes.DType) else type(value).__name__


def _sized(shape, dtype):
    for length in shape:
        if length < 0:
            raise RuntimeError(
                hinted(
                    f"Trying to create tensor with negative dimension {length}: {list(shape)}", "lengths are 0 or more"
                )
            )
    made = np.empty(shape, dtype.numpy)
    if FILLING:
        fill_new(made)
    return made


def legacy_array(dtype, args, kwargs):
    """The array of a legacy constructor: of lengths uninitialised, of a sequence copied, of a tensor shared."""
    kwargs = dict(kwargs)
    check_device(kwargs.pop("device", None))
    if not args and kwargs.keys() == {"size"}:
        return _sized(tuple(kwargs["size"]), dtype)
    if kwargs:
        raise _combination(args, kwargs)
    if not args:
        return np.empty(0, dtype.numpy)
    if all(isinstance(a, (int, np.integer)) and not isinstance(a, bool) for a in args):
        return _sized(tuple(int(a) for a in args), dtype)
    if len(args) != 1:
        raise _combination(args, kwargs)
    data = args[0]
    if isinstance(data, Size):
        return _sized(tuple(data), dtype)
    if is_storage(data):
        return _of_storage(data, dtype)
    if isinstance(data, Tensor):
        if data.dtype is not dtype:
            raise TypeError(
                hinted(f"expected {type_name(dtype)} (got {type_name(data.dtype)})", "data.to() converts a tensor")
            )
        return plain(data._array)
    if isinstance(data, (str, bytes)):
        raise TypeError(hinted(f"new(): invalid data type '{type(data).__name__}'", "tensors hold numbers"))
    if isinstance(data, (float, complex, bool)) or not (hasattr(data, "__len__") or hasattr(data, "__iter__")):
        raise TypeError(
            hinted(f"new(): data must be a sequence (got {type(data).__name__})", "torch.tensor() takes single numbers")
        )
    return array_from(data if isinstance(data, (np.ndarray, list, tuple)) else list(data), dtype)


def _of_storage(storage, dtype):
    if isinstance(storage, TypedStorage) and storage.dtype is not dtype:
        raise RuntimeError(
            hinted(
                f"Expected a Storage of type {dtype.legacy_name} or an UntypedStorage, but got type "
                f"{storage.dtype.legacy_name} for argument 1 'storage'",
                "untyped() shows the bytes of a storage",
            )
        )
    return storage._bytes.view(dtype.numpy)


@internal
def legacy_constructor(cls, args, kwargs):
    """What ``Tensor(...)`` makes for class ``cls``, in the default dtype; a tensor is shared whatever its dtype."""
    if len(args) == 1 and not kwargs and isinstance(args[0], Tensor):
        made = functions.alias(args[0].detach())
    else:
        made = wrap(legacy_array(dtypes.get_default_dtype(), args, kwargs))
    made.__class__ = cls
    return made


@method
def new(self, *args, **kwargs):
    """A tensor of this tensor's dtype, made as by the legacy constructors: ``x.new(2, 3)``, ``x.new([1, 2])``."""
    return _made(self.dtype, args, kwargs)


def _made(dtype, args, kwargs):
    array = legacy_array(dtype, args, kwargs)
    return functions.alias(args[0].detach()) if args and isinstance(args[0], Tensor) else wrap(array)


class _TypedConstructor(type):
    """The type of ``torch.FloatTensor`` and its like: calling makes a tensor, isinstance asks for the dtype."""

    def __call__(cls, *args, **kwargs):
        return _made(cls.dtype, args, kwargs)

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls):
        return f"<class '{type_name(cls.dtype)}'>"


def _typed(dtype):
    doc = f"Legacy constructor of {dtype!r} tensors."
    return _TypedConstructor(f"{dtype.legacy_name}Tensor", (), {"dtype": dtype, "__module__": "torch", "__doc__": doc})


TYPED = {
    f"{dtype.legacy_name}Tensor": _typed(dtype)
    for dtype in dtypes.ALL
    if not dtype.is_complex and dtype.legacy_name[:4] != "UInt"
}


@internal
def set_default_tensor_type(t):
    """Set the default dtype to that of a legacy tensor type, such as ``torch.DoubleTensor`` or its name."""
    warn_once(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives."
    )
    kind = TYPED.get(t.removeprefix("torch.")) if isinstance(t, str) else t
    if kind not in TYPED.values():
        raise TypeError(
            hinted(
                "invalid type object: only floating-point types are supported as the default type",
                "torch.set_default_dtype() takes a dtype",
            )
        )
    dtypes.set_default_dtype(kind.dtype)
