"""DistributedDataParallel: a module trained by several processes, which this version does not have; programs ask whether one is such."""

from __future__ import annotations

from ...base.errors import hinted
from ..modules.module import Module


class DistributedDataParallel(Module):
    """A module whose gradients are averaged over processes: refused without a process group, of which there are none here."""

    def __init__(self, module, *args, **options):
        raise ValueError(
            hinted(
                "Default process group has not been initialized, please make sure to call init_process_group.",
                "this version trains in one process: torch.distributed.is_available() is False; use the module itself",
            )
        )
