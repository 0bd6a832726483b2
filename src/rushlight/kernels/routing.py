"""Which kernel computes which operation: what dispatch asks when an operand has as many elements as its threshold.

A kernel takes what the operation's ``forward`` takes and returns what that returns, or NotImplemented where it has no
program for these dtypes, layouts or options; then NumPy computes. The modules with kernels are imported at the first
large call, and llvmlite with them: ``import rushlight`` pays for neither.
"""

from __future__ import annotations

import functools
import importlib

from . import thresholds
from .host import host

_kernels = {}  # operation -> function


def kernel_for(*names):
    """Register the decorated function as the kernel of the operations called ``names``."""

    def register(function):
        for name in names:
            if name in _kernels:
                raise ValueError(f"operation '{name}' has a kernel already: {_kernels[name].__module__}")
            _kernels[name] = function
        return function

    return register


@functools.cache
def kernel_of(name):
    """The kernel of an operation; None where generated kernels are off or missing."""
    if host() is None:
        return None
    importlib.import_module("." + thresholds.MODULE_OF[name], __package__)
    return _kernels[name]


def route(op):
    """(elements, function) of an operation: from so many elements of its first operand ``function`` stands for forward.

    Operations without a kernel get a threshold that no array reaches.
    """
    elements = thresholds.ELEMENTS.get(op.name)
    if elements is None:
        return NEVER, op.forward
    name, forward = op.name, op.forward

    def large(*arrays):
        kernel = kernel_of(name)
        if kernel is not None:
            found = kernel(*arrays)
            if found is not NotImplemented:
                return found
        return forward(*arrays)

    return elements, large


NEVER = 1 << 62
