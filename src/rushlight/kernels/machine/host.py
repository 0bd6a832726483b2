"""Whether code can be generated here, and for what machine."""

from __future__ import annotations

import functools
import importlib
import os

MINIMUM_LLVMLITE = (0, 44)  # the first with LLJIT and opaque pointers


@functools.cache
def host():
    """The `llvm.Host`; None where llvmlite is missing or too old, or RUSHLIGHT_KERNELS=off leaves everything to NumPy.

    RUSHLIGHT_KERNELS=512 (256, 128) takes vectors of so many bits at most, and leaves tiles (and AVX-512) unused: the code
    that other CPUs run, for comparison.
    """
    wish = os.environ.get("RUSHLIGHT_KERNELS", "").lower()
    if wish in ("off", "0"):
        return None
    try:
        import llvmlite
    except ImportError:
        return None
    if tuple(int(part) for part in llvmlite.__version__.split(".")[:2]) < MINIMUM_LLVMLITE:
        return None
    # Not imported above: `import rushlight` asks for routes, not for machine code.
    llvm = importlib.import_module(".llvm", __package__)
    try:
        return llvm.Host(llvmlite.__version__, most_bits=int(wish) if wish in ("128", "256", "512") else None)
    except (ImportError, OSError):  # LLVM's library cannot be loaded
        return None


def lanes(scalar_size):
    """How many elements of so many bytes a vector of this machine holds."""
    return host().vector_bytes // scalar_size


def has_dots():
    """Whether this machine multiplies pairs of bfloat16 numbers: see `instructions.dot_of_pairs`."""
    return host().has_dots


def vector_registers():
    """How many vectors the registers of this machine hold."""
    return host().vector_registers
