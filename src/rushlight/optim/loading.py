"""Checks of dictionaries given to ``load_state_dict``: what is malformed is named before anything is taken over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.errors import hinted, missing_key
from ..tensor import Tensor

_FROM = "it has to be what state_dict() of such an object returned"


def check_groups(state_dict: Any) -> None:
    """Refuse what has no groups of the form that an optimizer's have: first lines are PyTorch's, hints name the key."""
    if not isinstance(state_dict, Mapping):
        kind = type(state_dict).__name__
        if isinstance(state_dict, (list, tuple)):
            raise TypeError(hinted(f"{kind} indices must be integers or slices, not str", f"got a {kind}; {_FROM}"))
        raise AttributeError(hinted(f"'{kind}' object has no attribute 'copy'", f"got a {kind}; {_FROM}"))
    groups = _entry(state_dict, "param_groups")
    _check_sized(groups, "'param_groups'", "a list of dictionaries")
    for index, group in enumerate(groups):
        if not isinstance(group, Mapping):
            raise TypeError(
                hinted(
                    f"'{type(group).__name__}' object is not subscriptable",
                    f"entry {index} of 'param_groups' has to be a dictionary, not {group!r:.60}",
                )
            )
        if "params" not in group:
            raise missing_key("params", f"group {index} of 'param_groups' has no list of its parameters' numbers")
        _check_sized(group["params"], f"'params' of group {index}", "a list of numbers")


def check_state(state_dict: Mapping) -> None:
    """Refuse what has no state of the form that an optimizer's has."""
    state = _entry(state_dict, "state")
    if not isinstance(state, Mapping):
        kind = type(state).__name__
        raise AttributeError(hinted(f"'{kind}' object has no attribute 'items'", "'state' has to be a dictionary"))
    for key, value in state.items():
        if not isinstance(value, (Mapping, list, tuple, Tensor)):
            kind = type(value).__name__
            hint = f"entry {key!r} of 'state' has to be a dictionary of what the optimizer keeps for that parameter"
            raise TypeError(hinted(f"object of type '{kind}' has no len()", hint))


def _entry(state_dict, key):
    if key not in state_dict:
        raise missing_key(key, f"the dictionary has the keys {sorted(map(str, state_dict))}; {_FROM}")
    return state_dict[key]


def _check_sized(value, what, wanted):
    if not hasattr(value, "__len__"):
        kind = type(value).__name__
        raise TypeError(hinted(f"object of type '{kind}' has no len()", f"{what} has to be {wanted}"))


def check_values(current: Mapping[str, Any], loaded: Mapping[str, Any], where: str, rows: tuple[str, ...] = ()) -> None:
    """Refuse loaded values that cannot stand where there is a number now, or a row of so many numbers.

    ``where`` says in messages whose they are. Rows called ``rows`` have as many entries as now, others may have more.
    """
    for name, value in loaded.items():
        now = current.get(name)
        if _is_number(now) and not _is_number(value):
            raise TypeError(
                hinted(
                    f"'{name}' of {where} has to be a number, not {type(value).__name__}",
                    f"it is {value!r:.60} in the dictionary; {_FROM}",
                )
            )
        if isinstance(now, (list, tuple)) and now and all(map(_is_number, now)):
            fits = isinstance(value, (list, tuple)) and all(map(_is_number, value))
            if not fits or ((isinstance(now, tuple) or name in rows) and len(value) != len(now)):
                raise ValueError(
                    hinted(
                        f"'{name}' of {where} has to be {len(now)} numbers, not {value!r:.60}",
                        f"{_FROM}; here it is {now!r:.60}",
                    )
                )


def _is_number(value):
    return isinstance(value, (int, float, Tensor)) and not isinstance(value, bool)


def check_scheduler_state(scheduler: Any, state_dict: Any, needed: tuple[str, ...] = ()) -> None:
    """Refuse what has not the form of the state of such a scheduler."""
    if not isinstance(state_dict, Mapping):
        kind = type(state_dict).__name__
        raise TypeError(hinted(f"'{kind}' object is not iterable", f"got {state_dict!r:.60}; {_FROM}"))
    name = type(scheduler).__name__
    for key in needed:
        if key not in state_dict:
            raise missing_key(key, f"a {name} keeps its parts under this key; {_FROM}")
        if not isinstance(state_dict[key], (list, tuple)) or len(state_dict[key]) != len(getattr(scheduler, key)):
            raise ValueError(
                hinted(
                    f"'{key}' of {name} has to be {len(getattr(scheduler, key))} entries, not {state_dict[key]!r:.60}",
                    f"one for each of this scheduler's; {_FROM}",
                )
            )
    check_values(vars(scheduler), state_dict, name, ("base_lrs", "_last_lr"))
