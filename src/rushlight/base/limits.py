"""Arrays that are too large, or may not grow: PyTorch's errors for what NumPy refuses in words of its own."""

from __future__ import annotations

import math

import numpy as np

from .errors import hinted

LARGEST_WORD = (1 << 63) - 1  # of sizes, strides and addresses


def no_memory(nbytes):
    """The error where the system has no more memory."""
    return RuntimeError(
        hinted(
            "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
            f"{nbytes} bytes. Error code 12 (Cannot allocate memory)",
            "smaller batches, a narrower dtype, or sizes that are what was meant",
        )
    )


def too_much_memory(shape, strides=None):
    """The error for sizes (and strides, in elements) that would take 2**63 bytes or more."""
    behind = "" if strides is None else f" and strides={list(strides)}"
    return RuntimeError(
        hinted(
            f"Storage size calculation overflowed with sizes={list(shape)}{behind}",
            "sizes and strides are 0 or more, and memory ends before 2**63 bytes; a length of 0 does not excuse the other ones",
        )
    )


def too_many_elements(shape):
    """The error for a view of 2**63 bytes or more, on however little memory."""
    return RuntimeError(
        hinted(
            "numel: integer multiplication overflow", f"the lengths {list(shape)} multiply to more than a view can have"
        )
    )


def not_resizable():
    """The error where memory that belongs to somebody else would have to grow."""
    return RuntimeError(
        hinted(
            "Trying to resize storage that is not resizable",
            "NumPy, or whoever else looks at this memory, would keep the old one: give a tensor that is large enough, or clone() it",
        )
    )


def refusal_of(error):
    """What an error of NumPy's that speaks of too large an array is in PyTorch's words; other errors as they are."""
    if isinstance(error, MemoryError):
        shape, dtype = getattr(error, "shape", ()), getattr(error, "dtype", None)
        return error if dtype is None else no_memory(math.prod(shape) * np.dtype(dtype).itemsize)
    if str(error).startswith(("array is too big", "Maximum allowed dimension exceeded", "maximum supported dimension")):
        return RuntimeError(
            hinted("numel: integer multiplication overflow", "the result would have 2**63 bytes or more")
        )
    if isinstance(error, OverflowError) and str(error).startswith("Python int too large"):
        return ValueError(hinted("Overflow when unpacking long long", "sizes, dimensions and steps have 64 bits"))
    return error
