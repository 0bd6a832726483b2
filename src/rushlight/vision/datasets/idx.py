"""The IDX file format of MNIST and its kin: big-endian arrays behind a header that says their type and shape."""

from __future__ import annotations

import os
from math import prod

import numpy as np

from rushlight.base.errors import hinted
from rushlight.ops.table import functions

TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_MOST_DIMENSIONS, _MOST_BYTES = 64, 1 << 62  # NumPy's


def read_idx(path):
    """The array in the IDX file at `path`, in native byte order.

    Raises ``RuntimeError`` for a file that is not IDX, or shorter or longer than its header says.
    """
    with open(path, "rb") as file:
        head = file.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in TYPES:
            raise damaged(path, f"is not an IDX file: it begins with the bytes {head.hex(' ') or '(none)'}")
        dtype, rank = np.dtype(TYPES[head[2]]), head[3]
        lengths = file.read(4 * rank)
        if len(lengths) < 4 * rank:
            raise damaged(path, f"ends within its header of {4 + 4 * rank} bytes: {os.path.getsize(path)} bytes")
        shape = tuple(np.frombuffer(lengths, ">u4").tolist())
        if rank > _MOST_DIMENSIONS:
            raise damaged(path, f"promises {rank} dimensions, where {_MOST_DIMENSIONS} are possible")
        expected, actual = 4 + 4 * rank + prod(shape) * dtype.itemsize, os.path.getsize(path)
        if actual != expected:
            state = "truncated" if actual < expected else "too long"
            shape_text = "x".join(map(str, shape))
            raise damaged(
                path, f"is {state}: its header promises {shape_text} items, {expected} bytes in all; it has {actual}"
            )
        if prod(length for length in shape if length) * dtype.itemsize >= _MOST_BYTES:  # with a 0 among them
            raise damaged(path, "promises lengths that no array can have")
        data = np.fromfile(file, dtype, prod(shape))
    return data.astype(dtype.newbyteorder("="), copy=False).reshape(shape)


def damaged(path, what):
    """The RuntimeError for a file that cannot be what it should be."""
    return RuntimeError(
        hinted(f"Dataset file not usable: {path} {what}", "delete the file and its .gz, then use download=True")
    )


def read_sn3_pascalvincent_tensor(path, strict=True):
    """The tensor in the IDX file at `path`, under torchvision's name. A wrong length is an error, `strict` or not."""
    return functions.from_numpy(read_idx(path))


def read_label_file(path):
    """An IDX file of labels (one dimension of bytes) as an int64 tensor."""
    return functions.from_numpy(checked(path, 1).astype(np.int64))


def read_image_file(path):
    """An IDX file of images (three dimensions of bytes) as a uint8 tensor."""
    return functions.from_numpy(checked(path, 3))


def checked(path, rank):
    """The array of bytes with `rank` dimensions in the IDX file at `path`."""
    array = read_idx(path)
    if array.dtype != np.uint8 or array.ndim != rank:
        kind = {1: "labels", 3: "images"}[rank]
        raise damaged(path, f"holds {array.ndim} dimensions of {array.dtype}, not {kind} ({rank} of uint8)")
    return array
