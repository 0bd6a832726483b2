"""``torch.device``, layouts and memory formats: names that say where and how elements lie."""

from __future__ import annotations

import re
from threading import get_ident
from typing import Any

import numpy as np

from .errors import hinted, kind_name

_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy", "vulkan",
    "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


_MISSING = object()  # what was not given
_FORMS = (
    "device() received an invalid combination of arguments - got ({}), but expected one of:\n * (torch.device device)\n"
    " * (str type, int index = -1)"
)


class device:
    """Where a tensor lives: ``torch.device("cpu")``, ``torch.device("cuda:0")``, ``torch.device("cuda", 0)``.

    Only ``cpu`` holds tensors in this version, and ``meta`` tensors without elements; the others parse, compare and
    print, and raise when used.

    >>> import rushlight as torch
    >>> torch.device("cuda:1").index
    1
    """

    __slots__ = ("index", "type")
    type: str
    index: int | None

    def __init__(self, type: Any = _MISSING, index: int | None = None) -> None:
        if index is not None and (isinstance(index, bool) or not isinstance(index, (int, np.integer))):
            raise TypeError(f"device(): argument 'index' (position 2) must be int, not {kind_name(index)}")
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, (int, np.integer)) and not isinstance(type, bool):
            if type >= 0:
                message = "Cannot access accelerator device when none is available."
                raise RuntimeError(
                    hinted(message, f"{type} would be the number of one: this version computes on 'cpu'")
                )
            type, index = "cuda", type
        elif isinstance(type, str):
            if not type:
                raise RuntimeError(hinted("Device string must not be empty", "such as 'cpu' or 'cuda:0'"))
            match = re.fullmatch(r"([a-zA-Z_]+)(?::(0|[1-9]\d*))?", type)
            if match is None:
                raise RuntimeError(f"Invalid device string: '{type}'")
            if match[2] is not None:
                if index is not None:
                    raise RuntimeError(
                        f"type (string) must not include an index because index was passed explicitly: {type}"
                    )
                index = int(match[2])
            type = match[1]
            if type not in _TYPES:
                raise RuntimeError(f"Expected one of {', '.join(_TYPES)} device type at start of device string: {type}")
        else:
            if index is not None:
                raise TypeError(f"device(): argument 'type' (position 1) must be str, not {kind_name(type)}")
            raise TypeError(_FORMS.format("" if type is _MISSING else kind_name(type)))
        if index is not None and index < 0:  # type: ignore[operator]  # not the method of str
            raise RuntimeError(hinted("Device index must not be negative", f"it is {index}; devices count from 0"))
        object.__setattr__(self, "type", type)
        object.__setattr__(self, "index", index)

    def __setattr__(self, name, value):
        raise AttributeError(f"attribute '{name}' of 'torch.device' objects is not writable")

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __repr__(self):
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __enter__(self):
        """``with torch.device("meta"):`` makes tensors on this device where no other one is asked for."""
        where, entered = check_device(self), DEFAULTS
        entered += [
            (get_ident(), where, self)
        ]  # no call: after one Ctrl-C may come, and nobody would leave what was entered
        return self

    def __exit__(self, kind, value, trace):
        me = get_ident()
        for place in range(len(DEFAULTS) - 1, -1, -1):
            if DEFAULTS[place][0] == me and DEFAULTS[place][2] is self:
                del DEFAULTS[place]
                break

    def __reduce__(self):
        return device, (self.type,) if self.index is None else (self.type, self.index)


CPU, META = device("cpu"), device("meta")
# Where tensors are made that ask for no device: (thread, device, the object that was entered), the last one first. Empty
# means the CPU. A thread of None is that of all of them: `set_default_device`.
DEFAULTS: list = []


def default_device():
    """Where a tensor is made that asks for no device."""
    me = get_ident()
    for thread, where, _ in reversed(DEFAULTS):
        if thread == me or thread is None:
            return where
    return CPU


def set_default_device(device):
    """Make tensors on this device where no other one is asked for; None for the CPU again."""
    where = None if device is None else check_device(device)
    DEFAULTS[:] = [entry for entry in DEFAULTS if entry[0] is not None]
    if where is not None and where is not CPU:
        DEFAULTS.insert(0, (None, where, None))


_UNCOMPILED = {
    "cuda": "Torch not compiled with CUDA enabled",
    "xpu": "Torch not compiled with XPU enabled",
    "mtia": "Torch not compiled with MTIA enabled. Ensure you have `import mtia.host_runtime.torch_mtia.dynamic_library` in your "
    "python src file and include `//mtia/host_runtime/torch_mtia:torch_mtia` as your target dependency!",
}


def check_device(value):
    """The device that tensors can be made on, or the error PyTorch's CPU build raises for the others; of None, the default."""
    if value is None:
        return default_device() if DEFAULTS else CPU
    if value is CPU or value is META:
        return value
    wanted = value if isinstance(value, device) else device(value)
    if wanted.type == "cpu":
        return CPU
    if wanted.type == "meta":
        return META
    if wanted.type in _UNCOMPILED:
        raise AssertionError(
            hinted(
                _UNCOMPILED[wanted.type],
                f"this version computes on the CPU; ask torch.{wanted.type}.is_available() first",
            )
        )
    if wanted.type == "mps":
        raise RuntimeError(hinted("PyTorch is not linked with support for mps devices", "use the device 'cpu'"))
    raise NotImplementedError(
        hinted(f"Could not run on device '{wanted}': Rushlight has no {wanted.type} backend", "use the device 'cpu'")
    )


class _Name:
    """A constant known by its printed name."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name

    def __reduce__(self):
        return _constant, (self.name,)


class layout(_Name):
    """How elements are laid out; ``torch.strided`` is the one that holds tensors here."""

    __slots__ = ()


class memory_format(_Name):
    """The order of dimensions in memory: ``torch.contiguous_format``, ``torch.channels_last``, ..."""

    __slots__ = ()


strided, sparse_coo, sparse_csr = layout("torch.strided"), layout("torch.sparse_coo"), layout("torch.sparse_csr")
sparse_csc, sparse_bsr, sparse_bsc = map(layout, ("torch.sparse_csc", "torch.sparse_bsr", "torch.sparse_bsc"))
jagged = layout("torch.jagged")
LAYOUTS = (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged)
contiguous_format = memory_format("torch.contiguous_format")
preserve_format = memory_format("torch.preserve_format")
channels_last = memory_format("torch.channels_last")
channels_last_3d = memory_format("torch.channels_last_3d")
_CONSTANTS = {c.name: c for c in (*LAYOUTS, contiguous_format, preserve_format, channels_last, channels_last_3d)}


def _constant(name):
    return _CONSTANTS[name]


DeviceLike = device | str | int | None  # what functions take as a device
