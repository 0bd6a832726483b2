"""``load``: checkpoints in PyTorch's zip format and its older one, as tensors and plain data."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

import numpy as np

from ..base.errors import hinted
from .archive import LOCAL_HEADER, Archive
from .constructors import TABLE
from .files import is_path, readable
from .legacy import load_legacy
from .messages import printable, truncated
from .pickled import PickledObjects, dotted
from .settings import (
    MAP_SHARED,
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
)
from .storages import Locations, Storage, is_foreign

_NEWEST_VERSION = 10
_SMALL_RECORD = 1 << 10
# Objects take many times the bytes that tell of them: where those are deflated, so much and no more is believed.
_SMALL_PICKLE, _PACKED = 1 << 16, 16
_ALIGNED = 16


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Read what ``torch.save`` or ``rushlight.save`` wrote (``torch.load``).

    Args:
        f: a path, or a binary file object with ``read``, ``seek`` and ``tell``.
        map_location: where storages go: None (where they were saved), a device, a string, a dict from saved to new
            location, or a function ``(storage, location)``. This version has the CPU only: pass ``"cpu"`` for
            checkpoints that were saved on a GPU.
        weights_only: True (the default) reads what PyTorch reads then: tensors, parameters, and plain containers of
            them. False reads further plain data (NumPy values, ``slice``, ``range``, ``deque``, paths, ...), and whole
            modules, optimizers and other objects of classes that the program has imported: made without ``__init__``,
            attributes filled in. Neither imports or calls what a file names; anything else is refused by its name,
            with the line that lets it be read.
        mmap: True maps the storages of a file given by its path instead of reading them.
        encoding: how byte strings of Python 2 are decoded ("utf-8").

    Tensors that shared memory when saved share it again. Errors: ``pickle.UnpicklingError`` for objects that are
    refused, ``RuntimeError`` for a damaged or foreign file, ``EOFError`` for one that is cut short.

    >>> import io, rushlight as torch
    >>> file = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, file)
    >>> _ = file.seek(0)
    >>> torch.load(file)
    {'weight': tensor([1., 1.]), 'epoch': 3}
    """
    weights_only = True if weights_only is None else bool(weights_only)
    if pickle_module is not None:
        raise RuntimeError(
            hinted(
                "Can not safely load weights when explicit pickle_module is specified",
                "Rushlight reads checkpoints with an interpreter of its own that runs no code; leave pickle_module out",
            )
        )
    encoding = pickle_load_args.pop("encoding", "utf-8")
    if pickle_load_args:
        raise TypeError(f"Unpickler.__init__() got an unexpected keyword argument '{next(iter(pickle_load_args))}'")
    if mmap and not is_path(f):
        raise ValueError(
            hinted("f must be a file path in order to use the mmap argument", f"f is a {type(f).__name__} here")
        )
    locations = Locations(map_location)
    with readable(f) as file:
        start = file.tell()
        magic = file.read(4)
        file.seek(start)
        if not magic:
            raise truncated("the file is empty")
        if magic == LOCAL_HEADER:
            return _load_archive(_open_archive(file), locations, weights_only, encoding, bool(mmap))
        if mmap:
            name = f"{f}, " if isinstance(f, str) else ""
            raise RuntimeError(
                hinted(
                    f"mmap can only be used with files saved with `torch.save({name}"
                    "_use_new_zipfile_serialization=True), please torch.save your checkpoint with this option in order "
                    "to use mmap.",
                    "load it without mmap",
                )
            )
        return load_legacy(file, locations, weights_only, encoding)


def _open_archive(file):
    archive = Archive(file, get_crc32_options())
    if archive.has("constants.pkl"):
        raise RuntimeError(
            hinted(
                "Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``.",
                "the file holds compiled TorchScript code; in PyTorch, save torch.jit.load(file).state_dict()",
            )
        )
    if not archive.has("version"):
        raise RuntimeError(
            hinted(
                'Expected hasRecord("version") to be true, but got false.  (Could this error message be improved?  If '
                "so, please report an enhancement request to PyTorch.)",
                "the file is a zip archive, but not a checkpoint",
            )
        )
    version = archive.read("version", _SMALL_RECORD).strip()
    if not version.isdigit() or int(version[:9]) > _NEWEST_VERSION:
        found = printable(version.decode("ascii", "replace"))
        raise RuntimeError(
            hinted(
                f"Attempted to read a PyTorch file with version {found}, but the maximum supported version for reading "
                f"is {_NEWEST_VERSION}.",
                "the file was written by a newer version, or is damaged",
            )
        )
    return archive


