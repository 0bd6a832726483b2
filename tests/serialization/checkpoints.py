"""Helpers of the serialization tests: saving to memory, loading back, and files built by hand."""

import io

import numpy as np

import rushlight.serialization as serialization
from rushlight.serialization.archive_writer import ArchiveWriter
from rushlight.tensor import wrap


def saved(value, **options):
    """The value saved into memory, ready to be read."""
    file = io.BytesIO()
    serialization.save(value, file, **options)
    file.seek(0)
    return file


def loaded(value, **options):
    """The value after a trip through a file."""
    return serialization.load(saved(value), **options)


def tensor(values, dtype="float32"):
    """A Tensor of these values."""
    return wrap(np.array(values, dtype))


def shares_memory(*tensors):
    """Whether all tensors look into one block of memory."""
    return all(np.may_share_memory(tensors[0]._array, other._array) for other in tensors[1:])


def text(value):
    """The opcode for a string."""
    data = value.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


def number(value):
    """The opcode for an integer."""
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes((len(data),)) + data


def numbers(values):
    """The opcodes for a tuple of integers."""
    return b"(" + b"".join(map(number, values)) + b"t"


def stored(kind=b"ctorch\nFloatStorage\n", key="0", count=4, location="cpu"):
    """The opcodes for a storage."""
    return b"(" + text("storage") + kind + text(key) + text(location) + number(count) + b"tQ"


def rebuilt(
    storage=None, offset=0, sizes=(4,), strides=(1,), requires_grad=b"\x89", rest=b"ccollections\nOrderedDict\n)R"
):
    """The opcodes for a tensor over a storage."""
    parts = (stored() if storage is None else storage) + number(offset) + numbers(sizes) + numbers(strides)
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + parts + requires_grad + rest + b"tR"


FOUR_FLOATS = np.arange(4, dtype="f4").tobytes()


def checkpoint(pickled, storages=(FOUR_FLOATS,), **records):
    """A zip checkpoint of hand-made parts; ``records`` replace or, where None, leave out its other records."""
    file = io.BytesIO()
    archive = ArchiveWriter(file, "archive")
    parts = {"data.pkl": pickled, "byteorder": b"little", "version": b"3\n", **records}
    for name, data in parts.items():
        if data is not None:
            archive.write(name, data)
    for key, data in enumerate(storages):
        archive.write(f"data/{key}", data)
    archive.close()
    file.seek(0)
    return file
