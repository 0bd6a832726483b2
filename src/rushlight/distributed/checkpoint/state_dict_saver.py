"""``torch.distributed.checkpoint.state_dict_saver``: ``save`` and ``async_save``."""

from __future__ import annotations

import json
import threading
import time
import warnings
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from ...base.errors import hinted
from .agreement import Together, plan_as_data, plan_of_data, results_as_data, results_of_data
from .default_planner import DefaultSavePlanner
from .filesystem import FileSystemWriter
from .metadata import Metadata
from .planner import SavePlan, SavePlanner
from .stateful import Stateful
from .storage import StorageWriter

_LOOK = 0.02  # seconds between two looks for what other processes have written
_PATIENCE = 1800.0


def _writer(writer: StorageWriter | None, checkpoint_id: Any) -> StorageWriter:
    if writer is None:
        if checkpoint_id is None:
            message = "`checkpoint_id` must be specified if storage_reader/storage_writer is None."
            raise RuntimeError(hinted(message, "the folder of the checkpoint"))
        return FileSystemWriter(checkpoint_id)
    writer.reset(checkpoint_id)
    return writer


def _states(state_dict: dict[str, Any]) -> dict[str, Any]:
    return {name: each.state_dict() if isinstance(each, Stateful) else each for name, each in state_dict.items()}


def _planned(
    state_dict: dict[str, Any], writer: StorageWriter, planner: SavePlanner, together: Together
) -> tuple[SavePlan, Metadata]:
    """What this process writes, and what the checkpoint then holds."""

    def local() -> Any:
        planner.set_up_planner(_states(state_dict), writer.storage_meta(), together.is_coordinator)
        writer.set_up_storage_writer(together.is_coordinator)
        return plan_as_data(writer.prepare_local_plan(planner.create_local_plan()))

    plans = [plan_of_data(each) for each in together.gathered(local)]
    made, metadata = planner.create_global_plan(plans)
    return planner.finish_plan(writer.prepare_global_plan(made)[together.rank]), metadata


def save(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: StorageWriter | None = None, planner: SavePlanner | None = None,
    process_group: Any = None, no_dist: bool = False, use_collectives: bool = True,
) -> Metadata:  # fmt: skip
    """Save a state dict, of which each process writes a part; all processes call this.

    Args:
        state_dict: nested dicts and lists of tensors, DTensors and other data; what has ``state_dict()`` itself is asked for it.
        checkpoint_id: the folder, which all processes see.
        storage_writer (StorageWriter): where to. Default: ``FileSystemWriter(checkpoint_id)``
        planner (SavePlanner): who writes what. Default: ``DefaultSavePlanner()``
        process_group: default: all processes.
        no_dist (bool): this process alone. Default: False

    Raises:
        CheckpointException: in all processes, where one fails; the older checkpoint in the folder is then still whole.

    Follows ``torch.distributed.checkpoint.save``.

    >>> import tempfile
    >>> import rushlight as torch
    >>> import rushlight.distributed.checkpoint as checkpoint
    >>> folder = tempfile.mkdtemp()
    >>> _ = checkpoint.save({"weight": torch.ones(2), "step": 3}, checkpoint_id=folder, no_dist=True)
    >>> found = {"weight": torch.zeros(2), "step": 0}
    >>> checkpoint.load(found, checkpoint_id=folder, no_dist=True)
    >>> found
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    writer, together = _writer(storage_writer, checkpoint_id), Together(process_group, no_dist, "save")
    planner = DefaultSavePlanner() if planner is None else planner
    plan, metadata = _planned(state_dict, writer, planner, together)
    results = together.gathered(lambda: results_as_data(writer.write_data(plan, planner).wait()))
    together.coordinated(lambda: writer.finish(metadata, [results_of_data(each) for each in results]))
    return metadata


def async_save(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: Any = None, planner: SavePlanner | None = None,
    process_group: Any = None, async_checkpointer_type: Any = None, async_stager: Any = None, no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[Any]:  # fmt: skip
    """`save` of what the state dict holds now, written while the program goes on; the `Future` is done when the checkpoint is there.

    Processes meet for the plan alone, before this returns: a thread writes, and the coordinator's waits for the files of the others.
    """
    if async_stager is not None:
        raise NotImplementedError(hinted("async_save: async_stager is not in this version", "leave it out"))
    writer, together = _writer(storage_writer, checkpoint_id), Together(process_group, no_dist, "save")
    if not isinstance(writer, FileSystemWriter):
        message = "async_save: storage_writer has to be a FileSystemWriter"
        raise NotImplementedError(hinted(message, "others have no way to write what was copied before"))
    planner = DefaultSavePlanner() if planner is None else planner
    plan, metadata = _planned(state_dict, writer, planner, together)
    save_ids = together.gathered(lambda: writer.save_id)
    writer.save_id = save_ids[0]
    staged = writer.stage(plan, planner)
    made: Future[Any] = Future()

    def work() -> None:
        try:
            results = results_as_data(writer.write_staged(plan, staged))
            _meet_in_files(writer, together, metadata, results, len(save_ids))
            made.set_result(None)
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=work, name="rushlight checkpoint", daemon=False).start()
    return made


def _meet_in_files(writer: FileSystemWriter, together: Together, metadata: Metadata, results: Any, count: int) -> None:
    """Let the coordinator finish once all have written, which they say in small files; the others wait for that."""

    def note(rank: int | str) -> Path:
        return writer.path / f".{writer.save_id}.{rank}"

    end = time.monotonic() + _PATIENCE
    new = note(f"{together.rank}.new")
    new.write_text(json.dumps(results))
    new.rename(note(together.rank))
    if not together.is_coordinator:
        _wait_for([note("done")], end)
        note("done").with_suffix(f".seen{together.rank}").touch()
        return
    notes = [note(rank) for rank in range(count)]
    _wait_for(notes, end)
    writer.finish(metadata, [results_of_data(json.loads(each.read_text())) for each in notes])
    note("done").touch()
    seen = [note("done").with_suffix(f".seen{rank}") for rank in range(1, count)]
    _wait_for(seen, end)
    for each in (*notes, *seen, note("done")):
        each.unlink()


def _wait_for(paths: list[Path], end: float) -> None:
    while not all(each.exists() for each in paths):
        if time.monotonic() > end:
            missing = next(each for each in paths if not each.exists())
            message = f"a process has not written its part of the checkpoint within {_PATIENCE:.0f} s"
            raise RuntimeError(hinted(message, f"{missing} is missing"))
        time.sleep(_LOOK)


def save_state_dict(
    state_dict: dict[str, Any], storage_writer: StorageWriter, process_group: Any = None, coordinator_rank: int = 0, no_dist: bool = False,
    planner: SavePlanner | None = None,
) -> Metadata:  # fmt: skip
    """The former name of `save`."""
    warnings.warn(
        "'save_state_dict' is deprecated and will be removed in future versions.Please use 'save' instead.",
        FutureWarning,
        stacklevel=2,
    )
    return save(
        state_dict, storage_writer=storage_writer, process_group=process_group, no_dist=no_dist, planner=planner
    )
