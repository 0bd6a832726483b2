"""``torch.distributed.checkpoint.planner``: who writes and reads what, as values; and what planners have to do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, TensorProperties


class WriteItemType(Enum):
    """What is written: a whole tensor, a part of one, another value."""

    TENSOR = auto()
    SHARD = auto()
    BYTE_IO = auto()


class LoadItemType(Enum):
    """What is read: a part of a tensor, another value."""

    TENSOR = auto()
    BYTE_IO = auto()


@dataclass(frozen=True)
class TensorWriteData:
    """A part of a tensor that is written, and the tensor's size."""

    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Any


@dataclass(frozen=True)
class WriteItem:
    """Something to write."""

    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: Any = None
    tensor_data: TensorWriteData | None = None

    def tensor_storage_size(self) -> int | None:
        """How many bytes the elements take; None of what is no tensor."""
        if self.tensor_data is None:
            return None
        size = self.tensor_data.properties.dtype.itemsize
        for length in self.tensor_data.chunk.sizes:
            size *= length
        return size


@dataclass(frozen=True)
class ReadItem:
    """Something to read: ``lengths`` elements from ``storage_offsets`` of a part that is stored to ``dest_offsets`` of one here."""

    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Any
    storage_index: MetadataIndex
    storage_offsets: Any
    lengths: Any


@dataclass(frozen=True)
class SavePlan:
    """What a process writes."""

    items: list[WriteItem]
    storage_data: Any = None
    planner_data: Any = None
    usable: bool = True


@dataclass
class LoadPlan:
    """What a process reads."""

    items: list[ReadItem]
    storage_data: Any = None
    planner_data: Any = None


class SavePlanner(ABC):
    """Says what each process writes. `create_global_plan` runs in every process, with the same plans."""

    @abstractmethod
    def set_up_planner(self, state_dict: Any, storage_meta: Any = None, is_coordinator: bool = False) -> None:
        """Take the state dict that is saved."""

    @abstractmethod
    def create_local_plan(self) -> SavePlan:
        """What this process has."""

    @abstractmethod
    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        """What each process writes, of what all have; and what the checkpoint then holds."""

    @abstractmethod
    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        """Take the plan of this process."""

    @abstractmethod
    def resolve_data(self, write_item: WriteItem) -> Any:
        """The tensor, or the file in memory, of an item."""


class LoadPlanner(ABC):
    """Says what each process reads, and takes it."""

    @abstractmethod
    def set_up_planner(self, state_dict: Any, metadata: Metadata | None = None, is_coordinator: bool = False) -> None:
        """Take the state dict that is loaded into, and what the checkpoint holds."""

    @abstractmethod
    def create_local_plan(self) -> LoadPlan:
        """What this process reads."""

    @abstractmethod
    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        """What each process reads, of what all want."""

    @abstractmethod
    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        """Take the plan of this process."""

    @abstractmethod
    def load_bytes(self, read_item: ReadItem, value: Any) -> None:
        """Take a value that is no tensor, as a file in memory."""

    @abstractmethod
    def resolve_tensor(self, read_item: ReadItem) -> Any:
        """The part of a tensor that an item is read into."""

    def resolve_bytes(self, read_item: ReadItem) -> Any:
        """A file in memory that a value is read into."""
        raise NotImplementedError("LoadPlanner.resolve_bytes is not implemented")

    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:  # noqa: B027  # most have nothing to do
        """The part of a tensor has been read."""
