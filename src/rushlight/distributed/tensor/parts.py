"""Parts: which elements of a tensor a process has, as shapes and offsets; and what a DTensor has in place of an array."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from ...base.device import strided
from ...base.errors import hinted
from ...base.layouts import PartedArray
from ..placements import CUTS, Placement, cut_order

Placements = tuple[Placement, ...]


def chunk(size: int, count: int, place: int) -> tuple[int, int]:
    """(length, offset) of the part number ``place`` of a dimension cut as ``torch.chunk`` cuts it."""
    full = -(-size // count)
    start = min(size, full * place)
    return min(full, size - start), start


def local_part(shape: Any, mesh: Any, placements: Placements, coordinate: Any = None) -> tuple[list[int], list[int]]:
    """(shape, offset) of the part that a process has: this one, unless ``coordinate`` names another."""
    sizes, offsets = list(shape), [0] * len(shape)
    where = mesh.get_coordinate() if coordinate is None else coordinate
    for mesh_dim in cut_order(placements):
        placement = placements[mesh_dim]
        if isinstance(placement, CUTS):
            dim = placement.dim
            length, start = chunk(sizes[dim], mesh.size(mesh_dim), where[mesh_dim])
            sizes[dim], offsets[dim] = length, offsets[dim] + start
    return sizes, offsets


def whole_shape(local: Any, mesh: Any, placements: Placements) -> tuple[int, ...]:
    """The shape of the whole, where all processes have parts of one size."""
    sizes = list(local)
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, CUTS):
            sizes[placement.dim] *= mesh.size(mesh_dim)
    return tuple(sizes)


def whole_strides(array: Any, shape: Any, mesh: Any, placements: Placements) -> tuple[int, ...]:
    """The strides, in elements, of the whole that would lie in memory as a part does."""
    own = [step // array.itemsize for step in array.strides]
    steps = list(own)
    for dim in {placement.dim for placement in placements if isinstance(placement, CUTS)}:
        parts, have = shape[dim], array.shape[dim]
        for other, step in enumerate(own):
            if other != dim and step >= own[dim] * max(have, 1) and have:
                steps[other] = steps[other] // have * parts if step % have == 0 else step
    return tuple(steps)


class _Flags(NamedTuple):
    """What composites ask to find short ways, of which there are none here."""

    c_contiguous: bool
    f_contiguous: bool


class ShardedArray(PartedArray):
    """The part ``values`` of a tensor of ``shape`` that lies on the processes of ``mesh`` as ``placements`` say."""

    flags = _Flags(False, False)
    layout = strided
    divided = True
    __slots__ = ("mesh", "placements", "shape", "steps")

    def __init__(self, values: Any, mesh: Any, placements: Placements, shape: Any, steps: Any = None) -> None:
        self.values, self.mesh, self.placements, self.shape = values, mesh, placements, tuple(shape)
        self.steps = whole_strides(values, self.shape, mesh, placements) if steps is None else tuple(steps)

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))
    nbytes = property(lambda self: self.size * self.itemsize)

    def __len__(self) -> int:
        return self.shape[0]

    def copied(self) -> ShardedArray:
        """The same in memory of its own."""
        return ShardedArray(self.values.copy(), self.mesh, self.placements, self.shape)

    def refused(self) -> Exception:
        """The error where an operation reads a part as if it were the whole."""
        message = "this operation does not take a DTensor: its elements are spread over processes"
        return NotImplementedError(hinted(message, "full_tensor() is all of it, to_local() the part of this process"))
