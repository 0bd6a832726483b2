"""``torch.distributed.checkpoint.filesystem``: checkpoints in folders that all processes see.

A checkpoint is there once its file ``.metadata`` is, which comes last: each process writes its values to an unfinished file; when
all have, the coordinator gives the files names that an older checkpoint in the folder does not use, adds to ``.checksums``, puts
the new ``.metadata`` in the place of the old one, and takes away what is no longer named. Whatever is cut off leaves the older
checkpoint or the new one, whole. What is read is compared with its checksum.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import uuid
import warnings
import zlib
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from ...autograd import no_grad
from ...base.errors import hinted
from ...futures import Future
from ...serialization import load, save
from . import metadata_files
from .metadata import Metadata, MetadataIndex, StorageInfo, StorageMeta
from .planner import LoadItemType, LoadPlan, LoadPlanner, SavePlan, SavePlanner, WriteItem
from .storage import StorageReader, StorageWriter, WriteResult

_METADATA, _CHECKSUMS, _UNFINISHED = ".metadata", ".checksums", ".unfinished"
_SUFFIX = ".distcp"
_OVER = (
    "Detected an existing checkpoint in {}, overwriting since self.overwrite=True. Past version 2.5 of PyTorch, `overwrite` will "
    "default to False. Set this variable to True to maintain this functionality or False to raise when an existing checkpoint is found."
)


def _finished(result: Any) -> Any:
    made = Future()
    made.set_result(result)
    return made


def _write(path: Path, data: bytes, sync: bool) -> None:
    """Write a file whole, or not at all."""
    new = path.with_name(path.name + _UNFINISHED)
    with open(new, "wb") as file:
        file.write(data)
        _flush(file, sync)
    os.replace(new, path)


def _end(series: int) -> str:
    """The end of the files' names; checkpoints that follow each other in a folder have different ones."""
    return f"_{series}{_SUFFIX}"


def _sums(folder: Path, metadata: Metadata | None) -> dict[str, dict[str, dict[str, int]]]:
    """The checksums of a checkpoint by its id; none where there is no checkpoint, or PyTorch wrote it."""
    path = folder / _CHECKSUMS
    if metadata is None or metadata.storage_meta is None or not path.exists():
        return {}
    own = metadata.storage_meta.save_id
    return {key: sums for key, sums in json.loads(path.read_bytes()).items() if key == own}


def _flush(file: Any, sync: bool) -> None:
    file.flush()
    if sync:
        os.fsync(file.fileno())


