"""Memory from elsewhere: shared between processes, copied from buffers, mapped from files."""

from __future__ import annotations

import mmap
import os
import sys

import numpy as np

from ..base.arrays import owner_of
from ..base.errors import hinted


def is_shared_memory(array):
    """Whether an array lies in memory that processes share."""
    owner = owner_of(array)
    return isinstance(getattr(owner.base, "obj", owner.base), mmap.mmap)


class SharedMap(mmap.mmap):
    """Memory of a file without a name, whose descriptor, ``file``, can be sent to other processes, where it maps the same memory."""

    file: int

    def __new__(cls, file, size):
        made = super().__new__(cls, file, size)
        made.file = file
        return made

    def __del__(self):
        os.close(self.file)


def shared_map_of(array):
    """The `SharedMap` that an array lies in, or None."""
    base = owner_of(array).base
    found = getattr(base, "obj", base)
    return found if isinstance(found, SharedMap) else None


def _nameless_file():
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rushlight-shared")
    import tempfile  # with much behind it, for the systems without the above

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def shared_copy(array):
    """``array`` copied into memory that processes can share: those started by fork, and those it is sent to."""
    file = _nameless_file()
    os.truncate(file, array.nbytes)
    memory = np.frombuffer(SharedMap(file, array.nbytes), np.uint8).view(array.dtype).reshape(array.shape)
    memory[...] = array
    return memory


def read_buffer(buffer, byte_order, count, offset, dtype):
    """A copy of ``count`` elements of a buffer (all, if negative) as bytes in this machine's order."""
    raw, size = np.frombuffer(buffer, np.uint8), dtype.itemsize
    if not 0 <= offset <= raw.size:
        raise ValueError(
            hinted(
                f"offset must be non-negative and no greater than buffer length ({offset}) , but got {raw.size}",
                f"the buffer has {raw.size} bytes, and the first element is to begin {offset} bytes from its start",
            )
        )
    if count < 0:
        if (raw.size - offset) % size:
            raise ValueError(
                hinted(
                    f"buffer size ({raw.size}) must be a multiple of element size ({size})",
                    "or pass count=, the number of elements",
                )
            )
        count = (raw.size - offset) // size
    if offset + count * size > raw.size:
        raise ValueError(
            hinted(
                f"buffer has only {raw.size - offset} elements after offset {offset}, but specified a size of {count}",
                "count= and offset= name a part of the buffer",
            )
        )
    raw = raw[offset : offset + count * size].copy()
    if byte_order not in ("native", sys.byteorder):
        raw.view(f"u{size}").byteswap(inplace=True)
    return raw


def map_file(filename, shared, nbytes):
    """The first ``nbytes`` bytes of a file (all, if 0) as an array; writes go into the file where ``shared``."""
    if shared and not os.path.exists(filename):
        with open(filename, "wb") as file:
            file.truncate(nbytes)
    try:
        size = os.stat(filename).st_size
        if nbytes < 0:
            message = f"unable to mmap {nbytes} bytes from file <{filename}>: Cannot allocate memory (12)"
            raise RuntimeError(hinted(message, "a size is 0 or more"))
        if nbytes > size:
            if not shared:
                message = f"file <{filename}> size <{size}> is smaller than the required mapping size <{nbytes}>"
                raise RuntimeError(hinted(message, "shared=True makes the file larger"))
            os.truncate(filename, nbytes)
        if not (nbytes or size):
            return np.empty(0, np.uint8)
        with open(filename, "r+b" if shared else "rb") as file:
            access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
            return np.frombuffer(mmap.mmap(file.fileno(), nbytes, access=access), np.uint8)
    except OSError as error:
        mode = "read-write" if shared else "read-only"
        message = f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})"
        raise RuntimeError(hinted(message, "the file must exist, unless shared=True")) from None
