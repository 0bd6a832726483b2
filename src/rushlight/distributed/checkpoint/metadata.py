"""``torch.distributed.checkpoint.metadata``: what a checkpoint holds, as values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...base.device import contiguous_format, strided
from ...base.dtypes import get_default_dtype
from ...base.size import Size


@dataclass
class ChunkStorageMetadata:
    """A part of a tensor: where it begins, and how long it is along each dimension."""

    offsets: Any
    sizes: Any


@dataclass
class TensorProperties:
    """What a tensor is besides its size."""

    dtype: Any = field(default_factory=get_default_dtype)
    layout: Any = strided
    requires_grad: bool = False
    memory_format: Any = contiguous_format
    pin_memory: bool = False


@dataclass
class TensorStorageMetadata:
    """A tensor: its size, and the parts that are in files."""

    properties: TensorProperties
    size: Any
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """Any other value."""


@dataclass
class StorageMeta:
    """Where and when something was saved."""

    checkpoint_id: Any = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class MetadataIndex:
    """Which value, by its name, and which part of it; ``index`` is a hint where that part stands in the list."""

    fqn: str
    offset: Any = None
    index: int | None = field(hash=False, compare=False, default=None)

    def __init__(self, fqn: str, offset: Sequence[int] | None = None, index: int | None = None) -> None:
        object.__setattr__(self, "fqn", fqn)
        object.__setattr__(self, "offset", None if offset is None else Size(offset))
        object.__setattr__(self, "index", index)


@dataclass
class StorageInfo:
    """Where in which file something lies."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Any = None


@dataclass
class Metadata:
    """What a checkpoint holds: values by name, the way to each through the state dict that was saved, and where they lie."""

    state_dict_metadata: dict[str, Any]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None