class FileSystemWriter(StorageWriter):
    """Writes a checkpoint into a folder.

    Args:
        path: the folder; it is made.
        sync_files (bool): wait until the disk has what was written. Default: True
        overwrite (bool): replace a checkpoint that is there. Default: True
        single_file_per_rank, thread_count, per_thread_copy_ahead, cache_staged_state_dict: accepted; a process writes one file.

    Follows ``torch.distributed.checkpoint.FileSystemWriter``.
    """

    def __init__(
        self, path: str | os.PathLike[str], single_file_per_rank: bool = True, sync_files: bool = True, thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000, cache_staged_state_dict: bool = False, overwrite: bool = True,
    ) -> None:  # fmt: skip
        self.path, self.sync_files, self.overwrite = Path(path), sync_files, overwrite
        self.save_id = str(uuid.uuid4())

    def reset(self, checkpoint_id: Any = None) -> None:
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        if is_coordinator and not self.overwrite and (self.path / _METADATA).exists():
            message = f"Checkpoint already exists and self.overwrite={self.overwrite}."
            raise RuntimeError(hinted(message, f"{self.path} holds one"))

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        if self.overwrite and (self.path / _METADATA).exists():
            warnings.warn(_OVER.format(self.path), stacklevel=2)
        return plan

    def prepare_global_plan(self, plans: list[SavePlan]) -> list[SavePlan]:
        older = self._older()
        used = {each.relative_path for each in older.storage_data.values()} if older is not None else set()
        series = next(number for number in itertools.count() if not any(name.endswith(_end(number)) for name in used))
        return [replace(plan, storage_data=f"__{rank}{_end(series)}") for rank, plan in enumerate(plans)]

    def _older(self) -> Metadata | None:
        """What the checkpoint that is in the folder already says of itself."""
        path = self.path / _METADATA
        try:
            return metadata_files.read(path.read_bytes()) if path.exists() else None
        except (UnpicklingError, EOFError):  # it is damaged: nothing of it can be loaded
            return None

    def stage(self, plan: SavePlan, planner: SavePlanner) -> list[tuple[WriteItem, bytes]]:
        """What is to be written, as bytes: a copy of what the tensors hold now."""
        staged = []
        for item in plan.items:
            found = planner.resolve_data(item)
            if not isinstance(found, io.BytesIO):
                file = io.BytesIO()
                save(found.clone(), file)  # alone, without the rest of a storage that it is a view of
                found = file
            staged.append((item, found.getvalue()))
        return staged

    def write_staged(self, plan: SavePlan, staged: list[tuple[WriteItem, bytes]]) -> list[WriteResult]:
        """Write what `stage` gave."""
        if not staged:
            return []
        name, results, start = plan.storage_data, [], 0
        with open(self.path / (name + _UNFINISHED), "wb") as file:
            for item, data in staged:
                file.write(data)
                place = StorageInfo(name, start, len(data))
                results.append(WriteResult(item.index, len(data), place, zlib.crc32(data)))
                start += len(data)
            _flush(file, self.sync_files)
        return results

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Any:
        return _finished(self.write_staged(plan, self.stage(plan, planner)))

    def finish(self, metadata: Metadata, results: list[list[WriteResult]]) -> None:
        written = [each for some in results for each in some]
        sums: dict[str, dict[str, int]] = defaultdict(dict)
        for each in written:
            sums[each.storage_data.relative_path][str(each.storage_data.offset)] = each.checksum
        for name in sums:
            os.replace(self.path / (name + _UNFINISHED), self.path / name)
        known = {self.save_id: sums, **_sums(self.path, self._older())}
        _write(self.path / _CHECKSUMS, json.dumps(known).encode(), self.sync_files)
        metadata.storage_data = {each.index: each.storage_data for each in written}
        metadata.storage_meta = self.storage_meta()
        _write(self.path / _METADATA, metadata_files.written(metadata), self.sync_files)
        for old in self.path.glob(f"__*{_SUFFIX}*"):
            if old.name not in sums:
                old.unlink()

    def storage_meta(self) -> StorageMeta | None:
        return StorageMeta(self.path, self.save_id)

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path


class FileSystemReader(StorageReader):
    """Reads a checkpoint from a folder.

    Args:
        path: the folder.

    Follows ``torch.distributed.checkpoint.FileSystemReader``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.storage_data: dict[MetadataIndex, StorageInfo] = {}
        self._sums: dict[str, dict[str, int]] = {}

    def reset(self, checkpoint_id: Any = None) -> None:
        if checkpoint_id:
            self.path = Path(checkpoint_id)
        self.storage_data, self._sums = {}, {}

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        data = (self.path / _METADATA).read_bytes()
        try:
            return metadata_files.read(data)
        except (UnpicklingError, EOFError) as error:
            message = f"{self.path / _METADATA} is damaged: {error}".split("\n")[0]
            raise RuntimeError(hinted(message, "load an older checkpoint")) from error

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        self.storage_data = metadata.storage_data
        self._sums = next(iter(_sums(self.path, metadata).values()), {})

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Any:
        by_file = defaultdict(list)
        for item in plan.items:
            by_file[self.storage_data[item.storage_index].relative_path].append(item)
        for name, items in by_file.items():
            if Path(name).name != name:
                message = f"the checkpoint names a file outside of its folder: {name}"
                raise RuntimeError(hinted(message, "it is no checkpoint, or somebody changed it"))
            with open(self.path / name, "rb") as file:
                for item in items:
                    self._read_item(file, item, planner)
        return _finished(None)

    def _read_item(self, file: Any, item: Any, planner: LoadPlanner) -> None:
        place = self.storage_data[item.storage_index]
        file.seek(place.offset)
        data = file.read(place.length)
        wanted = self._sums.get(place.relative_path, {}).get(str(place.offset))
        if len(data) != place.length or (wanted is not None and zlib.crc32(data) != wanted):
            message = f"{self.path / place.relative_path} is damaged: {item.storage_index.fqn} is not what was saved"
            raise RuntimeError(hinted(message, "load an older checkpoint"))
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, io.BytesIO(data))
            return
        stored = load(io.BytesIO(data), weights_only=True)
        for dim, (start, length) in enumerate(zip(item.storage_offsets, item.lengths)):
            stored = stored.narrow(dim, start, length)
        target = planner.resolve_tensor(item)
        with no_grad():
            target.copy_(stored)
        planner.commit_tensor(item, target)

    @property
    def checkpoint_id(self) -> Path:
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: Any) -> bool:
        return (Path(checkpoint_id) / _METADATA).exists()
