"""Checks of hyperparameters, with PyTorch's messages."""

from __future__ import annotations

from ..base.errors import hinted
from ..tensor import Tensor


def check_one_rate(lr):
    """A number or a tensor of one element."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError(
            hinted(
                "Tensor lr must be 1-element", f"it has the shape {tuple(lr.shape)}; for one rate a layer use groups"
            )
        )


def check_learning_rate(lr, message="Invalid learning rate: {}"):
    """A number or a one-element tensor, not negative."""
    check_one_rate(lr)
    if not 0.0 <= lr:  # noqa: SIM300 (as PyTorch: what is said of strings shows the order)
        raise ValueError(hinted(message.format(lr), "a learning rate is zero or positive; maximize=True climbs"))


def check_not_negative(**values):
    """Each of the named values is zero or more. Raises ValueError: ``Invalid momentum value: -1``."""
    for name, value in values.items():
        if not 0.0 <= value:  # noqa: SIM300
            raise ValueError(f"Invalid {name} value: {value}")


def check_betas(betas):
    """Both decay rates of running averages lie in [0, 1)."""
    for index in (0, 1):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")


def check_fused(fused, foreach, differentiable):
    """``fused`` excludes ``foreach`` and ``differentiable``. (The first two are hints; a step is always fused here.)"""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
