"""Tensors to other forms and types: numbers, lists, NumPy arrays, DLPack, other dtypes."""

from __future__ import annotations

import warnings
from inspect import Parameter, Signature

import numpy as np

from ..autograd.modes import state
from ..autograd.names import described
from ..base import dtypes
from ..base.device import CPU, META, check_device, preserve_format
from ..base.device import device as Device
from ..base.device import memory_format as MemoryFormat
from ..base.errors import hinted
from ..base.lazy import NO_NUMBERS, bits_of, is_meta, no_numbers, plain, stored_in
from ..base.scalars import no_place
from ..ops.moving import write
from ..ops.table import functions
from .base import Tensor, method, wrap
from .creation import as_dtype, on_foreign_memory, type_name
from .internals import internal
from .lazy_calls import moved
from .legacy import TYPED
from .refusals import refuse_method
from .writes import bump

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
        try:
            where, dtype, copy, memory_format = _read_to(list(args), kwargs.copy())
        except TypeError:
            refuse_method("to", *args, **kwargs)
            raise
        if where is not None and (where is META or is_meta(self._array)):
            self = moved(self, where)
    if dtype is None or dtype is self.dtype:
        if copy:
            return self.clone(memory_format=memory_format)
        if memory_format is None or memory_format is preserve_format or self.is_contiguous(memory_format=memory_format):
            return self
        return self.clone(memory_format=memory_format)
    if memory_format is None:
        return functions.to_copy(self, dtype)
    return functions.to_copy(self, dtype, memory_format=memory_format)


def _read_to(rest, options):
    """The device and dtype (None: unchanged), copy flag and memory format that a call of `to` means, out of copies of what it was given."""
    device = dtype = memory_format = None
    if not rest and isinstance(options.get("tensor"), Tensor):
        rest.append(options.pop("tensor"))
    if rest and isinstance(rest[0], Tensor):
        device, dtype = rest[0].device, rest.pop(0).dtype
    elif rest and isinstance(rest[0], (dtypes.DType, type)):
        dtype = rest.pop(0)
    elif rest and (rest[0] is None or isinstance(rest[0], (str, Device)) or rest[0].__class__ is int):
        device = rest.pop(0)
        if rest and not isinstance(rest[0], bool):
            dtype = rest.pop(0)
    if options:
        device, dtype = options.pop("device", device), options.pop("dtype", dtype)
        memory_format = options.pop("memory_format", None)
        if "non_blocking" in options and not rest:
            rest.append(options.pop("non_blocking"))
        if "copy" in options and len(rest) < 2:
            rest = [*(rest or (False,)), options.pop("copy")]
    dtype = as_dtype(dtype, "to")
    unread = options or (rest and (len(rest) > 2 or not _BOOL.issuperset(map(type, rest))))
    if unread or not (memory_format is None or isinstance(memory_format, MemoryFormat)):
        raise TypeError(
            hinted(
                "to() received an invalid combination of arguments",
                "to(dtype), to(device), to(device, dtype) or to(other tensor), then non_blocking, copy, memory_format",
            )
        )
    return None if device is None else check_device(device), dtype, len(rest) > 1 and rest[1], memory_format


_BOOL = frozenset((bool,))


_OF_CASTS = Signature(
    [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        Parameter("memory_format", Parameter.KEYWORD_ONLY, default=None),
    ]
)


def _cast(name, dtype):
    def cast(self, *unwanted, memory_format=None):
        if unwanted:
            refuse_method(name, *unwanted)
        if memory_format is None:
            return self if self.dtype is dtype else functions.to_copy(self, dtype)
        if not isinstance(memory_format, MemoryFormat):
            refuse_method(name, memory_format=memory_format)
        return to(self, dtype, memory_format=memory_format)

    cast.__name__ = cast.__qualname__ = name
    cast.__signature__ = _OF_CASTS
    cast.__doc__ = f"The tensor as {dtype!r}; itself where it already is."
    method(cast)


for _name, _dtype in {"float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
                      "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
                      "bool": dtypes.bool_, "chalf": dtypes.complex32, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128}.items():  # fmt: skip
    _cast(_name, _dtype)


@method(name="type")
def convert_type(self, dtype=None, non_blocking=False):
    """The legacy name of the tensor's type (``"torch.FloatTensor"``), or the tensor converted to a dtype or such a name."""
    if dtype is None:
        return type_name(self.dtype) if not is_meta(self._array) else f"torch.meta.{self.dtype.legacy_name}Tensor"
    if isinstance(dtype, str):
        wanted = TYPED.get(dtype.removeprefix("torch."))
        if wanted is None:
            raise ValueError(hinted(f"invalid type: '{dtype}'", "use a dtype: torch.float32, ..."))
        dtype = wanted.dtype
    elif dtype in TYPED.values():
        dtype = dtype.dtype
    elif dtype is Tensor:
        dtype = dtypes.get_default_dtype()
    elif not isinstance(dtype, dtypes.DType):
        if not isinstance(dtype, type):
            raise TypeError(hinted("dtype must be a type, str, or dtype object", f"it is {dtype!r}"))
        raise ValueError(hinted(f"invalid type: '{dtype.__name__}'", "use a dtype: torch.float32, ..."))
    return to(self, dtype)


