"""The table of translations, and the decorator that fills it.

A translation gets the builder and the values of all arguments of the operation, in the order of its schema: `Value`s in place of
tensors, ints or `Value`s of shape (1,) for sizes. It returns the result, or a tuple where there are several, with None for those that
ONNX cannot say. ``builder.step`` is the node; ``result(builder)`` is what it looks like.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..builder import Builder

TRANSLATIONS: dict[str, Callable[..., Any]] = {}


def translation(*names: str) -> Callable[[Any], Any]:
    """Let a function translate the operations with these names."""

    def register(function: Any) -> Any:
        for name in names:
            TRANSLATIONS[name] = function
        return function

    return register


def dtype_of(meta: dict[str, Any]) -> np.dtype[Any]:
    """NumPy's dtype of a value that a node has told of."""
    return np.dtype(meta["val"].dtype.numpy)


def result_dtype(b: Builder) -> np.dtype[Any]:
    """The dtype of the only result of the step at hand."""
    return dtype_of(b.step.meta)


def wrapped(dim: int, rank: int) -> int:
    """A dimension counted from the front."""
    return dim % rank if rank else 0
