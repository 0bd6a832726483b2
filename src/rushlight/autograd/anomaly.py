"""Anomaly mode: each node remembers where the forward pass made it, and a NaN in backward names that place."""

from __future__ import annotations

import warnings
from typing import Any

from ..base.errors import hinted
from ..base.user_code import PACKAGE, user_place, written
from .hints import place_of
from .modes import OFF, SPECIAL, state


class detect_anomaly:
    """A context in which backward errors show the forward call that made the failing node, and NaN is an error.

    Follows ``torch.autograd.detect_anomaly(check_nan=True)``; slow, for debugging only.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._new = (True, check_nan)
        warnings.warn(
            hinted(
                "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
                "each operation now keeps its stack trace, and each gradient is searched for NaN; leave the context when done",
            ),
            stacklevel=2,
        )

    def __enter__(self) -> None:
        recording = SPECIAL if state.recording else OFF
        self._before = (state.anomaly, state.check_nan, state.recording)
        # In one row without calls, for Ctrl-C: modes.py.
        (state.anomaly, state.check_nan), state.recording = self._new, recording

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        state.anomaly, state.check_nan, state.recording = self._before
        state.update()


class set_detect_anomaly:
    """Anomaly mode on or off by a bool; acts at once as a function, and restores what was as a context."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (state.anomaly, state.check_nan, state.recording)
        state.anomaly, state.check_nan = bool(mode), check_nan
        state.update()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        state.anomaly, state.check_nan, state.recording = self._before
        state.update()


def is_anomaly_enabled() -> Any:
    """Whether anomaly mode is on in this thread."""
    return state.anomaly


def is_anomaly_check_nan_enabled() -> Any:
    """Whether anomaly mode also looks for NaN."""
    return state.check_nan


def note_forward(node: Any) -> None:
    """Let ``node`` remember the call that made it."""
    import traceback

    frames = traceback.extract_stack()
    while len(frames) > 1 and frames[-1].filename.startswith(PACKAGE):
        frames.pop()  # the call that the user wrote is the last one shown
    node.metadata["traceback_"] = frames.format()
    node.made_at = user_place()


def watched_apply(node: Any, grads: Any) -> Any:
    """Apply ``node`` as whoever watches this thread's nodes does."""
    return (state.run_node or checked_apply)(node, grads)


def checked_apply(node: Any, grads: Any) -> Any:
    """Apply ``node``; an error or a NaN among its results is reported with the forward call that made it."""
    try:
        found = node.apply(*grads)
    except Exception:
        _warn(node)
        raise
    if state.check_nan:
        for number, grad in enumerate(found):
            if grad is not None and grad.isnan().any():
                _warn(node)
                raise RuntimeError(
                    hinted(
                        f"Function '{node.name()}' returned nan values in its {number}th output.",
                        f"the derivative of the forward call at {_place(node)}: look at the values that went into it, for "
                        "example with rushlight.find_nonfinite()",
                    )
                )
    return found


def _place(node):
    location = place_of(node)
    return "an unknown place (it ran outside of detect_anomaly())" if location is None else written(location)


def _warn(node):
    made = node.metadata.get("traceback_")
    if made is None:
        warnings.warn(
            hinted(
                f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during forward pass "
                "for more information.",
                "the operation ran outside of detect_anomaly(): put the forward pass inside too",
            ),
            stacklevel=2,
        )
    else:
        warnings.warn(
            f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(made)}",
            stacklevel=2,
        )
