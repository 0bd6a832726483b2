"""PyTorch's format before 1.6: pickles (magic number, version, machine, objects, storage keys), then bytes."""

from __future__ import annotations

import struct
import sys
from pickle import UnpicklingError

import numpy as np

from ..base.errors import hinted
from .messages import malformed, truncated
from .pickled import PickledObjects
from .pickler import pickle_plain
from .storages import Storage, is_foreign

MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_COUNT = struct.Struct("<q")


def load_legacy(file, locations, weights_only, encoding):
    """The object in a file of the old format that starts at the file's position, which ends up behind it."""
    start = file.tell()
    size = file.seek(0, 2) - start
    file.seek(start)
    _check_magic(file, size, start)
    if _plain(file, size) != PROTOCOL_VERSION:
        raise RuntimeError(
            hinted("Invalid protocol version", f"only version {PROTOCOL_VERSION} of the old format exists")
        )
    _plain(file, size)
    # The objects come before the bytes of their storages: a first reading finds where those are, a second uses them.
    objects_at = file.tell()
    claims = {}
    claimed = 0

    def claim_only(nbytes, dtype, key, location):
        nonlocal claimed
        claimed += nbytes
        if claimed > size:
            raise truncated(f"the storage {key!r} claims {nbytes} bytes, more than the file has left")
        claims[key] = nbytes, dtype
        return Storage(nbytes, dtype, location, lambda count: np.zeros(count, np.uint8))

    PickledObjects(claim_only, weights_only, encoding).load(file, size)
    places = _find_storages(file, size, claims)
    end = file.tell()
    swapped = is_foreign("little")

    def make_storage(nbytes, dtype, key, location):
        storage = Storage(nbytes, dtype, location, lambda count: _read_bytes(file, places[key], count), swapped)
        locations.place(storage)
        return storage

    file.seek(objects_at)
    result = PickledObjects(make_storage, weights_only, encoding).load(file, size)
    file.seek(end)
    return result


def _plain(file, size):
    """One pickle of the file's head, which holds neither tensors nor names."""

    def no_storage(*claim):
        raise malformed("a storage where there is none")

    return PickledObjects(no_storage).load(file, size)


def _check_magic(file, size, start):
    try:
        magic = _plain(file, size)
    except (UnpicklingError, EOFError):
        magic = None
    if magic != MAGIC_NUMBER:
        file.seek(start)
        raise RuntimeError(hinted("Invalid magic number; corrupt file?", _guess(file.read(512))))


def _guess(head):
    """What a file that is no checkpoint looks like, from its first bytes."""
    if head.startswith(b"version https://git-lfs"):
        return "this is a Git LFS pointer, not the file itself: run `git lfs pull`"
    if head.lstrip()[:1] == b"<":
        return "this is a web page, not a checkpoint: the download went to an error page"
    if head[257:262] == b"ustar":
        return "this is a tar archive, as PyTorch wrote them before 0.1.10: open it with PyTorch and save it again"
    if head.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        return "the file is compressed: decompress it first"
    if head[8:9] == b"{":
        return "this looks like a safetensors file: use rushlight.serialization.load_safetensors"
    if head.startswith(b"\x80"):
        return "this is a pickle, but not one that torch.save wrote: load it with the module pickle, if you trust it"
    return "the file was not written by torch.save"


def _find_storages(file, size, claims):
    """Where each claimed storage's bytes begin; every length in the file is compared with its claim."""
    keys = _plain(file, size)
    if type(keys) is not list or len(keys) != len(claims) or not all(type(k) is str and k in claims for k in keys):
        raise malformed("the list of storages does not match the tensors")
    places = {}
    here = file.tell()
    end = file.seek(0, 2)
    file.seek(here)
    for key in keys:
        nbytes, dtype = claims[key]
        count = file.read(_COUNT.size)
        if len(count) != _COUNT.size:
            raise _too_short(_COUNT.size - len(count))
        if _COUNT.unpack(count)[0] * (dtype.itemsize if dtype else 1) != nbytes:
            raise malformed(f"the storage {key!r} is not as long as its tensors say")
        places[key] = file.tell()
        if places[key] + nbytes > end:
            raise _too_short(places[key] + nbytes - end)
        file.seek(places[key] + nbytes)
    return places


def _too_short(count):
    return RuntimeError(
        hinted(
            f"unexpected EOF, expected {count} more bytes. The file might be corrupted.", "copy or download it again"
        )
    )


def _read_bytes(file, position, count):
    # In the second reading of the objects, storages are met between two pieces of the pickle.
    here = file.tell()
    file.seek(position)
    array = np.frombuffer(bytearray(file.read(count)), np.uint8)
    file.seek(here)
    return array


def save_legacy(file, pickled, storages):
    """Write the old format: ``pickled`` objects, ``storages`` as (key, dtype or None, uint8 array)."""
    machine = {
        "protocol_version": PROTOCOL_VERSION,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for head in (MAGIC_NUMBER, PROTOCOL_VERSION, machine):
        file.write(pickle_plain(head))
    file.write(pickled)
    file.write(pickle_plain([key for key, _, _ in storages]))
    for _, dtype, data in storages:
        file.write(_COUNT.pack(len(data) // (dtype.itemsize if dtype else 1)))
        file.write(memoryview(data))
