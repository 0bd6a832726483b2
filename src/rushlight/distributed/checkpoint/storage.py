"""``torch.distributed.checkpoint.storage``: what puts a checkpoint somewhere, and what reads it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from .metadata import Metadata, MetadataIndex, StorageMeta
from .planner import LoadPlan, LoadPlanner, SavePlan, SavePlanner


@dataclass(frozen=True)
class WriteResult:
    """What was written: how many bytes, where, and their checksum."""

    index: MetadataIndex
    size_in_bytes: int
    storage_data: Any
    checksum: int = 0


class StorageWriter(ABC):
    """Puts a checkpoint somewhere: each process its own part, then the coordinator what makes it whole."""

    @abstractmethod
    def reset(self, checkpoint_id: Any = None) -> None:
        """Another checkpoint begins."""

    @abstractmethod
    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begin, in every process."""

    @abstractmethod
    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        """Look at the plan of this process."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        """Look at the plans of all."""

    @abstractmethod
    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Any:
        """Write what this process has to. Gives a ``Future`` of the list of `WriteResult`."""

    @abstractmethod
    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        """Make the checkpoint whole, in the coordinator, once all have written."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether a checkpoint could have this name."""
        return True

    def storage_meta(self) -> StorageMeta | None:
        """Where and when it was saved."""
        return None


class StorageReader(ABC):
    """Reads a checkpoint."""

    @abstractmethod
    def reset(self, checkpoint_id: Any = None) -> None:
        """Another checkpoint begins."""

    @abstractmethod
    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """What it holds."""

    @abstractmethod
    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        """Begin, in every process."""

    @abstractmethod
    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        """Look at the plan of this process."""

    @abstractmethod
    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        """Look at the plans of all."""

    @abstractmethod
    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Any:
        """Read what this process has to, and give it to the planner. Gives a ``Future``."""

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        """Whether a checkpoint could have this name."""
        return True
