"""Rows of arrays added to rows of others: by a generated kernel where there are many, else by NumPy."""

from __future__ import annotations

from ..kernels.routing import elements_of, kernel_of
from ..ops import index


def add_rows(target, rows, values):
    """Add ``values[i]`` to ``target[rows[i]]``, one after the other; ``target`` is contiguous, and rows are within it."""
    large = values.size >= elements_of("index_add_")
    if not large or kernel_of("index_add_")(target, 0, rows, values, 1) is NotImplemented:
        index.add_rows(target, rows, values)
