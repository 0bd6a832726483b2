"""Which function computes which operation: the modules of the families enter theirs when they are imported."""

from __future__ import annotations

KERNELS = {}  # operation -> function


def kernel_for(*names):
    """Register the decorated function as the kernel of the operations called ``names``."""

    def register(function):
        for name in names:
            if name in KERNELS:
                raise ValueError(f"operation '{name}' has a kernel already: {KERNELS[name].__module__}")
            KERNELS[name] = function
        return function

    return register
