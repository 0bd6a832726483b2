"""``torch.jit.fuser`` and other switches of TorchScript's optimiser: kept without effect."""

import warnings as _warnings

from ..base.contexts import contextmanager as _contextmanager
from ..base.errors import hinted as _hinted
from ._script import refused as _refused
from ._state import deprecated as _deprecated

_FUSERS = ("fuser0", "fuser1", "fuser2", "fuser3")
_values = {"strategy": [("STATIC", 2), ("DYNAMIC", 10)], "onednn": False}


@_contextmanager
def optimized_execution(should_optimize):
    """A block with or without TorchScript's optimiser: without effect."""
    yield


@_contextmanager
def fuser(name):
    """A block with one of TorchScript's fusers: without effect."""
    if name not in _FUSERS:
        raise Exception(_hinted(f"unrecognized fuser option (name: {name})", f"one of {', '.join(_FUSERS)}"))
    yield


class strict_fusion:
    """A block whose operations TorchScript would have to fuse: without effect."""

    def __init__(self):
        _warnings.warn("Only works in script mode", stacklevel=2)

    def __enter__(self):
        return None

    def __exit__(self, *error):
        return None


def set_fusion_strategy(strategy):
    """Set how TorchScript would fuse, ``[("STATIC", 2), ("DYNAMIC", 10)]``: kept without effect. Returns what was set before."""
    _deprecated("set_fusion_strategy", "Please use `torch.compile` instead.")
    if not isinstance(strategy, (list, tuple)):
        raise TypeError(
            _hinted(
                "_jit_set_fusion_strategy(): incompatible function arguments. The following argument types are supported:",
                'a list such as [("STATIC", 2), ("DYNAMIC", 10)]',
            )
        )
    for kind, _ in strategy:
        if kind not in ("STATIC", "DYNAMIC"):
            raise ValueError(
                _hinted(
                    f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {kind}", "one of the two, and a depth"
                )
            )
    before, _values["strategy"] = _values["strategy"], list(strategy)
    return before


def enable_onednn_fusion(enabled):
    """Set whether TorchScript would fuse with oneDNN: kept without effect."""
    _values["onednn"] = bool(enabled)


def onednn_fusion_enabled():
    """What `enable_onednn_fusion` was given."""
    return _values["onednn"]


def last_executed_optimized_graph():
    """Refused: there is no TorchScript."""
    raise _refused("last_executed_optimized_graph", "there is no TorchScript here")
