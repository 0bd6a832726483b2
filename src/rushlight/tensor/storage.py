"""Storages: the memory behind tensors, as bytes and as elements of one dtype."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from ..base import dtypes
from ..base.arrays import address_of, aligned_bytes, bounds, deep_copy, storage_bytes, window_on
from ..base.device import CPU, META, DeviceLike, check_device
from ..base.dtypes import DType
from ..base.errors import hinted
from ..base.lazy import is_meta, stored_in
from ..base.limits import LARGEST_WORD, not_resizable
from ..base.reserved import is_reserved, reserve
from .base import method
from .buffers import is_shared_memory, map_file, read_buffer, shared_copy
from .writes import is_resizable


def _no_device(name):
    return RuntimeError(
        hinted(f"Storage device not recognized: {name}", "storages lie in main memory: Rushlight computes on the CPU")
    )


class _Storage:
    """What both kinds of storages have: `_bytes` is the memory, `dtype` that of the elements that the kind shows."""

    _bytes: Any
    _on: Any
    clone: Any
    _numpy: Any
    dtype: Any
    is_cuda = is_hpu = is_sparse = is_sparse_csr = False
    filename: str | None = None
    _resizable = True  # False: the memory is NumPy's too, or some buffer's

    @property
    def _elements(self):
        return window_on(self._bytes, (self.size(),), self._numpy, 0, (self.element_size(),))

    @property
    def device(self) -> Any:
        return META if is_reserved(self._bytes) else CPU

    def get_device(self) -> None:
        """None: the storage lies in main memory."""

    def nbytes(self) -> Any:
        """How many bytes there are."""
        return self._bytes.size

    def size(self) -> Any:
        """How many elements there are."""
        return self._bytes.size // self.element_size()

    def __len__(self) -> int:
        return self.size()

    def __sizeof__(self) -> Any:
        return super().__sizeof__() + self.nbytes()

    def element_size(self) -> Any:
        return self._numpy.itemsize

    def data_ptr(self) -> Any:
        """The address of the first byte."""
        return address_of(self._bytes) if self._bytes.size else 0

    def _place(self, index):
        """An index, or a slice of bytes, checked."""
        length = self.size()
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(
                    hinted(
                        f"Trying to slice with a step of {index.step}, but only a step of 1 is supported",
                        "a tensor on the storage can be sliced with any step",
                    )
                )
            return index
        if isinstance(index, str) or not hasattr(index, "__index__"):
            raise self._bad_index(index)
        if not -length <= index < length:
            raise IndexError(
                hinted(
                    f"index {index} out of range for storage of size {length}", f"valid are {-length} to {length - 1}"
                )
            )
        return index

    def __setitem__(self, index: Any, value: Any) -> None:
        self._elements[self._place(index)] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> Any:
        """The elements as a list of numbers."""
        return self._elements.tolist()

    def fill_(self, value: Any) -> Self:
        """Write one number into every element."""
        self._elements[...] = value
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> Self:
        """Write the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                hinted(
                    f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes",
                    "resize_() one of them",
                )
            )
        self._bytes[...] = source._bytes
        return self

    def _resize(self, nbytes):
        if not self._resizable:
            raise not_resizable()
        if 0 <= nbytes <= self._bytes.size:
            self._bytes = self._bytes[:nbytes]
            return
        memory = aligned_bytes(nbytes)
        memory[: self._bytes.size] = self._bytes
        self._bytes = memory

    def resizable(self) -> bool:
        return self._resizable

    def is_shared(self) -> Any:
        """Whether forked processes share the memory."""
        return is_shared_memory(self._bytes)

    def share_memory_(self) -> Self:
        """Move to memory that child processes started by fork share; tensors keep the old memory."""
        if not self.is_shared() and self._bytes.size:
            self._bytes = shared_copy(self._bytes)
        return self

    def is_pinned(self, device: DeviceLike = None) -> Any:
        return False

    def pin_memory(self, device: DeviceLike = None) -> None:
        """Refused: pinned memory serves accelerators, and there is none."""
        raise RuntimeError(
            hinted("Cannot access accelerator device when none is available.", "leave pin_memory away on the CPU")
        )

    def cuda(self, device: DeviceLike = None, non_blocking: bool = False) -> None:
        raise _no_device("cuda")

    def mps(self) -> None:
        raise _no_device("mps")

    def to(self, *, device: DeviceLike, non_blocking: bool = False) -> Self:
        """The storage itself; ``device`` must be the CPU."""
        check_device(device)
        return self

    def __copy__(self) -> Any:
        return self.clone()

    def __deepcopy__(self, memo: Any) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self._on(deep_copy(self._bytes, memo))
        return memo[id(self)]

    def _text(self, what):
        elements = "\n ".join(map(str, self.tolist()))
        return f" {elements}\n[torch.storage.{what} of size {len(self)}]"

    def _as(self, dtype):
        return TypedStorage._of(self._elements.astype(dtype.numpy).view(np.uint8), dtype)


