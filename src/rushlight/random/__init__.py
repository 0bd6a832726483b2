"""PyTorch's random numbers: ``torch.random``'s functions, ``Generator``, and the distributions on arrays."""

from .fork import fork_rng
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
