"""Files in the safetensors format, through the library of that name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import dtypes
from ..base.device import DeviceLike, check_device
from ..base.errors import hinted, missing_package
from ..base.lazy import plain
from ..tensor import Tensor
from .files import readable, writable
from .tensors import make_tensor

_DTYPES = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "U16": dtypes.uint16, "U32": dtypes.uint32, "U64": dtypes.uint64,
    "I8": dtypes.int8, "I16": dtypes.int16, "I32": dtypes.int32, "I64": dtypes.int64, "F16": dtypes.float16,
    "BF16": dtypes.bfloat16, "F32": dtypes.float32, "F64": dtypes.float64, "C64": dtypes.complex64,
    "F8_E4M3": dtypes.float8_e4m3fn, "F8_E5M2": dtypes.float8_e5m2, "F8_E8M0": dtypes.float8_e8m0fnu,
    "F8_E4M3FNUZ": dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": dtypes.float8_e5m2fnuz,
}  # fmt: skip


def _library():
    try:
        import safetensors
        import safetensors.numpy
    except ImportError:
        raise missing_package("safetensors", "the safetensors format", "safetensors") from None
    return safetensors


def save_safetensors(tensors: Any, filename: str, metadata: Any = None) -> None:
    """Write a dict of names to tensors as a safetensors file (``safetensors.torch.save_file``).

    ``metadata`` is a dict of strings that goes into the file's header. Tensors are written whole and contiguous, so
    shared memory is not shared any more after loading. The file is replaced only when everything is written. Needs
    the package safetensors (``pip install 'rushlight[safetensors]'``); complex128 is not in the format.

    >>> import os, rushlight as torch, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> torch.serialization.save_safetensors({"weight": torch.ones(2)}, path)
    >>> torch.serialization.load_safetensors(path)
    {'weight': tensor([1., 1.])}
    """
    arrays = {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(
                hinted(
                    f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}",
                    "the format holds tensors only; put strings into metadata",
                )
            )
        if tensor.dtype not in _DTYPES.values():
            raise ValueError(
                hinted(
                    f"safetensors has no dtype for {tensor.dtype!r}", f"convert the tensor {name!r} first, or use save"
                )
            )
        arrays[name] = np.ascontiguousarray(plain(tensor._array)).reshape(tensor._array.shape)
    data = _library().numpy.save(arrays, metadata)
    with writable(filename) as file:
        file.write(data)


def load_safetensors(filename: str, device: DeviceLike = "cpu") -> Any:
    """Read a safetensors file: a dict of names to tensors (``safetensors.torch.load_file``).

    ``device`` can be the CPU only. A damaged file raises the library's ``SafetensorError``.
    """
    check_device(device)
    library = _library()
    with readable(filename) as file:
        data = file.read()
    tensors = {}
    for name, entry in library.deserialize(data):
        dtype = _DTYPES.get(entry["dtype"])
        if dtype is None:
            raise ValueError(hinted(f"tensor {name!r} has the dtype {entry['dtype']}", "Rushlight has no such dtype"))
        # A copy: the library may hand out memory that cannot be written to.
        data = np.frombuffer(bytearray(entry["data"]), np.uint8)
        if dtype is dtypes.bool_:
            np.minimum(data, 1, out=data)  # any other byte than 0 and 1 is undefined behaviour in a NumPy bool
        tensors[name] = make_tensor(data.view(dtype.numpy).reshape(entry["shape"]))
    return tensors
