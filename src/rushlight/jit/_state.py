"""Whether `script` and `trace` make anything (``PYTORCH_JIT=0`` says no), and whether a trace is at work in this thread."""

from __future__ import annotations

import os
import threading
import warnings

from ..base.notes import note_once

_NOTE = "there is no TorchScript here: what torch.jit.script and torch.jit.trace make runs the Python it was made of"


class EnabledProxy:
    """A switch."""

    def __init__(self):
        self.enabled = os.environ.get("PYTORCH_JIT", "1") == "1"

    def __bool__(self):
        return self.enabled


class _Tracing(threading.local):
    depth = 0


_enabled, tracing = EnabledProxy(), _Tracing()


def enable():
    """Let `script` and `trace` make something."""
    _enabled.enabled = True


def disable():
    """Let `script` and `trace` hand back what they are given."""
    _enabled.enabled = False


def made():
    """Say, once, what scripted and traced things are here."""
    note_once(_NOTE)


def deprecated(name, instead="Please switch to `torch.compile` or `torch.export`."):
    """The warning of PyTorch for a function of this room; from here, as there from PyTorch's, so that it is mostly not shown."""
    warnings.warn(f"`torch.jit.{name}` is deprecated. {instead}", DeprecationWarning, stacklevel=1)


def traced(function, args, kwargs):
    """A call during which ``is_tracing()`` is True."""
    before = tracing.depth
    try:
        tracing.depth = before + 1
        return function(*args, **kwargs)
    finally:
        tracing.depth = before
