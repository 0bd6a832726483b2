"""Schedulers made of schedulers: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...base.errors import hinted
from ..loading import check_scheduler_state
from .base import LRScheduler, values_of
from .plateau import ReduceLROnPlateau

if TYPE_CHECKING:
    from ...optim.optimizer import Optimizer


def _check(owner, optimizer, schedulers):
    name = type(owner).__name__
    for index, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(
                hinted(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {index} in the given schedulers sequence.",
                    "step that one by itself",
                )
            )
        if optimizer is not scheduler.optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is different from "
                f"{type(optimizer).__name__}."
            )


class _Combined(LRScheduler):
    _schedulers: Sequence[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer; of the schedulers, their states."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("optimizer", "_schedulers")}
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over what ``state_dict`` of such a combination returned."""
        check_scheduler_state(self, state_dict, ("_schedulers",))
        self.__dict__.update({name: value for name, value in state_dict.items() if name != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_Combined):
    """One scheduler after the other: number i + 1 begins at epoch ``milestones[i]``, at its own epoch 0.

    >>> import rushlight as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> warm_up = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm_up, decay], milestones=[2])
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        _check(self, optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each scheduler took its first step when it was made: take these back, and let only the first one begin.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        for scheduler in schedulers:
            _take_back(scheduler)
        schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def step(self) -> None:
        """Go to the next epoch."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _take_back(scheduler):
    if isinstance(scheduler, _Combined):
        for inner in scheduler._schedulers:
            _take_back(inner)
    else:
        scheduler.last_epoch -= 1


class ChainedScheduler(_Combined):
    """Several schedulers at once: each changes the learning rate that the one before it left.

    >>> import rushlight as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> first = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5)
    >>> second = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([first, second])
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        _check(self, optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = values_of(optimizer, "lr")

    def step(self) -> None:
        """Step every scheduler."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = values_of(self.optimizer, "lr")
