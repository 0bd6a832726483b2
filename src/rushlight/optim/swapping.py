"""An optimizer that works for a while on other parameters and another state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..base.contexts import contextmanager
from ..base.errors import hinted
from ..tensor import Tensor
from .optimizer import Optimizer

_NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """A context in which an optimizer holds other parameters, state and numbers; afterwards it holds its own again.

    Args:
        optimizer: one whose state exists: it has made a step.
        swapin_parameters: as many tensors as it has parameters, in its order, by any names.
        swapin_optim_state: what ``optimizer.state_dict()`` gives: writes into its tensors stay, everything else is put back.

    RuntimeError where the two do not fit the optimizer.

    >>> import copy, rushlight as torch
    >>> x, y = torch.ones(1, requires_grad=True), torch.zeros(1, requires_grad=True)
    >>> optimizer = torch.optim.SGD([x], lr=0.5, momentum=0.9)
    >>> x.grad = y.grad = torch.ones(1)
    >>> optimizer.step()
    >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"y": y}, copy.deepcopy(optimizer.state_dict())):
    ...     optimizer.step()
    >>> x.tolist(), round(y.item(), 2)
    ([0.5], -0.95)
    """
    state, groups = _checked(optimizer, swapin_optim_state)
    counts = [len(group["params"]) for group in groups]
    tensors = list(swapin_parameters.values())
    if sum(counts) > len(tensors):
        words = f"{_NAME} requires the explicit parameter state to match optimizer.param_groups ordering."
        raise RuntimeError(hinted(words, f"it has {sum(counts)} parameters, {len(tensors)} are given"))
    former_state, former_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    swapped: defaultdict[Tensor, Any] = defaultdict(dict)
    given = iter(tensors)
    try:
        for own, group in zip(optimizer.param_groups, groups):
            numbers = group["params"]
            own.update(group, params=[next(given) for _ in numbers])
            for parameter, number in zip(own["params"], numbers):
                swapped[parameter] = dict(state.get(number, {}))
        optimizer.state = swapped
        yield
    finally:
        for own, former in zip(optimizer.param_groups, former_groups):
            own.clear()
            own.update(former)
        optimizer.state = former_state


def _checked(optimizer, given):
    """The state and the groups of a state dict, if they fit the optimizer's."""
    if not optimizer.state:
        raise _refused(f"{_NAME} requires initialized optimizer state.", "make a step, or load a state dict, first")
    if not isinstance(given, dict):
        raise _refused(f"{_NAME} requires a DCP-style optimizer state_dict.")
    state, groups = given.get("state"), given.get("param_groups")
    _check_state(state)
    if not isinstance(groups, list):
        raise _refused(
            f"{_NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got {type(groups).__name__}."
        )
    if len(groups) != len(optimizer.param_groups):
        raise _refused("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    for place, (own, group) in enumerate(zip(optimizer.param_groups, groups)):
        _check_group(place, own, group)
    known = {number for group in groups for number in group["params"]}
    extra = [key for key in state if key not in known]
    if extra:
        raise _refused(
            f"{_NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return state, groups


def _check_state(state):
    """Refuse what is no dict of dicts by the numbers of parameters."""
    if not isinstance(state, dict):
        raise _refused(
            f"{_NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state dicts, "
            f"got {type(state).__name__}."
        )
    if any(isinstance(key, Tensor) for key in state):
        raise _refused(f"{_NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids.")
    if any(isinstance(key, int) and not isinstance(value, dict) for key, value in state.items()):
        raise _refused(f"{_NAME} requires per-parameter optimizer state entries to be dictionaries.")


def _check_group(place, own, group):
    """Refuse a group that does not have the keys, and as many parameters, as the optimizer's own."""
    if not isinstance(group, dict):
        raise _refused(f"{_NAME} requires each optimizer param group to be a dictionary.")
    numbers = group.get("params")
    if not isinstance(numbers, list) or not all(isinstance(number, int) for number in numbers):
        raise _refused(
            f"{_NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed parameter ids."
        )
    if len(own["params"]) != len(numbers):
        words = f"swapin_optim_state param group {place} has a different number of params than the live optimizer param group."
        raise _refused(words, f"it has {len(own['params'])}, {len(numbers)} are given")
    given_only, own_only = [key for key in group if key not in own], [key for key in own if key not in group]
    if given_only or own_only:
        raise _refused(
            f"{_NAME} requires optimizer.state_dict()-style param group keys to exactly match the live optimizer group keys for "
            f"group {place}. Keys only in swap-in: {given_only}. Keys only in live: {own_only}."
        )


def _refused(words, hint="give what optimizer.state_dict() of such an optimizer gives"):
    return RuntimeError(hinted(words, hint))