@method
def type_as(self, other):
    """The tensor in the dtype of ``other``."""
    return to(self, other.dtype)


@method
def cpu(self, *, memory_format=preserve_format):
    """The tensor on the CPU: itself, unless it is a meta tensor, which has no elements to copy, or of another memory format."""
    if memory_format is not preserve_format:
        if memory_format is not None and not isinstance(memory_format, MemoryFormat):
            refuse_method("cpu", memory_format=memory_format)
        return to(self, CPU, memory_format=memory_format)
    return moved(self, CPU) if is_meta(self._array) else self


def _moved_to(kind, tensor, device):
    if isinstance(device, (str, Device)) and Device(device).type != kind:
        raise RuntimeError(hinted(f"Invalid device, must be {kind} device", f"it is {device}: x.to(device) takes any"))
    check_device(kind if device is None else device)
    return tensor


@method
def cuda(self, device=None, non_blocking=False, memory_format=preserve_format):
    """Refused: this version has no CUDA backend."""
    return _moved_to("cuda", self, device)


@method
def xpu(self, device=None, non_blocking=False, memory_format=preserve_format):
    """Refused: this version has no backend for Intel's GPUs."""
    return _moved_to("xpu", self, device)


@method
def mtia(self, device=None, non_blocking=False, memory_format=preserve_format):
    """Refused: this version has no backend for Meta's accelerator."""
    return _moved_to("mtia", self, device)


# ---------------------------------------------------------------- Python values


@method
def item(self):
    """The only element as a Python number."""
    array = self._array
    if array.size != 1:
        raise RuntimeError(
            hinted(
                f"a Tensor with {array.size} elements cannot be converted to Scalar",
                f"item() reads one element; this tensor has shape {list(array.shape)}: index it, reduce it, or use tolist()",
            )
        )
    return array.item()


@method
def tolist(self):
    """The elements as nested lists of Python numbers; a 0-dim tensor gives a number."""
    return self._array.tolist()


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


def _python_number(self):
    if self._array.size != 1:
        raise ValueError(
            hinted(
                "only one element tensors can be converted to Python scalars",
                f"this tensor has shape {list(self._array.shape)}: index it, reduce it, or use tolist()",
            )
        )
    return self._array.item()


def _real(self, dtype):
    """The only element as a real number; a complex one only where its imaginary part is zero."""
    value = _python_number(self)
    if value.__class__ is complex:
        if value.imag:
            raise no_place(dtype, "its imaginary part is not zero")
        value = value.real
    return value


@method
def __int__(self):
    return int(_real(self, dtypes.int64))


_warned_of_tracked_number = False


def _warn_of_tracked_number(self):
    """PyTorch's advice, once a process: a number made of a tensor that requires grad has left the graph."""
    global _warned_of_tracked_number
    if not _warned_of_tracked_number and self.requires_grad and state.grad:
        _warned_of_tracked_number = True
        warnings.warn(
            hinted(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first.",
                f"no gradient flows through the number made of {described(self)}; .item() says that this is meant",
            ),
            stacklevel=3,
        )


@method
def __float__(self):
    if self._edge is not None:
        _warn_of_tracked_number(self)
    return float(_real(self, dtypes.float64))


@method
def __complex__(self):
    if self._edge is not None:
        _warn_of_tracked_number(self)
    return complex(_python_number(self))


@method
def __index__(self):
    if self._array.size != 1 or self._array.dtype.kind not in "iub":
        raise TypeError(
            hinted(
                "only integer tensors of a single element can be converted to an index",
                f"this tensor is {self.dtype!r} of shape {list(self._array.shape)}",
            )
        )
    return int(self._array.item())


# ---------------------------------------------------------------- Python functions, element by element


def _refuse_tracked(self, name):
    if self.requires_grad:
        raise RuntimeError(
            hinted(
                f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.",
                "a Python function of numbers has no derivative",
            )
        )


def _write_numbers(self, numbers, name):
    for number in numbers:
        if not isinstance(number, (bool, int, float, complex, np.generic, Tensor)):
            raise TypeError(
                hinted(
                    f"must be real number, not {type(number).__name__}", f"the function given to {name}() returned it"
                )
            )
    array = self._array
    write(array, np.array(numbers).astype(self.dtype.numpy).reshape(array.shape))
    bump(self, name)
    return self


