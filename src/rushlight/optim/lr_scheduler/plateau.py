"""ReduceLROnPlateau: a smaller learning rate when a metric stops improving."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Literal, SupportsFloat

from ...base.errors import hinted
from .base import EPOCH_DEPRECATION_WARNING, LRScheduler, check_optimizer, set_value, values_of

if TYPE_CHECKING:
    from ...optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """The learning rate times ``factor`` when a metric has not improved for more than ``patience`` epochs.

    Args:
        optimizer: the optimizer whose groups are written.
        mode: whether the metric should fall (``"min"``) or rise (``"max"``).
        factor: below 1.
        patience: epochs without improvement that are let pass.
        threshold: what counts as improvement: a share of the best value (``threshold_mode="rel"``) or an amount
            (``"abs"``).
        cooldown: epochs after a reduction in which nothing is counted.
        min_lr: lower bound; a number, or a list with one a group.
        eps: smaller changes of the rate are left out.

    >>> import rushlight as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    >>> for loss in (2.0, 2.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: Literal["min", "max"] = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: Literal["rel", "abs"] = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != len(optimizer.param_groups):
                raise ValueError(f"expected {len(optimizer.param_groups)} min_lrs, got {len(min_lr)}")
            self.default_min_lr = None
            self.min_lrs = list(min_lr)
        else:
            self.default_min_lr = min_lr
            self.min_lrs = [min_lr] * len(optimizer.param_groups)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = values_of(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode, threshold, threshold_mode):
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode

    def _reset(self):
        """Forget the best value and the counts."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: SupportsFloat, epoch: int | None = None) -> None:
        """Count an epoch whose metric was ``metrics``, and reduce the learning rates when it is time."""
        current = float(metrics)
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self.last_epoch = epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(epoch)
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = values_of(self.optimizer, "lr")

    def _reduce_lr(self, epoch):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    hinted(
                        f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                        f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                        "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                        "`optimizer` param groups.",
                        "append a lower bound for the new group: scheduler.min_lrs.append(0.0)",
                    )
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, low in zip(groups, self.min_lrs):
            old = float(group["lr"])
            new = max(old * self.factor, low)
            if old - new > self.eps:
                set_value(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0

    def _is_better(self, value, best):
        change = -self.threshold if self.mode == "min" else self.threshold
        bound = best * (1.0 + change) if self.threshold_mode == "rel" else best + change
        return value < bound if self.mode == "min" else value > bound

    is_better = _is_better
