"""Communication hooks of DistributedDataParallel: how the gradients of a bucket are averaged."""

from enum import Enum
from functools import partial
from typing import Any

from . import default_hooks, powerSGD_hook


def _register(hook: Any, model: Any, state: Any) -> None:
    model.register_comm_hook(state, hook)


def _register_power(hook: Any, rank: int, model: Any, state: Any) -> None:
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=rank), hook)


class DDPCommHookType(Enum):
    """The hooks by name: each value registers its hook with a ``model`` and a ``state``, a process group."""

    ALLREDUCE = partial(_register, default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(_register, default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(_register, default_hooks.bf16_compress_hook)
    POWER_SGD = partial(_register_power, powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = partial(_register_power, powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = partial(_register_power, powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = partial(_register_power, powerSGD_hook.batched_powerSGD_hook, 2)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register a hook by its name with a DistributedDataParallel; ``state`` is a process group, None: all processes."""
    comm_hook_type.value(model=model, state=state)
