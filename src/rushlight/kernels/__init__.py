"""Generated machine code: loop programs, their compiler, the kernels written in them, threads and the cache on disk.

``rushlight.kernels.show(function, *arguments)`` prints what a call runs.
"""

from __future__ import annotations

import importlib

_LAZY = {
    **dict.fromkeys(("show", "watching"), "compiler.showing"),
    "Builder": "language.builder",
    "Program": "language.program",
    "interpret": "language.interpret",
}


def __getattr__(name):
    if name in _LAZY:
        return getattr(importlib.import_module("." + _LAZY[name], __name__), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
