"""What the processes that save or load do together: plans and results travel as plain data, errors reach all."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from typing import Any

from ..groups import default_group, is_initialized
from ..objects import all_gather_object
from .api import CheckpointException
from .metadata import ChunkStorageMetadata, MetadataIndex, StorageInfo, TensorProperties
from .planner import SavePlan, TensorWriteData, WriteItem, WriteItemType
from .storage import WriteResult


class Together:
    """The processes of a group; this one alone with ``no_dist``, or where there is no group."""

    def __init__(self, group: Any, no_dist: bool, what: str) -> None:
        alone = no_dist or not is_initialized()
        if alone and not no_dist:
            message = f"torch.distributed is disabled, unavailable or uninitialized, assuming the intent is to {what} in a single process."
            warnings.warn(message, stacklevel=3)
        self.group = None if alone else default_group() if group is None else group
        self.rank = 0 if self.group is None else self.group.rank()
        self.is_coordinator = self.rank == 0

    def gathered(self, act: Callable[[], Any]) -> list[Any]:
        """What ``act`` gives in each process, plain data; CheckpointException in all where it raises in one."""
        value, failure = None, None
        try:
            value = act()
        except Exception as error:
            failure = error
        told = None if failure is None else (type(failure).__name__, str(failure).split("\nhint:")[0])
        found: list[Any] = [(value, told)]
        if self.group is not None:
            found = [None] * self.group.size()
            all_gather_object(found, (value, told), group=self.group)
        failures = {rank: _error(*each[1]) for rank, each in enumerate(found) if each[1] is not None}
        if failure is not None:
            failures[self.rank] = failure
        if failures:
            raise CheckpointException("", failures) from failure
        return [each[0] for each in found]

    def coordinated(self, act: Callable[[], Any]) -> None:
        """Let the coordinator alone do something, and all wait for it."""
        self.gathered(lambda: act() if self.is_coordinator else None)


def _error(name: str, message: str) -> BaseException:
    """An error of another process."""
    kind = getattr(builtins, name, RuntimeError)
    return kind(message) if isinstance(kind, type) and issubclass(kind, Exception) else RuntimeError(message)


def plan_as_data(plan: SavePlan) -> Any:
    """A plan as tuples."""
    items = []
    for item in plan.items:
        data = item.tensor_data
        part = None if data is None else (data.chunk.offsets, data.chunk.sizes, data.properties.dtype, data.size)
        items.append((item.index.fqn, item.index.offset, item.type.name, part))
    return items, plan.planner_data


def plan_of_data(data: Any) -> SavePlan:
    """The plan that `plan_as_data` made tuples of."""
    items = []
    for name, offset, kind, part in data[0]:
        tensor = None
        if part is not None:
            offsets, sizes, dtype, size = part
            tensor = TensorWriteData(ChunkStorageMetadata(offsets, sizes), TensorProperties(dtype=dtype), size)
        items.append(WriteItem(MetadataIndex(name, offset), WriteItemType[kind], tensor_data=tensor))
    return SavePlan(items, planner_data=data[1])


def results_as_data(results: list[WriteResult]) -> Any:
    """Results as tuples."""
    return [
        (each.index.fqn, each.index.offset, each.index.index, each.size_in_bytes, each.storage_data.relative_path,
         each.storage_data.offset, each.storage_data.length, each.checksum)
        for each in results
    ]  # fmt: skip


def results_of_data(data: Any) -> list[WriteResult]:
    """The results that `results_as_data` made tuples of."""
    return [
        WriteResult(MetadataIndex(name, offset, number), size, StorageInfo(path, start, length), checksum)
        for name, offset, number, size, path, start, length, checksum in data
    ]
