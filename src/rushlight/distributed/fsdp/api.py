"""``torch.distributed.fsdp.api``: how parameters are sharded and saved, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from ..later import LATER as _LATER


class ShardingStrategy(Enum):
    """What is divided: everything; gradients and optimizer state alone; nothing; or, of both first, within groups of processes."""

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When parameters are gathered ahead in backward; accepted: here each unit gathers its own when it is reached."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


class StateDictType(Enum):
    """What ``state_dict`` holds: whole parameters, or DTensors; LOCAL_STATE_DICT is not in this version."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class MixedPrecision:
    """The dtypes in which parameters compute, gradients are reduced and buffers are kept."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    buffer_dtype: Any = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True


@dataclass
class CPUOffload:
    """Whether shards lie on the CPU, where they lie anyway."""

    offload_params: bool = False


@dataclass
class StateDictConfig:
    """What the ways to save have in common."""

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Whole parameters: in all processes, or in process 0 alone."""

    rank0_only: bool = False


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """DTensors, each process's part of every parameter."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """What the ways to save the state of an optimizer have in common."""

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Whole states: in all processes, or in process 0 alone."""

    rank0_only: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """DTensors, each process's part of every state."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """How ``state_dict`` works at the moment."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: Any = None


__getattr__ = _LATER.of("fsdp")
