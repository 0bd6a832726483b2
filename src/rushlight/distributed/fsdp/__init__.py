"""``torch.distributed.fsdp``: modules whose parameters are divided among processes."""

from importlib import import_module as _import_module

from ..later import LATER as _LATER
from .api import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    OptimStateDictConfig,
    ShardedOptimStateDictConfig,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictConfig,
    StateDictSettings,
    StateDictType,
)
from .fully_sharded_data_parallel import FullyShardedDataParallel
from .policies import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

_FULLY_SHARD = frozenset(("FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"))
_absent = _LATER.of("fsdp")


def __getattr__(name):
    if name not in _FULLY_SHARD:
        return _absent(name)
    module = _import_module(f"{__name__}.fully_shard")  # it needs `tensor`, at whose sight operations ask for more
    globals().update({each: getattr(module, each) for each in _FULLY_SHARD})
    return globals()[name]
