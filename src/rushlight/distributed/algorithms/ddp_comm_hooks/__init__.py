"""Communication hooks of DistributedDataParallel: how the gradients of a bucket are averaged."""

from enum import Enum
from functools import partial
from typing import Any

from . import default_hooks, powerSGD_hook


class DDPCommHookType(Enum):
    """The hooks by name, as functions of state and bucket."""

    ALLREDUCE = partial(default_hooks.allreduce_hook)
    FP16_COMPRESS = partial(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = partial(default_hooks.bf16_compress_hook)
    POWER_SGD = partial(powerSGD_hook.powerSGD_hook)
    POWER_SGD_RANK2 = partial(powerSGD_hook.powerSGD_hook, rank=2)
    BATCHED_POWER_SGD = partial(powerSGD_hook.batched_powerSGD_hook)


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Register a hook by its name with a DistributedDataParallel; ``state`` is a process group or a PowerSGDState."""
    hook = comm_hook_type.value
    if "rank" in hook.keywords:
        state = powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=hook.keywords["rank"])
    elif hook.func in (powerSGD_hook.powerSGD_hook, powerSGD_hook.batched_powerSGD_hook) and not isinstance(
        state, powerSGD_hook.PowerSGDState
    ):
        state = powerSGD_hook.PowerSGDState(state)
    model.register_comm_hook(state, hook.func)
