"""The storages of a checkpoint: blocks of bytes that one or several tensors are views of."""

from __future__ import annotations

import sys

import numpy as np

from ..base.device import CPU, check_device, device
from ..base.dtypes import ALL
from ..base.errors import hinted
from .messages import malformed, printable
from .settings import skips_data

# PyTorch's storage class for each dtype; the unsigned types beyond uint8 have none and are saved untyped.
STORAGE_NAMES = {
    f"{dtype.legacy_name}Storage": dtype for dtype in ALL if dtype.name not in ("uint16", "uint32", "uint64")
}
UNTYPED = "UntypedStorage"
_MAX_NAME = 100
_NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running on a "
    "CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
)


class StorageType:
    """What a file says of a storage's elements: PyTorch's class name and our dtype (None for plain bytes)."""

    __slots__ = ("dtype", "name")

    def __init__(self, name, dtype):
        self.name, self.dtype = name, dtype

    def __repr__(self):
        return f"<storage type {self.name}>"


class Storage:
    """One storage of a file, read when its first tensor is rebuilt; also what ``map_location`` functions receive.

    ``nbytes()`` is its length, ``device`` where it will live. ``cpu()`` returns it; ``cuda()`` raises.
    """

    __slots__ = ("_array", "_nbytes", "_read", "_swapped", "dtype", "location")

    def __init__(self, nbytes, dtype, location, read, swapped=False):
        self._nbytes, self.dtype, self.location = nbytes, dtype, location
        self._read, self._swapped, self._array = read, swapped, None

    device = CPU

    def __repr__(self):
        return f"<storage of {self._nbytes} bytes, saved on {self.location}>"

    def nbytes(self):
        """Its length in bytes."""
        return self._nbytes

    def __len__(self):
        return self._nbytes // (self.dtype.itemsize if self.dtype else 1)

    def cpu(self):
        """Itself: storages live in the memory of the CPU."""
        return self

    def cuda(self, device=None, non_blocking=False):
        """``AssertionError``: this version computes on the CPU only."""
        check_device("cuda")

    @property
    def unused(self):
        """Whether no tensor has asked for the bytes, which then were never read."""
        return self._array is None

    def array(self, dtype=None):
        """All its bytes as one writable uint8 array, the same object at every call.

        ``dtype`` says what the bytes hold where the file does not, which matters when their byte order is foreign.
        """
        if self._array is None:
            array = np.zeros(self._nbytes, np.uint8) if skips_data() else self._read(self._nbytes)
            dtype = self.dtype or dtype
            if self._swapped and dtype is not None:
                swap_bytes(array, dtype)
            # Any other byte than 0 and 1 is undefined behaviour in a NumPy bool.
            if dtype is not None and dtype.name == "bool" and self._nbytes and array.max() > 1:
                array = np.minimum(array, 1)
            self._array = array
        return self._array


def swap_bytes(array, dtype):
    """Reverse, in place, the bytes of every element of a uint8 array that holds ``dtype``."""
    width = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
    if width > 1 and len(array) >= width:
        array[: len(array) // width * width].view(f"u{width}").byteswap(inplace=True)


def is_foreign(byteorder):
    """Whether the byte order of a file ("little" or "big") is not this machine's."""
    if byteorder not in ("little", "big"):
        raise ValueError(
            hinted(f"Unknown endianness type: {printable(byteorder)}", "the byteorder record must be 'little' or 'big'")
        )
    return byteorder != sys.byteorder


def claim(fields):
    """The five facts of a persistent id: (StorageType, key, location, number of elements), each checked."""
    if type(fields) is not tuple or len(fields) < 5 or fields[0] != "storage":
        raise malformed("a reference to something that is not a storage")
    _, kind, key, location, count = fields[:5]
    if type(kind) is not StorageType:
        raise malformed("a storage of an unknown type")
    if type(key) is not str or type(location) is not str or type(count) is not int or not 0 <= count < 1 << 60:
        raise malformed("a storage with an impossible name, place or length")
    if len(key) > _MAX_NAME or len(location) > _MAX_NAME:
        raise malformed("a storage with an endless name")
    if len(fields) > 5 and fields[5] is not None:
        raise malformed("a storage that is a view of another one, as before PyTorch 0.4")
    return kind, key, location, count * (kind.dtype.itemsize if kind.dtype else 1)


class Locations:
    """``map_location``: where a storage saved on one device goes.

    None restores what the file says. A string or device sends all there, a dict renames, a function
    ``(storage, location)`` returns the storage, or None to restore what the file says.
    """

    def __init__(self, map_location):
        self._chosen = map_location
        if isinstance(map_location, device):
            self._chosen = str(map_location)
        elif not (map_location is None or isinstance(map_location, (str, dict)) or callable(map_location)):
            raise TypeError(
                hinted(
                    f"'{type(map_location).__name__}' object is not callable",
                    "map_location is a device, a string, a dict of strings, or a function (storage, location)",
                )
            )

    def place(self, storage):
        """Check that the storage may live where it is to go, which is the CPU."""
        chosen = self._chosen
        if isinstance(chosen, str):
            check_location(chosen)
        elif isinstance(chosen, dict):
            check_location(str(chosen.get(storage.location, storage.location)))
        elif chosen is None:
            check_location(storage.location)
        else:
            result = chosen(storage, storage.location)
            if result is None:
                check_location(storage.location)
            elif result is not storage:
                raise TypeError(
                    hinted(
                        f"map_location returned {type(result).__name__}, which is not the storage it was given",
                        "return the storage itself, or None",
                    )
                )


def check_location(location):
    """``RuntimeError`` with PyTorch's first line unless tensors can live at this location, which ``cpu`` is."""
    name = location.partition(":")[0]
    if name == "cpu":
        return
    if name == "cuda":
        raise RuntimeError(hinted(_NO_CUDA, f"the storage would go to {location!r}: pass map_location='cpu'"))
    if name in ("mps", "meta"):
        raise RuntimeError(
            hinted(
                f"torch.UntypedStorage(): Storage device not recognized: {name}",
                "pass map_location='cpu': this version computes on the CPU only",
            )
        )
    raise RuntimeError(
        hinted(
            "don't know how to restore data location of torch.storage.UntypedStorage "
            f"(tagged with {printable(location)})",
            "pass map_location='cpu' to load everything to the CPU",
        )
    )


def storage_name(dtype):
    """PyTorch's class for a storage of this dtype: (module, class), untyped for the wider unsigned types."""
    name = f"{dtype.legacy_name}Storage"
    return ("torch", name) if name in STORAGE_NAMES else ("torch.storage", UNTYPED)
