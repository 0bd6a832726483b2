"""Tensors to other forms and types: numbers, lists, NumPy arrays, DLPack, other dtypes."""

from __future__ import annotations

import numpy as np

from ..autograd.modes import state
from ..base import dtypes
from ..base.device import check_device, preserve_format
from ..base.device import device as Device
from ..base.errors import hinted
from ..ops.table import functions
from .base import Tensor, method, wrap
from .creation import type_name
from .internals import internal
from .legacy import TYPED

_FROM_PYTHON = {float: dtypes.float32, int: dtypes.int64, bool: dtypes.bool_, complex: dtypes.complex64}


# ---------------------------------------------------------------- dtype and device


@method
def to(self, *args, **kwargs):
    """The tensor in another dtype or on another device; itself where nothing changes.

    ``to(dtype)``, ``to(device)``, ``to(device, dtype)``, ``to(other)``; ``non_blocking``, ``copy`` and ``memory_format``
    as in PyTorch.

    >>> import rushlight as torch
    >>> torch.tensor([1, 2]).to(torch.float64)
    tensor([1., 2.], dtype=torch.float64)
    """
    if len(args) == 1 and not kwargs and args[0].__class__ is dtypes.DType:
        dtype, copy, memory_format = args[0], False, None
    else:
        dtype, copy, memory_format = _read_to(self, args, dict(kwargs))
    if dtype is None or dtype is self.dtype:
        if copy:
            return self.clone(memory_format=memory_format)
        if memory_format is None or memory_format is preserve_format or self.is_contiguous(memory_format=memory_format):
            return self
        return self.clone(memory_format=memory_format)
    return functions.to_copy(self, dtype, memory_format=memory_format)


def _read_to(self, args, kwargs):
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    kwargs.pop("non_blocking", None)
    copy, memory_format = kwargs.pop("copy", False), kwargs.pop("memory_format", None)
    other = kwargs.pop("other", None)
    if kwargs:
        raise TypeError(
            f"to() received an invalid combination of arguments - got unexpected keyword '{next(iter(kwargs))}'"
        )
    flags = []
    for value in args:
        if isinstance(value, dtypes.DType):
            dtype = value
        elif isinstance(value, Tensor):
            other = value
        elif isinstance(value, bool):
            flags.append(value)
        elif isinstance(value, (str, Device, int)):
            device = value
        elif value in _FROM_PYTHON:
            dtype = _FROM_PYTHON[value]
        elif value is not None:
            raise TypeError(
                hinted(
                    f"to() received an invalid combination of arguments - got ({', '.join(type(v).__name__ for v in args)})",
                    "to() takes a dtype, a device, both, or another tensor",
                )
            )
    if len(flags) > 1:
        copy = flags[1]
    if other is not None:
        dtype = dtype or other.dtype
    check_device(device)
    return dtype, copy, memory_format


def _cast(name, dtype):
    def cast(self, memory_format=None):
        return to(self, dtype) if memory_format is None else to(self, dtype, memory_format=memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__doc__ = f"The tensor as {dtype!r}; itself where it already is."
    method(cast)


for _name, _dtype in {"float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
                      "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
                      "bool": dtypes.bool_, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128}.items():  # fmt: skip
    _cast(_name, _dtype)


@method(name="type")
def convert_type(self, dtype=None, non_blocking=False):
    """The legacy name of the tensor's type (``"torch.FloatTensor"``), or the tensor converted to a dtype or such a name."""
    if dtype is None:
        return type_name(self.dtype)
    if isinstance(dtype, str):
        wanted = TYPED.get(dtype.removeprefix("torch."))
        if wanted is None:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = wanted.dtype
    elif dtype in TYPED.values():
        dtype = dtype.dtype
    elif dtype in _FROM_PYTHON:
        dtype = _FROM_PYTHON[dtype]
    elif dtype is Tensor:
        dtype = dtypes.get_default_dtype()
    return to(self, dtype)


@method
def type_as(self, other):
    """The tensor in the dtype of ``other``."""
    return to(self, other.dtype)


@method
def cpu(self, memory_format=preserve_format):
    """The tensor on the CPU: itself."""
    return self


@method
def cuda(self, device=None, non_blocking=False, memory_format=preserve_format):
    """Refused: this version has no CUDA backend."""
    check_device("cuda" if device is None else device)
    return self


# ---------------------------------------------------------------- Python values


def _one_element(self, what):
    if self._array.size != 1:
        raise RuntimeError(
            hinted(
                f"a Tensor with {self._array.size} elements cannot be converted to Scalar",
                f"{what} reads one element; this tensor has shape {list(self._array.shape)}: index it, reduce it, or use tolist()",
            )
        )
    value = self._array.item()
    return float(value) if self._array.dtype.name == "bfloat16" else value


@method
def item(self):
    """The only element as a Python number."""
    return _one_element(self, "item()")


@method
def tolist(self):
    """The elements as nested lists of Python numbers; a 0-dim tensor gives a number."""
    array = self._array
    return (array.astype(np.float32) if array.dtype.name == "bfloat16" else array).tolist()


@method
def __bool__(self):
    if self._array.size != 1:
        if self._array.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError(
            hinted(
                "Boolean value of Tensor with more than one value is ambiguous",
                "ask .any() or .all(); combine conditions with & and |, not `and` and `or`",
            )
        )
    return bool(self._array.item())


@method
def __int__(self):
    return int(_one_element(self, "int()"))


@method
def __float__(self):
    value = _one_element(self, "float()")
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        value = value.real
    return float(value)


@method
def __complex__(self):
    return complex(_one_element(self, "complex()"))


@method
def __index__(self):
    if self._array.size != 1 or self._array.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self._array.item())


# ---------------------------------------------------------------- NumPy and DLPack


@method
def numpy(self, *, force=False):
    """The elements as a NumPy array on the same memory.

    ``force=True`` also takes tensors that require grad (detached).
    """
    if self.requires_grad and state.grad and not force:
        raise RuntimeError(
            hinted(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
                "an array cannot be tracked: detach() says that the gradient ends here",
            )
        )
    if self._array.dtype.name == "bfloat16":
        raise TypeError("Got unsupported ScalarType BFloat16")
    return self._array[...]


@method
def __array__(self, dtype=None, copy=None):
    array = numpy(self)
    if dtype is None or array.dtype == dtype:
        return array.copy() if copy else array
    if copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    return array.astype(dtype)


@method
def __array_wrap__(self, array, context=None, return_scalar=False):
    return functions.from_numpy(np.asarray(array))


@method
def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return self._array.__dlpack__()


@method
def __dlpack_device__(self):
    return self._array.__dlpack_device__()


@internal
def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor on the memory of an object that offers ``__dlpack__`` (NumPy, PyTorch, JAX, ...)."""
    check_device(device)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError("from_dlpack needs an object with __dlpack__; capsules alone are not accepted")
    array = np.from_dlpack(ext_tensor)
    # NumPy marks imported memory read-only where the exporter did not promise that it may be written.
    return wrap(array.copy() if copy or not array.flags.writeable else array)
