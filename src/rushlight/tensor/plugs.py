"""Composites and arrays of other rooms (`base.other_arrays`): what is written with other operations asks for such tensors first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.grafts import graft
from ..ops.table import functions


def let_ask(name: str, holds: Callable[[Any], bool], function: Callable[..., Any]) -> None:
    """Let a composite, in all the functions that it has, be ``function`` where ``holds`` finds something among its arguments."""
    plain = getattr(functions, name)

    def asking(plain: Any) -> Any:
        def call(args: Any, kwargs: Any) -> Any:
            return (function if holds(args) or holds(kwargs.values()) else plain)(*args, **kwargs)

        return call

    for each in (plain, *getattr(plain, "copies", ())):
        graft(each, asking)
