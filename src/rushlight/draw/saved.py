"""What one node keeps for backward: names, shapes, dtypes and bytes."""

from __future__ import annotations

import numpy as np

from rushlight.autograd.holdings import saved_values
from rushlight.autograd.node import Freed
from rushlight.base import dtypes


class Saved:
    """A tensor (or index array) that a node keeps, under the name its rule gives it; ``source`` says whose it is."""

    __slots__ = ("array", "bytes", "dtype", "name", "shape", "source", "tensor")

    def __init__(self, name, value, source):
        self.name, self.source = name, source
        self.tensor = None if isinstance(value, np.ndarray) else value
        self.array = value if isinstance(value, np.ndarray) else value._array
        self.shape, self.bytes = tuple(self.array.shape), self.array.size * self.array.itemsize
        self.dtype = dtypes.from_numpy(self.array.dtype).name


def saved_by(node):
    """The `Saved` of a node, in the order of its rules' names; nothing where backward has freed them."""
    return [
        Saved(name, value, "its own result" if name.startswith("result") else "") for name, value in saved_values(node)
    ]


def is_freed(node):
    """Whether a backward call has freed what `node` kept."""
    return isinstance(node.saved, Freed) and _keeps_tensors(getattr(node, "inner", node))


def _keeps_tensors(node):
    """Whether nodes like this one keep anything that backward frees."""
    plan = getattr(node, "plan", None)
    return plan.keeps_tensors if plan is not None else any(getattr(node, "keeps", (not hasattr(node, "op"),)))
