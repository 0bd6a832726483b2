"""How a tensor lies on several processes, as values: ``Shard``, ``Replicate``, ``Partial``. Libraries make them at import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MODULE = f"{__package__}.tensor.placement_types"  # where users find them


class Placement:
    """What the placements have in common."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process has a part along a dimension, along this one where one is given."""
        return False

    def is_replicate(self) -> bool:
        """Whether each process has all of it."""
        return False

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the parts that the processes have are to be combined, by this operation where one is given."""
        return False


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part along a dimension."""

    dim: int

    def is_shard(self, dim: int | None = None) -> bool:
        return dim is None or dim == self.dim

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True, repr=False)
class _StridedShard(Placement):
    """A part along a dimension that other dimensions of the mesh, behind this one, cut into ``split_factor`` parts first.

    Seen from this dimension of the mesh alone, it is made of as many pieces. `fully_shard` has it for parameters that
    `parallelize_module` has divided before.
    """

    dim: int
    split_factor: int

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has all of it."""

    def is_replicate(self) -> bool:
        return True

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """The processes' parts are to be combined by an operation."""

    reduce_op: str = "sum"

    def is_partial(self, reduce_op: str | None = None) -> bool:
        return reduce_op is None or reduce_op == self.reduce_op

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True, repr=False)
class _NormPartial(Partial):
    """The processes' parts are norms of parts: the norm of them is that of the whole."""

    norm_type: float = 2

    def __repr__(self) -> str:
        return f"_NormPartial({self.norm_type:g})"

    __str__ = __repr__


CUTS = (Shard, _StridedShard)  # placements with a dimension that is cut


def cut_order(placements: Sequence[Placement]) -> list[int]:
    """The dimensions of a mesh in the order in which they cut a tensor."""
    every = range(len(placements))
    late = [mesh_dim for mesh_dim in every if isinstance(placements[mesh_dim], _StridedShard)]
    return [mesh_dim for mesh_dim in every if mesh_dim not in late] + late[::-1]


BY_NAME: dict[str, type] = {
    each.__name__: each for each in (Placement, Shard, _StridedShard, Replicate, Partial, _NormPartial)
}
for _each in BY_NAME.values():
    _each.__module__ = MODULE
