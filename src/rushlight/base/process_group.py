"""The group of all processes that train together: rooms above ``distributed`` ask for it here."""

from __future__ import annotations

from typing import Any

from .errors import hinted

_world: Any = None


def set_world(group: Any) -> None:
    """Make this the group of all processes; None: there is none."""
    global _world
    _world = group


def world() -> Any:
    """The group; None before there is one."""
    return _world


def is_initialized() -> bool:
    """Whether there is a group."""
    return _world is not None


def process_group(way_out: str = 'init_process_group("gloo", ...) makes it') -> Any:
    """The group; ValueError, whose hint is ``way_out``, before there is one."""
    if _world is None:
        message = "Default process group has not been initialized, please make sure to call init_process_group."
        raise ValueError(hinted(message, way_out))
    return _world
