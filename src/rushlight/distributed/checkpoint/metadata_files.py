"""The file ``.metadata`` of a checkpoint, as PyTorch writes and reads it: a pickle, read by the closed reader of `serialization`.

Names in it stand for the values of `metadata` alone; nothing else is made, and no code runs.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any

from ...base.device import contiguous_format, layout
from ...base.dtypes import DType
from ...base.size import Size
from ...serialization import constructors
from ...serialization.messages import malformed, refused
from ...serialization.unpickler import KEY_TYPES, Token, Unpickler
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageInfo,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)

_PLACE = "torch.distributed.checkpoint"
_CLASSES: dict[Any, str] = {
    each: f"{_PLACE}.metadata.{each.__name__}"
    for each in (
        BytesStorageMetadata, ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties, TensorStorageMetadata,
    )
} | {StorageInfo: f"{_PLACE}.filesystem._StorageInfo"}  # fmt: skip
_FORMAT = f"{_PLACE}.metadata._MEM_FORMAT_ENCODING"
KEY_TYPES.add(MetadataIndex)


class _Named:
    """A name in a pickle, which stands for a function or class of PyTorch's."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self) -> None:
        raise TypeError(f"{self.name} is a name")


_PurePickler: Any = pickle._Pickler  # the one in Python, whose parts can be replaced


class _Pickler(_PurePickler):
    """Writes names of PyTorch's for our values."""

    def save_global(self, obj: Any, name: Any = None) -> None:
        full = obj.name if isinstance(obj, _Named) else f"torch.{obj.name}" if isinstance(obj, DType) else _CLASSES[obj]
        module, _, own = full.rpartition(".")
        self.write(pickle.GLOBAL + f"{module}\n{own}\n".encode())
        self.memoize(obj)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (DType, _Named)):
            return obj.name
        if isinstance(obj, Size):
            return _named("torch.Size"), (tuple(obj),)
        if isinstance(obj, layout):
            return _named("torch.serialization._get_layout"), (str(obj),)
        if isinstance(obj, PurePosixPath):
            return _named("pathlib.PosixPath"), obj.parts
        if isinstance(obj, TensorProperties):
            code = (obj.dtype, obj.layout, obj.requires_grad, _Format(), obj.pin_memory)
            return _new_object, (TensorProperties,), code
        if isinstance(obj, _Format):
            return _named(_FORMAT), (0,)
        return NotImplemented


class _Format:
    """Row by row, the one order in memory of what is saved."""


_names: dict[str, _Named] = {}


def _named(name: str) -> _Named:
    return _names.setdefault(name, _Named(name))


def _new_object(kind: Any, *args: Any) -> Any:
    return kind.__new__(kind, *args)


_new_object.__name__ = "__newobj__"  # how pickle knows that an object is made by its class


def written(metadata: Metadata) -> bytes:
    """The bytes of the file."""
    file = io.BytesIO()
    _Pickler(file, 2).dump(metadata)
    return file.getvalue()


def _new(kind: Any) -> Callable[[Any], Any]:
    def made(arguments: Any) -> Any:
        if arguments:
            raise malformed(f"arguments of {kind.__name__}")
        found = object.__new__(kind)
        for name in kind.__dataclass_fields__:
            object.__setattr__(found, name, [] if name == "modules" else None)
        return found

    return made


def _path(arguments: Any) -> Path:
    if not all(type(each) is str for each in arguments):
        raise malformed("a path")
    return Path(*arguments)


_TOKENS = {name: Token(name, new=_new(kind), value=kind) for kind, name in _CLASSES.items()} | {
    "pathlib.PosixPath": Token("pathlib.PosixPath", build=_path),
    "pathlib.PurePosixPath": Token("pathlib.PurePosixPath", build=_path),
    "pathlib.WindowsPath": Token("pathlib.WindowsPath", build=_path),
    _FORMAT: Token(_FORMAT, build=lambda arguments: contiguous_format),
}


def _find(module: str, name: str) -> Any:
    full = f"{module}.{name}"
    found = _TOKENS.get(full) or constructors.TABLE.get(full)
    if found is None:
        raise refused(f"the name {full} in the metadata of a checkpoint", "it is damaged, or no checkpoint")
    return found


def _set_state(made: Any, state: Any) -> None:
    """What BUILD does to one of our values."""
    if isinstance(made, TensorProperties) and type(state) is tuple and len(state) == 5:
        state = dict(zip(("dtype", "layout", "requires_grad", "memory_format", "pin_memory"), state))
    if type(made) not in _CLASSES or type(state) is not dict or not set(state) <= set(made.__dataclass_fields__):
        raise malformed("a state that does not fit its object")
    for name, value in state.items():
        object.__setattr__(made, name, value)


def _no_storage(claim: Any) -> Any:
    raise malformed("a tensor among metadata")


def read(data: bytes) -> Metadata:
    """What the bytes of the file say; ``UnpicklingError`` or ``EOFError`` for what is damaged or no such file."""
    found = Unpickler(io.BytesIO(data), len(data), _find, _no_storage, _set_state).load()
    if not isinstance(found, Metadata):
        raise malformed("no metadata")
    return found