def _conversion(name, dtype):
    def convert(self):
        return self._as(dtype)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"A typed storage with the elements converted to {dtype!r}."
    setattr(_Storage, name, convert)


for _name, _dtype in {
    "double": dtypes.float64, "float": dtypes.float32, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "long": dtypes.int64, "int": dtypes.int32, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool_, "complex_float": dtypes.complex64, "complex_double": dtypes.complex128,
}.items():  # fmt: skip
    _conversion(_name, _dtype)


class StorageBase(_Storage):
    """What memory without a dtype is; programs ask whether something is one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        message = "Cannot directly construct StorageBase; subclass it and then construct that"
        raise RuntimeError(hinted(message, "torch.UntypedStorage is what tensors have"))


class UntypedStorage(StorageBase):
    """The bytes that one or more tensors look into: what ``tensor.untyped_storage()`` gives.

    Two of them are equal where they are the same memory. ``UntypedStorage(n)`` makes ``n`` bytes,
    ``UntypedStorage([1, 2])`` these two.

    >>> import rushlight as torch
    >>> x = torch.zeros(4)
    >>> x[1:].untyped_storage() == x.untyped_storage(), x.untyped_storage().nbytes()
    (True, 16)
    """

    _numpy = np.dtype(np.uint8)

    def __init__(self, size: int = 0, *, device: DeviceLike = None) -> None:
        check_device(device)
        if isinstance(size, (list, tuple)):
            size = np.array([_byte(item, size) for item in size], np.uint8)
        elif not isinstance(size, np.ndarray):
            if not hasattr(size, "__index__") or hasattr(size, "_edge"):
                kind = type(size).__name__
                message = f"torch.UntypedStorage(): Expected a sequence type, but got {kind}"
                raise RuntimeError(hinted(message, "give a number of bytes, or a list of them"))
            size = aligned_bytes(_word(size.__index__()))
        self._bytes = size

    def _bad_index(self, index):
        return TypeError(
            hinted(f"can't index a torch.UntypedStorage with {type(index).__name__}", "use ints or slices")
        )

    def __getitem__(self, index: Any) -> Any:
        found = self._bytes[self._place(index)]
        return UntypedStorage(found) if isinstance(index, slice) else int(found)

    @property
    def _cdata(self):
        return self.data_ptr()

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, UntypedStorage) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self):
        return address_of(self._bytes), self._bytes.size

    def untyped(self) -> Self:
        return self

    def new(self) -> Any:
        """An empty storage."""
        return UntypedStorage()

    def clone(self) -> Any:
        """A copy with memory of its own."""
        return self._on(self._bytes.copy())

    @staticmethod
    def _on(raw):
        return UntypedStorage(raw)

    def cpu(self) -> Self:
        return self

    def type(self, dtype: str | None = None, non_blocking: bool = False) -> Any:
        """The name of the class."""
        return "torch.storage.UntypedStorage"

    def resize_(self, size: Any) -> Self:
        """Let the storage have ``size`` bytes. Where it grows it gets new memory, and tensors keep the old one."""
        self._resize(size)
        return self

    def byteswap(self, dtype: DType) -> None:
        """Reverse the bytes of each element of ``dtype``."""
        self._bytes.view(f"u{dtype.itemsize}").byteswap(inplace=True)

    @staticmethod
    def from_buffer(buffer, byte_order="native", count=-1, offset=0, *, dtype=dtypes.uint8):
        """A copy of the bytes of a buffer that holds elements of ``dtype`` in ``byte_order``: native, little or big."""
        return UntypedStorage(read_buffer(buffer, byte_order, count, offset, dtype))

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> Any:
        """A file as memory: ``shared``, writes go into it, which is made where it does not exist."""
        made = UntypedStorage(map_file(filename, shared, nbytes))
        made.filename = os.fspath(filename)
        return made

    def __repr__(self) -> str:
        return self._text("UntypedStorage(device=cpu)")


def _word(nbytes):
    """The number, refused where 64 bits with a sign cannot hold it."""
    if abs(nbytes) > LARGEST_WORD:
        raise ValueError(hinted("Overflow when unpacking long long", f"{nbytes} bytes are more than there can be"))
    return nbytes


def _byte(item, sequence):
    if not isinstance(item, int):
        raise RuntimeError(
            hinted(
                f"torch.UntypedStorage(): tried to construct a storage from a sequence ({type(sequence).__name__}), but one of "
                f"the items was of type {type(item).__name__} instead of int",
                "bytes are numbers from 0 to 255",
            )
        )
    return item & 255


_warned = False


def _warn_of_typed(stacklevel):
    """PyTorch's advice, once a process."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This "
            "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
            "tensor.untyped_storage() instead of tensor.storage()",
            UserWarning,
            stacklevel=stacklevel,
        )


