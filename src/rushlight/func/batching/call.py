"""What a batching rule gets and gives, and where rules are registered.

A rule gets a `Call` and returns what the operation gives, each result with the batch as its first dimension. It runs below
the level of the vmap, on the values inside the batched tensors, which have the batch first.
"""

from __future__ import annotations

from ...ops.table import INPLACE
from ..entries import shown
from ..levels import LevelTensor

RULES = {}


def rule(*names):
    """Register the batching rule of the operations with these names."""

    def register(function):
        for name in names:
            if name in RULES:
                raise ValueError(f"the operation {name} has a batching rule already")
            RULES[name] = function
        return function

    return register


class Call:
    """One call of an operation inside vmap.

    ``values`` are the arguments as the function gave them; ``inside`` has batched tensors replaced by their values;
    ``again(inside)`` makes the call below; ``size`` is the number of entries.
    """

    def __init__(self, level, op, schema, values, again):
        self.level, self.op, self.schema, self.values, self.again = level, op, schema, values, again
        self.size = level.size
        self.inside = level.unwrapped(values)

    def run(self, /, **changes):
        """The operation below, with the arguments inside but for the ``changes``, by their names."""
        values = self.inside.copy()
        for name, value in changes.items():
            values[self.schema.index[name]] = value
        return self.again(values)

    def given(self, name):
        """An argument as the function gave it, by its name."""
        return self.values[self.schema.index[name]]

    def is_batched(self, name):
        """Whether an argument has a batch dimension."""
        return self.level.owns(self.given(name))

    def batched(self, name):
        """An argument's tensor with the batch first, repeated by a view where it has none; None where it is None."""
        value = self.given(name)
        return None if value is None else self.level.batch(value)

    def check_entry(self):
        """Let the operation refuse the first entry, where the batch would hide what is wrong with it."""
        arrays = [shown(value._array) if hasattr(value, "_edge") else value for value in self.values]
        if self.op.kind == INPLACE:
            arrays[0] = arrays[0].copy()
        self.op.forward(*arrays)

    def tensors(self):
        """The names of the arguments that are tensors here, in order."""
        return [
            a.name for a, value in zip(self.schema.arguments, self.values) if a.is_tensor and hasattr(value, "_edge")
        ]


def each(found, function):
    """``function`` of the result of an operation, or of each of its results."""
    return tuple([function(part) for part in found]) if found.__class__ in (tuple, list) else function(found)


def folded(tensor):
    """(batch, N, ...) as (batch * N, ...)."""
    return tensor.reshape(tensor.shape[0] * tensor.shape[1], *tensor.shape[2:])


def unfolded(tensor, size):
    """(batch * N, ...) as (batch, N, ...)."""
    return split(tensor, 0, size)


def merged(tensor, dim):
    """The batch, first, folded into dimension ``dim``, counted without the batch: it is the slower one there."""
    moved = tensor.movedim(0, dim)
    shape = moved.shape
    return moved.reshape(*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :])


def split(tensor, dim, size):
    """The reverse of `merged`: dimension ``dim`` split into batch and rest, the batch first."""
    shape = tensor.shape
    length = shape[dim] // size if size else 0
    found = tensor.reshape(*shape[:dim], size, length, *shape[dim + 1 :])
    return found.movedim(dim, 0) if dim else found


def aligned(tensor, ndim):
    """A batch of tensors with ``ndim`` dimensions behind the batch: ones are put in after it."""
    missing = ndim - (tensor.dim() - 1)
    return tensor.reshape(tensor.shape[0], *[1] * missing, *tensor.shape[1:]) if missing > 0 else tensor


def positions_of(index):
    """An index of ``x[index]`` as it is below a level: an array, or a tensor of another vmap."""
    return index.index_values() if isinstance(index, LevelTensor) else index._array


def numbers(tensor):
    """The elements of all entries at all levels, as an array: for checks."""
    return tensor.elements() if isinstance(tensor, LevelTensor) else tensor._array
