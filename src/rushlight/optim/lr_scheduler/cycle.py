"""Schedules of learning rate and momentum in cycles: CyclicLR and OneCycleLR."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from ...base.errors import hinted
from ...tensor import Tensor
from ..loading import check_scheduler_state
from .base import LRScheduler, check_optimizer, one_a_group, set_value

if TYPE_CHECKING:
    from ...optim.optimizer import Optimizer


def _momentum_name(optimizer):
    """Which hyperparameter is the momentum: ``momentum`` or the first of ``betas``."""
    for name in ("betas", "momentum"):
        if name in optimizer.defaults:
            return name
    raise ValueError(
        hinted(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled",
            f"{type(optimizer).__name__} has none: pass cycle_momentum=False",
        )
    )


def _set_momentum(group, name, value):
    if name == "betas":
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """Learning rate up and down between two bounds, in steps of a batch each; momentum the other way (Smith, 2017).

    Args:
        optimizer: the optimizer whose groups are written.
        base_lr, max_lr: the bounds; numbers, or lists with one a group.
        step_size_up, step_size_down: batches of the rising and the falling half; the second is as the first by default.
        mode: ``"triangular"``; ``"triangular2"``: half the height in each cycle; ``"exp_range"``: height ``gamma**t``.
        gamma: for ``exp_range``.
        scale_fn, scale_mode: a height of your own: a function of the cycle's number (``"cycle"``) or of the number of
            batches (``"iterations"``); then ``mode`` does not count.
        cycle_momentum: whether momentum moves too, between ``max_momentum`` and ``base_momentum``.
        last_epoch: the batch to resume from; -1 to begin.

    >>> import rushlight as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: float = 2000,
        step_size_down: float | None = None,
        mode: Literal["triangular", "triangular2", "exp_range"] = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: Literal["cycle", "iterations"] = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = one_a_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                set_value(group, "lr", lr)
        self.max_lrs = one_a_group("max_lr", optimizer, max_lr)
        step_size_up = float(step_size_up)
        step_size_down = step_size_up if step_size_down is None else float(step_size_down)
        self.total_size = step_size_up + step_size_down
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                hinted(
                    "mode is invalid and scale_fn is None",
                    f"mode is {mode!r}; the modes are triangular, triangular2, exp_range",
                )
            )
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            name = _momentum_name(optimizer)
            self.use_beta1 = name == "betas"
            self.base_momentums = one_a_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = one_a_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                    _set_momentum(group, name, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of cycle number x, or of batch number x, as a share of the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        place = 1 + self.last_epoch / self.total_size
        cycle = math.floor(place)
        place -= cycle
        height = place / self.step_ratio if place <= self.step_ratio else (place - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            name = "betas" if self.use_beta1 else "momentum"
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, name, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """All attributes except the optimizer and a function ``scale_fn``; of a callable object, its attributes."""
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        is_object = custom is not None and type(custom).__name__ != "function"
        state["_scale_fn_custom"] = dict(vars(custom)) if is_object else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state; ``scale_fn`` stays, except that a callable object gets its attributes."""
        check_scheduler_state(self, state_dict)
        attributes = state_dict.get("_scale_fn_custom")
        super().load_state_dict({name: value for name, value in state_dict.items() if name != "_scale_fn_custom"})
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(LRScheduler):
    """One rise of the learning rate and one long fall, in steps of a batch each (Smith and Topin, 2019).

    Args:
        optimizer: the optimizer whose groups are written.
        max_lr: the top; a number, or a list with one a group.
        total_steps: number of batches; or ``epochs`` and ``steps_per_epoch``, whose product it is.
        pct_start: share of the rise.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: whether momentum goes from ``max_momentum`` to ``base_momentum`` and back meanwhile.
        div_factor: the first rate is ``max_lr / div_factor``.
        final_div_factor: the last rate is the first over this.
        three_phase: fall to the first rate in as many batches as the rise took, then to the last rate.
        last_epoch: the batch to resume from; -1 to begin.

    >>> import rushlight as torch
    >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> scheduler.get_last_lr()
    [0.040000000000000036]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, one_a_group("max_lr", optimizer, max_lr)):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            name = _momentum_name(optimizer)
            self.use_beta1 = name == "betas"
            lows = one_a_group("base_momentum", optimizer, base_momentum)
            highs = one_a_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for group, low, high in zip(optimizer.param_groups, lows, highs):
                    _set_momentum(group, name, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start, end, share):
        if self._anneal_func_type == "linear":
            return start + (end - start) * share
        return end + (start - end) / 2.0 * (1 + math.cos(math.pi * share))

    def get_lr(self) -> list[float | Tensor]:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                hinted(
                    f"Tried to step {step} times. The specified number of total steps is {self.total_steps}",
                    "step once a batch, and give total_steps = epochs * batches of an epoch",
                )
            )
        start = 0.0
        for phase in self._schedule_phases:
            if step <= phase["end_step"] or phase is self._schedule_phases[-1]:
                break
            start = phase["end_step"]
        share = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                momentum = self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], share)
                _set_momentum(group, "betas" if self.use_beta1 else "momentum", momentum)
        return rates


def _total_steps(total_steps, epochs, steps_per_epoch):
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
        if not isinstance(value, int) or value <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return epochs * steps_per_epoch


def _phases(total_steps, pct_start, three_phase):
    """Rise and fall as a list of dicts: the last batch, and which rates and momenta it goes from and to."""
    top = pct_start * total_steps - 1
    ends = (top, 2 * pct_start * total_steps - 2, total_steps - 1) if three_phase else (top, total_steps - 1)
    rates = ("initial_lr", "max_lr", "initial_lr", "min_lr") if three_phase else ("initial_lr", "max_lr", "min_lr")
    momenta = ("max_momentum", "base_momentum", "max_momentum", "max_momentum")
    return [
        {
            "end_step": float(end) if index == 0 else end,
            "start_lr": rates[index],
            "end_lr": rates[index + 1],
            "start_momentum": momenta[index],
            "end_momentum": momenta[index + 1],
        }
        for index, end in enumerate(ends)
    ]