class TypedStorage(_Storage):
    """A storage seen as elements of one dtype: what ``tensor.storage()`` gives.

    Args:
        args: nothing, a number of elements, or a sequence of them.
        wrap_storage: the `UntypedStorage` to look into.
        dtype: by default the default dtype.
    """

    def __init__(
        self, *args: Any, wrap_storage: Any = None, dtype: DType | None = None, device: DeviceLike = None
    ) -> None:
        _warn_of_typed(3)
        check_device(device)
        if len(args) > 1 or (wrap_storage is not None and (args or dtype is None)):
            raise RuntimeError(
                hinted(
                    "TypedStorage.__init__ received an invalid combination of arguments. Expected one of:",
                    "a size, or a sequence, or wrap_storage= and dtype=",
                )
            )
        self.dtype = dtype or dtypes.get_default_dtype()
        if wrap_storage is not None:
            self._bytes = wrap_storage._bytes
        elif args and not isinstance(args[0], int):
            self._bytes = np.asarray(args[0], self._numpy).view(np.uint8)
        else:
            self._bytes = aligned_bytes(_word((args[0] if args else 0) * self.dtype.itemsize))

    @classmethod
    def _of(cls, raw, dtype):
        made = object.__new__(TypedStorage)
        made.dtype, made._bytes = dtype, raw
        return made

    @property
    def _numpy(self):
        return self.dtype.numpy

    @property
    def _dtype(self):
        return self.dtype

    @property
    def _untyped_storage(self):
        return self.untyped()

    def _bad_index(self, index):
        kind = type(index)
        return RuntimeError(hinted(f"can't index a <class 'torch.storage.TypedStorage'> with {kind}", "use ints"))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError(
                hinted("slices are only supported in UntypedStorage.__getitem__", "untyped() shows the bytes")
            )
        return self._elements[self._place(index)].item()

    def untyped(self) -> Any:
        """The bytes of this storage."""
        return UntypedStorage(self._bytes)

    def clone(self) -> Any:
        """A copy with memory of its own."""
        return self._on(self._bytes.copy())

    def _on(self, raw):
        return self._of(raw, self.dtype)

    def cpu(self) -> Any:
        return self._of(self._bytes, self.dtype)

    def resize_(self, size: Any) -> None:
        """Let the storage have ``size`` elements; see `UntypedStorage.resize_`."""
        self._resize(size * self.element_size())

    def type(self, dtype: str | None = None, non_blocking: bool = False) -> Any:
        """The name of the legacy class, such as ``torch.FloatStorage``."""
        return f"torch.{self.pickle_storage_type()}"

    def pickle_storage_type(self) -> Any:
        """The name of the legacy class that checkpoints name."""
        return _legacy_name(self.dtype)

    def __repr__(self) -> str:
        return self._text(f"TypedStorage(dtype={self.dtype!r}, device=cpu)")


