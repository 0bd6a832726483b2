"""The group of all processes that train together, for rooms above ``distributed``: they ask here, and it says."""

from __future__ import annotations

from .errors import hinted

_find = None  # () -> the group


def use_process_group(find):
    """Let ``find()`` give the group of all processes from now on; None: there is none."""
    global _find
    _find = find


def is_initialized():
    """Whether there is a group."""
    return _find is not None


def process_group(way_out='init_process_group("gloo", ...) makes it'):
    """The group; ValueError, whose hint is ``way_out``, before there is one."""
    if _find is None:
        raise ValueError(
            hinted(
                "Default process group has not been initialized, please make sure to call init_process_group.", way_out
            )
        )
    return _find()
