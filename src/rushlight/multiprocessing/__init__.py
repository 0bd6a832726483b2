"""``torch.multiprocessing``: Python's own module; tensors that travel between processes lie in memory that both see."""

import multiprocessing as _multiprocessing
from multiprocessing import *

from ..base.errors import hinted as _hinted
from .reductions import init_reductions as _init_reductions
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    *_multiprocessing.__all__,
]

_strategies = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies():
    """The names of the ways in which tensors can be shared; Rushlight sends descriptors of files under either."""
    return _strategies


def get_sharing_strategy():
    """The name of the way in which tensors are shared."""
    return _strategy


def set_sharing_strategy(new_strategy):
    """Choose the name of the way in which tensors are shared."""
    global _strategy
    if new_strategy not in _strategies:
        raise AssertionError(
            _hinted(
                f"invalid sharing strategy {new_strategy!r}, expected one of {_strategies}",
                "either name stands for the one way that there is",
            )
        )
    _strategy = new_strategy


_init_reductions()
