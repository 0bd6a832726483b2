"""Parameters that are divided among processes (`distributed.tensor`): each process updates its part, and keeps the state of that."""

from __future__ import annotations

from typing import Any

from ..base.layouts import LAYOUT_PLUGS
from ..ops.table import functions
from ..tensor import Tensor


def is_divided(tensor: Any) -> bool:
    """Whether a tensor is there, and this process has a part of it."""
    return getattr(getattr(tensor, "_array", None), "divided", False)


def holds_divided(group: dict[str, Any]) -> bool:
    """Whether a parameter of a group is divided."""
    return bool(LAYOUT_PLUGS) and any(is_divided(param) for param in group["params"])


def part(tensor: Any) -> Any:
    """This process's part of a tensor, in the same memory; what is not divided as it is."""
    return functions.wrap(tensor._array.values) if is_divided(tensor) else tensor


def gradient_part(param: Tensor) -> Any:
    """The part of a parameter's gradient that belongs to the parameter's, however the gradient lies."""
    return part(functions.lying_as(param._grad, param)) if is_divided(param) else param._grad
