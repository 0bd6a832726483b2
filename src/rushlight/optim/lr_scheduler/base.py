"""LRScheduler: counts epochs and writes the learning rates that a subclass computes into the optimizer."""

from __future__ import annotations

import warnings
from typing import Any

from ...base.errors import hinted
from ...tensor import Tensor
from ..loading import check_scheduler_state
from ..optimizer import Optimizer

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available. Please open an issue if you are unable to "
    "replicate your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_HOW_TO = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def check_optimizer(optimizer: Optimizer) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            hinted(
                f"{type(optimizer).__name__} is not an Optimizer", "the first argument of a scheduler is the optimizer"
            )
        )


def set_value(group: dict[str, Any], name: str, value: Any) -> None:
    """Set a hyperparameter; one that is a tensor is written in place."""
    if isinstance(group[name], Tensor):
        group[name].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[name] = value


def values_of(optimizer: Optimizer, name: str) -> Any:
    """The hyperparameter of every group; of tensors, copies."""
    values = [group[name] for group in optimizer.param_groups]
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def one_a_group(name: str, optimizer: Optimizer, value: Any) -> Any:
    """``value`` as a list with one entry for every parameter group."""
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {count}."
        )
    return value


class LRScheduler:
    """Base class of schedulers. A subclass gives ``get_lr()``: the learning rate of each group at ``self.last_epoch``.

    ``get_lr`` may start from ``group["lr"]``, so that schedulers combine, or from ``self.base_lrs``. A subclass that
    can compute the rates from ``base_lrs`` alone says so in ``_get_closed_form_lr``, which ``step(epoch)`` uses.

    Args:
        optimizer: the optimizer whose groups are written.
        last_epoch: -1 to begin (the present rates become ``group["initial_lr"]``), or the epoch to resume from.

    >>> import rushlight as torch
    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base / 2**self.last_epoch for base in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, values_of(optimizer, "lr")):
                group.setdefault("initial_lr", lr)
        else:
            for index, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{index}] when resuming scheduler with "
                        "last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                        "checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
                        "for a fresh training run (not recommended)"
                    )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._watch_optimizer()
        self._initial_step()

    def _watch_optimizer(self):
        """From here on the optimizer's steps count, for the warning about the order of steps."""
        if not hasattr(self.optimizer, "_scheduled_step"):
            self.optimizer._scheduled_step = _function_of(self.optimizer.step)
            self.optimizer._opt_called = "step" in vars(self.optimizer)  # a step of the user's, which does not tell

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer, as a dict."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` of such a scheduler returned."""
        check_scheduler_state(self, state_dict)
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | Tensor]:
        """The learning rates that the last step wrote, one a group."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """The learning rates at ``self.last_epoch``, one a group."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch (or, deprecated, to ``epoch``) and write its learning rates into the optimizer."""
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _check_order(self):
        if _function_of(self.optimizer.step) is not self.optimizer._scheduled_step:
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
                + _HOW_TO,
                UserWarning,
                stacklevel=3,
            )
        elif not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to "
                "do this will result in PyTorch skipping the first value of the learning rate schedule. See more "
                "details at " + _HOW_TO,
                UserWarning,
                stacklevel=3,
            )

    def _update_lr(self, epoch=None):
        if epoch is None:
            self.last_epoch += 1
            values = self._computed_lr()
        else:
            self.last_epoch = epoch
            values = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self._computed_lr()
        self._write(values)

    def _computed_lr(self):
        self._get_lr_called_within_step = True
        try:
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

    def _write(self, values):
        for group, lr in zip(self.optimizer.param_groups, values):
            set_value(group, "lr", lr)
        self._last_lr = values_of(self.optimizer, "lr")

    def _warn_outside_step(self):
        """What ``get_lr`` of our schedulers begins with: a user who calls it wants ``get_last_lr``."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def _scaled(self, factor):
        """The present learning rates times a number."""
        return [lr * factor for lr in values_of(self.optimizer, "lr")]


class _LRScheduler(LRScheduler):
    """The name that the base class had before PyTorch 2.0."""


def _function_of(method):
    return getattr(method, "__func__", method)