@method
def apply_(self, callable):
    """Replace each element by ``callable(element)``, a Python function of a number: slow, for small tensors."""
    _refuse_tracked(self, "apply_")
    return _write_numbers(self, [callable(v) for v in self.reshape(-1).tolist()], "apply_")


@method
def map_(self, tensor, callable):
    """Replace each element ``a`` by ``callable(a, b)`` with ``b`` from ``tensor``, which is broadcast."""
    _refuse_tracked(self, "map_")
    others = tensor.expand(self._array.shape).reshape(-1).tolist()
    return _write_numbers(self, [callable(a, b) for a, b in zip(self.reshape(-1).tolist(), others)], "map_")


@method
def map2_(self, x, y, callable):
    """Replace each element ``a`` by ``callable(a, b, c)`` with ``b`` and ``c`` from two tensors."""
    _refuse_tracked(self, "map2_")
    values = [t.expand(self._array.shape).reshape(-1).tolist() for t in (self, x, y)]
    return _write_numbers(self, [callable(a, b, c) for a, b, c in zip(*values)], "map2_")


# ---------------------------------------------------------------- NumPy and DLPack


_BITS = {"conj": "conjugate", "neg": "negative"}  # what errors call the lazy bits


@method
def numpy(self, *, force=False):
    """The elements as a NumPy array on the same memory.

    ``force=True`` also takes tensors that require grad (detached).
    """
    if self._edge is not None and self.requires_grad and state.grad and not force:
        raise RuntimeError(
            hinted(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
                "an array cannot be tracked: detach() says that the gradient ends here",
            )
        )
    if force is not False and force is not True:
        refuse_method("numpy", force=force)
    array = self._array
    if is_meta(array):
        if force:
            raise no_numbers()
        raise TypeError(
            hinted(
                "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
                NO_NUMBERS,
            )
        )
    for bit, name in zip(bits_of(array), ("conj", "neg")):
        if bit and not force:
            message = f"Can't call numpy() on Tensor that has {_BITS[name]} bit set. Use tensor.resolve_{name}().numpy() instead."
            raise RuntimeError(
                hinted(message, "an array shows memory as it is, and here it holds the numbers turned over")
            )
    array = plain(array)
    kind = dtypes.from_numpy(array.dtype)
    if kind is dtypes.bfloat16 or kind is dtypes.complex32 or kind in dtypes.FLOAT8:
        raise TypeError(f"Got unsupported ScalarType {kind.legacy_name}")
    self._resizable = False
    return array[...]


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
        raise BufferError(
            hinted(
                "Can't export tensors that require gradient, use tensor.detach()",
                f"another library records nothing of what it does with {described(self)}",
            )
        )
    if is_meta(self._array):
        raise BufferError(hinted("Cannot pack tensors on meta", NO_NUMBERS))
    for bit, name in zip(bits_of(self._array), ("conj", "neg")):
        if bit:
            message = f"Can't export tensors with the {_BITS[name]} bit set"
            raise BufferError(
                hinted(message, f"the other library would see the memory as it is: resolve_{name}() first")
            )
    # Without a version the consumer cannot be told that it may write.
    return self._array.__dlpack__() if max_version is None else self._array.__dlpack__(max_version=max_version)


@method
def __dlpack_device__(self):
    return stored_in(self._array).__dlpack_device__()


class _Capsule:
    """A DLPack capsule, which says nothing about itself, as an object that NumPy imports."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)  # the CPU


class _Writable:
    """The memory of an array that NumPy marks read-only, offered for writing."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


@internal
def is_capsule(value):
    """Whether a value is a bare DLPack capsule."""
    return type(value).__name__ == "PyCapsule"


@internal
def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor on the memory of a DLPack capsule, or of an object that offers ``__dlpack__`` (NumPy, PyTorch, JAX, ...)."""
    if device is not None and check_device(device) is META:
        raise BufferError(hinted("Cannot pack tensors on meta", "they have no elements"))
    if is_capsule(ext_tensor):
        array = np.asarray(_Writable(np.from_dlpack(_Capsule(ext_tensor))))
    elif hasattr(ext_tensor, "__dlpack__"):
        array = np.from_dlpack(ext_tensor)
    else:
        raise TypeError(
            hinted(
                f"from_dlpack(): a {type(ext_tensor).__name__} has no __dlpack__",
                "give an array, a tensor of another library, or the capsule that its __dlpack__() makes",
            )
        )
    # NumPy marks imported memory read-only where the exporter did not promise that it may be written.
    array = dtypes.interned(array)
    return wrap(array.copy()) if copy or not array.flags.writeable else on_foreign_memory(array)
