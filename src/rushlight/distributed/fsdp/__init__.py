"""``torch.distributed.fsdp``: modules whose parameters are divided among processes."""

from ..later import LATER as _LATER
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullStateDictConfig,
    MixedPrecision,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .fully_sharded_data_parallel import FullyShardedDataParallel

__getattr__ = _LATER.of("fsdp")
