"""PyTorch's random numbers: ``torch.random``'s functions, ``Generator``, and the distributions on arrays."""

from .generator import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
    use_tensors,
)
from . import distributions

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
]  # fmt: skip


def __getattr__(name):
    if name == "fork_rng":
        from .fork import fork_rng

        globals()[name] = fork_rng
        return fork_rng
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *__all__})