def _load_archive(archive, locations, weights_only, encoding, mapped):
    swapped = is_foreign(_byteorder(archive))
    mapping = _map(archive.file) if mapped and not swapped else None

    def make_storage(nbytes, dtype, key, location):
        record = f"data/{key}"
        size = archive.size(record)
        if size != nbytes:
            raise RuntimeError(
                hinted(
                    f"record size ({size} bytes) does not match expected size ({nbytes} bytes = {nbytes} elements * 1 "
                    "bytes/element) for dtype Byte",
                    f"the file is damaged: its storage {key!r} is not as long as its tensors say",
                )
            )
        storage = Storage(nbytes, dtype, location, lambda count: _read_storage(archive, record, mapping), swapped)
        locations.place(storage)
        return storage

    return PickledObjects(make_storage, weights_only, encoding).load(*_pickle_of(archive))


def _pickle_of(archive):
    data = archive.read("data.pkl", max(_SMALL_PICKLE, _PACKED * archive.stored_size("data.pkl")))
    return BytesIO(data), len(data)


def _read_storage(archive, record, mapping):
    size = archive.size(record)
    if mapping is not None and size:
        position = archive.position(record)
        # Compiled kernels rely on aligned memory, which every file of PyTorch's gives.
        if position is not None and position % _ALIGNED == 0:
            return np.frombuffer(mapping, np.uint8, size, position)
    return np.frombuffer(archive.unpacked(record), np.uint8)


def _byteorder(archive):
    if archive.has("byteorder"):
        return archive.read("byteorder", _SMALL_RECORD).decode("ascii", "replace")
    default = get_default_load_endianness()
    if default is LoadEndianness.NATIVE:
        return sys.byteorder
    return "big" if default is LoadEndianness.BIG else "little"


def _map(file):
    import mmap

    flags = get_default_mmap_options()
    if not hasattr(mmap, "MAP_PRIVATE"):
        access = mmap.ACCESS_WRITE if flags == MAP_SHARED else mmap.ACCESS_COPY
        return mmap.mmap(file.fileno(), 0, access=access)
    if flags == MAP_SHARED:
        with open(file.name, "r+b") as writable:
            return mmap.mmap(writable.fileno(), 0, flags=flags)
    return mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE)


def get_unsafe_globals_in_checkpoint(f: Any) -> Any:
    """The dotted names in a zip checkpoint that ``load(f, weights_only=True)`` would refuse, in order of appearance.

    >>> import io, rushlight as torch
    >>> file = io.BytesIO()
    >>> torch.save([slice(3), torch.ones(1)], file)
    >>> torch.serialization.get_unsafe_globals_in_checkpoint(file)
    ['builtins.slice']
    """
    import pickletools

    with readable(f) as file:
        file.seek(0)
        if file.read(4) != LOCAL_HEADER:
            raise ValueError(
                hinted(
                    "Expected input to be a checkpoint returned by torch.save",
                    "only files in the zip format can be examined",
                )
            )
        file.seek(0)
        data, _ = _pickle_of(_open_archive(file))
    found, texts = [], []
    try:
        for operation, argument, _ in pickletools.genops(data):
            if operation.name == "GLOBAL":
                found.append(dotted(*str(argument).split(" ", 1)))
            elif operation.name == "STACK_GLOBAL" and len(texts) > 1:
                found.append(dotted(*texts[-2:]))
            elif isinstance(argument, str):
                texts.append(argument)
    except ValueError as error:
        raise truncated(f"the pickled objects cannot be followed ({error})") from None
    return [name for name in dict.fromkeys(found) if name not in TABLE]
