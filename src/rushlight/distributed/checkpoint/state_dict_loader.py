"""``torch.distributed.checkpoint.state_dict_loader``: ``load``."""

from __future__ import annotations

import warnings
from typing import Any

from ...base.errors import hinted
from .agreement import Together
from .default_planner import DefaultLoadPlanner
from .filesystem import FileSystemReader
from .planner import LoadPlanner
from .stateful import Stateful
from .storage import StorageReader


def _reader(reader: StorageReader | None, checkpoint_id: Any) -> StorageReader:
    if reader is None:
        if checkpoint_id is None:
            message = "`checkpoint_id` must be specified if storage_reader/storage_writer is None."
            raise RuntimeError(hinted(message, "the folder of the checkpoint"))
        return FileSystemReader(checkpoint_id)
    reader.reset(checkpoint_id)
    return reader


def load(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_reader: StorageReader | None = None, planner: LoadPlanner | None = None,
    process_group: Any = None, no_dist: bool = False,
) -> None:  # fmt: skip
    """Load a checkpoint into a state dict, in place; all processes call this. Any number of processes may have saved it.

    Args:
        state_dict: nested dicts and lists of tensors and DTensors, into which is read; other values are replaced. What has
            ``load_state_dict()`` itself gets its part.
        checkpoint_id: the folder, which all processes see.
        storage_reader (StorageReader): where from. Default: ``FileSystemReader(checkpoint_id)``
        planner (LoadPlanner): who reads what. Default: ``DefaultLoadPlanner()``
        process_group: default: all processes.
        no_dist (bool): this process alone. Default: False

    Raises:
        CheckpointException: in all processes, where one fails: there is no checkpoint, or a damaged one, or it lacks a value.

    Follows ``torch.distributed.checkpoint.load``; for an example see `save`.
    """
    reader, together = _reader(storage_reader, checkpoint_id), Together(process_group, no_dist, "load")
    planner = DefaultLoadPlanner() if planner is None else planner
    states = {name: each.state_dict() if isinstance(each, Stateful) else each for name, each in state_dict.items()}

    def read() -> None:
        metadata = reader.read_metadata()
        planner.set_up_planner(states, metadata, together.is_coordinator)
        reader.set_up_storage_reader(metadata, together.is_coordinator)
        plan = reader.prepare_local_plan(planner.create_local_plan())
        reader.read_data(planner.finish_plan(plan), planner).wait()

    together.gathered(read)
    for name, each in list(state_dict.items()):
        if isinstance(each, Stateful):
            each.load_state_dict(states[name])
        else:
            state_dict[name] = states[name]


def load_state_dict(
    state_dict: dict[str, Any], storage_reader: StorageReader, process_group: Any = None, coordinator_rank: int = 0, no_dist: bool = False,
    planner: LoadPlanner | None = None,
) -> None:  # fmt: skip
    """The former name of `load`."""
    warnings.warn(
        "'load_state_dict' is deprecated and will be removed in future versions. Please use 'load' instead.",
        FutureWarning,
        stacklevel=2,
    )
    load(state_dict, storage_reader=storage_reader, process_group=process_group, no_dist=no_dist, planner=planner)
