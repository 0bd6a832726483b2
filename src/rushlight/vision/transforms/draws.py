"""Random numbers for transforms, from the default generator in the order torchvision draws them."""

from __future__ import annotations

from rushlight.ops.table import functions


def chance(p):
    """Whether one draw of ``torch.rand(1)`` falls below `p`."""
    return bool(functions.rand(1) < p)


def uniform(low, high):
    """One number between `low` and `high`: a float32 draw of ``torch.empty(1).uniform_``."""
    return functions.empty(1).uniform_(low, high).item()


def integer(high):
    """One integer from 0 to `high` - 1: a draw of ``torch.randint``."""
    return functions.randint(0, high, (1,)).item()
