"""The memory behind tensors: storages, ``resize_``, ``set_``, shared and pinned memory."""

from __future__ import annotations

import mmap
import warnings

import numpy as np

from ..base import dtypes
from ..base.arrays import address_of, owner_of, storage_bytes, strided_view
from ..base.device import CPU, check_device
from ..base.errors import hinted
from ..base.shapes import contiguous_strides, sizes_argument
from .base import Tensor, method
from .creation import type_name
from .dispatch import bump


class UntypedStorage:
    """The bytes that one or more tensors look into: what ``tensor.untyped_storage()`` gives.

    Two of them are equal where they are the same memory. ``UntypedStorage(n)`` makes ``n`` bytes.

    >>> import rushlight as torch
    >>> x = torch.zeros(4)
    >>> x[1:].untyped_storage() == x.untyped_storage(), x.untyped_storage().nbytes()
    (True, 16)
    """

    is_cuda = False

    def __init__(self, size=0, *, device=None):
        check_device(device)
        self._bytes = size if isinstance(size, np.ndarray) else np.empty(size, np.uint8)

    def nbytes(self):
        """How many bytes there are."""
        return self._bytes.size

    size = nbytes

    def __len__(self):
        return self._bytes.size

    def data_ptr(self):
        """The address of the first byte."""
        return address_of(self._bytes) if self._bytes.size else 0

    @property
    def _cdata(self):
        return self.data_ptr()

    @property
    def device(self):
        return CPU

    def element_size(self):
        return 1

    def __getitem__(self, index):
        found = self._bytes[index]
        return UntypedStorage(found) if isinstance(index, slice) else int(found)

    def __setitem__(self, index, value):
        self._bytes[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def _key(self):
        return address_of(self._bytes), self._bytes.size

    def tolist(self):
        """The bytes as a list of ints."""
        return self._bytes.tolist()

    def clone(self):
        """A copy with memory of its own."""
        return UntypedStorage(self._bytes.copy())

    def copy_(self, source, non_blocking=False):
        """Write the bytes of another storage of the same size."""
        self._bytes[...] = source._bytes
        return self

    def fill_(self, value):
        """Write one value into every byte."""
        self._bytes[...] = value
        return self

    def cpu(self):
        return self

    def is_shared(self):
        return _is_shared(self._bytes)

    def is_pinned(self, device=None):
        return False

    def __repr__(self):
        body = "".join(f" {value}\n" for value in self.tolist())
        return f"{body}[torch.storage.UntypedStorage(device=cpu) of size {len(self)}]"


class TypedStorage:
    """A storage seen as elements of one dtype: what ``tensor.storage()`` gives."""

    is_cuda = False

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        check_device(device)
        self.dtype = dtype or dtypes.get_default_dtype()
        self._untyped = wrap_storage or UntypedStorage((args[0] if args else 0) * self.dtype.itemsize)

    @property
    def _elements(self):
        return self._untyped._bytes.view(self.dtype.numpy)

    @property
    def device(self):
        return CPU

    def untyped(self):
        """The bytes of this storage."""
        return self._untyped

    def size(self):
        """How many elements there are."""
        return self._untyped.nbytes() // self.dtype.itemsize

    def __len__(self):
        return self.size()

    def nbytes(self):
        return self._untyped.nbytes()

    def element_size(self):
        return self.dtype.itemsize

    def data_ptr(self):
        return self._untyped.data_ptr()

    def __getitem__(self, index):
        return self._elements[index].item()

    def __setitem__(self, index, value):
        self._elements[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and (self.dtype, self._untyped) == (other.dtype, other._untyped)

    def __hash__(self):
        return hash((self.dtype, self._untyped))

    def tolist(self):
        """The elements as a list of numbers."""
        return self._elements.tolist()

    def fill_(self, value):
        """Write one number into every element."""
        self._elements[...] = value
        return self

    def clone(self):
        return TypedStorage(wrap_storage=self._untyped.clone(), dtype=self.dtype)

    def cpu(self):
        return self

    def is_shared(self):
        return self._untyped.is_shared()

    def is_pinned(self, device=None):
        return False

    def __repr__(self):
        body = "".join(f" {value}\n" for value in self.tolist())
        return f"{body}[torch.storage.TypedStorage(dtype={self.dtype!r}, device=cpu) of size {len(self)}]"


def is_storage(obj, /):
    """Whether ``obj`` is a storage."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


@method
def untyped_storage(self):
    """The memory that the tensor looks into, as bytes."""
    return UntypedStorage(storage_bytes(self._array)[0])


@method
def storage(self):
    """The memory that the tensor looks into, as elements of its dtype."""
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)


@method
def is_set_to(self, tensor):
    """Whether ``tensor`` is the same window on the same memory."""
    mine, other = self._array, tensor._array
    same = mine.shape == other.shape and mine.strides == other.strides and mine.dtype == other.dtype
    return same and address_of(mine) == address_of(other)


# ---------------------------------------------------------------- another window, other memory


@method
def resize_(self, *sizes, memory_format=None):
    """Give the tensor another size in place; elements that the memory does not hold yet are not set to anything.

    Where the memory has to grow, the tensor gets new memory and other tensors keep the old one.
    """
    if self.requires_grad:
        raise RuntimeError(
            hinted("cannot resize variables that require grad", "detach() it, or make a new tensor with reshape()")
        )
    shape = sizes_argument(sizes)
    if any(length < 0 for length in shape):
        raise RuntimeError(
            hinted("numel: integer multiplication overflow", f"lengths are 0 or more, not {list(shape)}")
        )
    if shape != self._array.shape:
        self._array = _resized(self._array, shape)
        bump(self, "resize_")
    return self


def _resized(array, shape):
    raw, start = storage_bytes(array)
    size = array.itemsize
    strides = tuple(s * size for s in contiguous_strides(shape))
    needed = start + int(np.prod(shape, dtype=object)) * size
    if needed <= raw.size:
        return strided_view(array, shape, strides)
    memory = np.empty(needed // size, array.dtype)
    memory.view(np.uint8)[: raw.size] = raw
    return strided_view(memory, shape, strides, start)


@method
def resize_as_(self, the_template, *, memory_format=None):
    """Give the tensor the size of another one, in place."""
    return resize_(self, tuple(the_template.shape))


@method
def resize(self, *sizes):
    """Deprecated in PyTorch: `reshape` that must keep the number of elements."""
    shape = sizes_argument(sizes)
    count = int(np.prod(shape, dtype=object))
    if count != self.numel():
        raise RuntimeError(
            hinted(
                f"requested resize to {'x'.join(map(str, shape))} ({count} elements in total), but the given tensor has a "
                f"size of {'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's resize can only change the "
                "shape of a given tensor, while preserving the number of elements. ",
                "resize_() changes the number of elements, outside autograd",
            )
        )
    return self.reshape(shape)


@method
def resize_as(self, tensor):
    """Deprecated in PyTorch: `resize` to the size of another tensor."""
    return resize(self, *tensor.shape)


@method(name="_resize_for_out")
def resize_for_out(self, shape):
    """Resize a tensor that was given as ``out=``, with PyTorch's warning where it had elements."""
    if self.numel():
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(self.shape)}, which does not match "
            f"the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch release outputs "
            "will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
            "inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=4,
        )
    self._array = _resized(self._array, tuple(shape))