class _LegacyStorageMeta(type):
    """The type of ``torch.FloatStorage`` and its like: calling makes a TypedStorage, isinstance asks for the dtype."""

    dtype: Any

    def __call__(cls, *args: Any, wrap_storage: Any = None, **kwargs: Any) -> Any:
        head = f"{cls}.__new__ received an invalid combination of arguments. Expected one of:"
        if len(args) > 1 or kwargs or (args and hasattr(args[0], "_edge")):
            raise (TypeError if args and hasattr(args[0], "_edge") else RuntimeError)(
                hinted(head, "nothing, a size, a sequence of numbers, or wrap_storage=")
            )
        if wrap_storage is not None and not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(hinted(head, f"wrap_storage must be an UntypedStorage, not {type(wrap_storage).__name__}"))
        if args and isinstance(args[0], str):
            raise TypeError(hinted("new(): invalid data type 'str'", "a sequence of numbers"))
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls.dtype)

    def __instancecheck__(cls, instance):
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"

    def from_buffer(cls, buffer, byte_order=None, count=-1, offset=0):
        """A copy of the elements in a buffer, in ``byte_order``: native, little or big; single bytes have none."""
        if byte_order is None:
            if cls.dtype is not dtypes.uint8:
                hint = "'native', 'little' or 'big'"
                raise RuntimeError(hinted("function missing required argument 'byte_order' (pos 2)", hint))
            byte_order = "native"
        return TypedStorage._of(read_buffer(buffer, byte_order, count, offset, cls.dtype), cls.dtype)

    def from_file(cls, filename: str, shared: bool = False, size: int = 0) -> Any:
        """A file as memory of ``size`` elements: ``shared``, writes go into it."""
        return TypedStorage._of(map_file(filename, shared, size * cls.dtype.itemsize), cls.dtype)


def _legacy_name(dtype):
    return f"{dtype.legacy_name}Storage"


# torch.FloatStorage and its like, by name.
LEGACY = {
    _legacy_name(dtype): _LegacyStorageMeta(
        _legacy_name(dtype),
        (),
        {
            "dtype": dtype,
            "_dtype": dtype,
            "is_cuda": False,
            "__module__": "torch",
            "__doc__": f"Legacy storage of {dtype!r}.",
        },
    )
    for dtype in dtypes.ALL
    if dtype.legacy_name[:4] != "UInt"
}
UntypedStorage.__module__ = TypedStorage.__module__ = "rushlight.storage"  # where users, and pickles, find them


def is_storage(obj: Any, /) -> Any:
    """Whether ``obj`` is a storage."""
    return isinstance(obj, _Storage)


def _memory_of(tensor):
    """All bytes that a tensor's storage holds; of a meta tensor, as many as it reaches."""
    array = stored_in(tensor._array)
    if is_meta(tensor._array):
        return reserve(
            (bounds(array.shape, array.strides, array.itemsize)[1] if array.size else 0,), np.dtype(np.uint8)
        )
    return storage_bytes(array)[0]


@method
def untyped_storage(self: Any) -> Any:
    """The memory that the tensor looks into, as bytes."""
    made = UntypedStorage(_memory_of(self))
    if not is_resizable(self):
        made._resizable = False
    return made


@method
def _typed_storage(self):
    return TypedStorage._of(_memory_of(self), self.dtype)


@method
def storage(self: Any) -> Any:
    """The memory that the tensor looks into, as elements of its dtype."""
    _warn_of_typed(3)
    return _typed_storage(self)


@method
def storage_type(self: Any) -> Any:
    """The legacy class of the tensor's storage."""
    return LEGACY[_legacy_name(self.dtype)]
