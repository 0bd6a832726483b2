"""``torch.distributed.checkpoint.format_utils``: checkpoints become files of ``torch.save``, and back."""

from __future__ import annotations

import os
from typing import Any

from ...ops.table import functions
from ...serialization import load as torch_load
from ...serialization import save as torch_save
from ..later import LATER as _LATER
from .default_planner import set_at
from .filesystem import FileSystemReader
from .metadata import TensorStorageMetadata
from .state_dict_loader import load
from .state_dict_saver import save


def dcp_to_torch_save(dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]) -> None:
    """Write the whole of a checkpoint to one file, which ``torch.load`` reads; one process does it."""
    metadata = FileSystemReader(dcp_checkpoint_dir).read_metadata()
    found: dict[str, Any] = {}
    for name, entry in metadata.state_dict_metadata.items():
        value: Any = None
        if isinstance(entry, TensorStorageMetadata):
            value = functions.empty(tuple(entry.size), dtype=entry.properties.dtype)
        set_at(found, (metadata.planner_data or {}).get(name, (name,)), value)
    load(found, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
    torch_save(found, torch_save_path)


def torch_save_to_dcp(torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]) -> None:
    """Write what is in a file of ``torch.save`` as a checkpoint; one process does it."""
    save(torch_load(torch_save_path, weights_only=False), checkpoint_id=dcp_checkpoint_dir, no_dist=True)


__getattr__ = _LATER.of("checkpoint.format_utils")