_C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int",
    "int64": "long int", "float16": "c10::Half", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>", "bfloat16": "c10::BFloat16",
}  # fmt: skip


@method
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Let the tensor look into the memory of a tensor or storage; into none where ``source`` is None.

    Args:
        source: a tensor of the same dtype, or a storage.
        storage_offset: where its first element lies, in elements.
        size: its lengths; all that the source holds by default.
        stride: its steps; row by row by default.
    """
    kind = self._array.dtype
    if source is None:
        self._array = np.empty(0, kind)
    elif isinstance(source, Tensor) and source.dtype is not self.dtype:
        names = [_C_NAMES.get(t.dtype.name, t.dtype.name) for t in (source, self)]
        raise RuntimeError(
            hinted(f"Could not set tensor of type {names[0]} to a tensor of type {names[1]}", "the dtypes must agree")
        )
    elif isinstance(source, Tensor) and size is None:
        self._array = source._array[...]
    else:
        raw = storage_bytes(source._array)[0] if isinstance(source, Tensor) else _bytes_of(source)
        memory = raw.view(kind)
        shape = (memory.size - storage_offset,) if size is None else sizes_argument((size,))
        steps = contiguous_strides(shape) if stride is None else sizes_argument((stride,))
        offset = storage_offset * kind.itemsize
        self._array = strided_view(memory, shape, tuple(s * kind.itemsize for s in steps), offset)
    bump(self, "set_")
    return self


def _bytes_of(source):
    if not is_storage(source):
        raise TypeError(
            hinted(
                f"set_(): argument 'source' (position 1) must be Storage or Tensor, not {type(source).__name__}",
                "such as x.untyped_storage()",
            )
        )
    return (source if isinstance(source, UntypedStorage) else source.untyped())._bytes


# ---------------------------------------------------------------- between processes, for devices


def _is_shared(array):
    return isinstance(getattr(owner_of(array).base, "obj", owner_of(array).base), mmap.mmap)


@method
def share_memory_(self):
    """Move the tensor into memory that child processes started by fork share; other tensors keep the old memory."""
    array = self._array
    if not _is_shared(array) and array.size:
        memory = np.frombuffer(mmap.mmap(-1, array.nbytes), np.uint8).view(array.dtype).reshape(array.shape)
        memory[...] = array
        self._array = memory
    return self


@method
def is_shared(self):
    """Whether the tensor lies in memory that forked processes share."""
    return _is_shared(self._array)


@method
def pin_memory(self, device=None):
    """Refused: pinned memory serves accelerators, and there is none."""
    raise RuntimeError(
        hinted(
            "Cannot access accelerator device when none is available.", "leave pin_memory away on a CPU-only machine"
        )
    )


@method
def storage_type(self):
    """The legacy type of the tensor's storage, by name."""
    return type_name(self.dtype).replace("Tensor", "Storage")
