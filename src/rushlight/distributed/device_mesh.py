"""``torch.distributed.device_mesh``: processes in a grid, with a group for each row of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.dtypes import int32
from ..base.errors import hinted
from ..ops.table import functions
from .groups import (
    GroupMember,
    default_group,
    get_process_group_ranks,
    init_process_group,
    is_initialized,
    new_group,
)

_entered: list[DeviceMesh] = []  # meshes whose ``with`` block runs, the innermost last


def _line_group(ranks: np.ndarray, dim: int) -> Any:
    """The group of this process along a dimension; those of all lines are made, in the same order everywhere."""
    return _own_of(np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]).tolist())


def _own_of(lines: list[list[int]]) -> Any:
    """The group of this process among those of some lists of ranks, all of which are made."""
    own = None
    for line in lines:
        made = new_group(line, sort_ranks=False)
        own = own if made == GroupMember.NON_GROUP_MEMBER else made
    return own


class DeviceMesh:
    """Processes in a grid: ``mesh`` holds their ranks; each line along a dimension is a process group.

    ``mesh["name"]`` and ``mesh["first", "second"]`` are grids of some dimensions: the line or plane through this process.

    Args:
        device_type: "cpu".
        mesh: ranks, as a tensor or nested lists; all processes call this with the same.
        mesh_dim_names: a name for each dimension.

    Follows ``torch.distributed.device_mesh.DeviceMesh``.
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None) -> None:
        if device_type != "cpu":
            raise RuntimeError(hinted(f"Could not find device type {device_type}", 'there is one: "cpu"'))
        ranks = np.array(mesh.tolist() if hasattr(mesh, "tolist") else mesh)
        if not is_initialized():
            init_process_group()
        world = default_group()
        if ranks.size > world.size():
            message = f"Mesh should not be bigger than default world size {world.size()}, but found {ranks.size} ranks!"
            raise RuntimeError(hinted(message, "start more processes, or make a smaller mesh"))
        self._hold(device_type, ranks, mesh_dim_names, [_line_group(ranks, dim) for dim in range(ranks.ndim)])

    def _hold(
        self, device_type: str, ranks: np.ndarray, names: Any, groups: list[Any], root: DeviceMesh | None = None, steps: Any = None
    ) -> None:  # fmt: skip
        self.device_type, self.mesh_dim_names = device_type, None if names is None else tuple(names)
        self.mesh = functions.tensor(ranks.tolist(), dtype=int32)
        self._rank, self._groups, self._root = default_group().rank(), groups, root
        self._steps = tuple(self.mesh.stride()) if steps is None else tuple(steps)
        self._flattened: dict[str, DeviceMesh] = {}
        found = np.argwhere(ranks == self._rank)
        self._coordinate = tuple(found[0].tolist()) if len(found) else None

    @classmethod
    def _of(cls, *parts: Any) -> DeviceMesh:
        made = cls.__new__(cls)
        made._hold(*parts)
        return made

    @classmethod
    def from_group(
        cls, group: Any, device_type: str, mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> DeviceMesh:
        """The grid of a process group, or of one group for each dimension of ``mesh``."""
        if not isinstance(group, (list, tuple)):
            ranks = np.array(get_process_group_ranks(group))
            return cls._of(device_type, ranks, mesh_dim_names, [group])
        if mesh is None:
            message = "Must pass mesh if passing multiple ProcessGroups"
            raise ValueError(hinted(message, "the ranks of all processes in a grid"))
        ranks = np.array(mesh.tolist() if hasattr(mesh, "tolist") else mesh)
        if ranks.ndim != len(group):
            message = f"Expects mesh with ndim equal to number of ProcessGroups but got mesh {ranks.tolist()} and {len(group)} ProcessGroups"
            raise ValueError(hinted(message, "one group for each dimension"))
        return cls._of(device_type, ranks, mesh_dim_names, list(group))

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        if self.mesh_dim_names is None:
            raise RuntimeError(
                hinted("Cannot slice a DeviceMesh without mesh_dim_names!", "init_device_mesh gives names")
            )
        wanted = (names,) if isinstance(names, str) else tuple(names)
        if len(wanted) == 1 and wanted[0] in self._flattened:
            return self._flattened[wanted[0]]
        if any(each not in self.mesh_dim_names for each in wanted):
            message = (
                f"Invalid mesh_dim_names {wanted} specified. Valid mesh_dim_names are "
                f"{[*self.mesh_dim_names, *self._flattened]}."
            )
            raise KeyError(message)
        dims = [self.mesh_dim_names.index(each) for each in wanted]
        if dims != sorted(set(dims)):
            raise KeyError(f"Invalid mesh_dim_names {wanted} specified. Mesh dim indices should be in ascending order.")
        if wanted == self.mesh_dim_names:
            return self
        others = tuple(0 if self._coordinate is None else each for each in self._coordinate or (0,) * self.ndim)
        key = tuple(slice(None) if dim in dims else others[dim] for dim in range(self.ndim))
        ranks, groups = np.array(self.mesh.tolist())[key], [self._groups[dim] for dim in dims]
        steps = [self._steps[dim] for dim in dims]
        return DeviceMesh._of(self.device_type, ranks, wanted, groups, self._get_root_mesh(), steps)

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """One dimension of all these processes, found by its name from now on; all processes of the whole grid call this."""
        names = self.mesh_dim_names or ()
        name = "_".join(names) if mesh_dim_name is None else mesh_dim_name
        root = self._get_root_mesh()
        if name not in root._flattened:
            if self.ndim == 1:
                made = DeviceMesh._of(
                    self.device_type, np.array(self.mesh.tolist()), (name,), self._groups, root, self._steps
                )
            else:
                own = (
                    [(root.mesh_dim_names or ()).index(each) for each in names]
                    if self is not root
                    else range(self.ndim)
                )
                ranks = np.array(root.mesh.tolist())
                last = np.moveaxis(ranks, list(own), range(ranks.ndim - len(own), ranks.ndim))
                lines = last.reshape(-1, self.size())
                group = _own_of(lines.tolist())
                line = next((each for each in lines if self._rank in each), lines[0])
                made = DeviceMesh._of(self.device_type, line, (name,), [group], root, self._steps[-1:])
            root._flattened[name] = made
        return root._flattened[name]

    def _get_root_mesh(self) -> DeviceMesh:
        return self if self._root is None else self._root

    def _get_mesh_dim_by_name(self, name: str) -> int:
        return self._dim(name)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._identity() == other._identity())

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> Any:
        return self.device_type, tuple(self.mesh.flatten().tolist()), self.shape, self.mesh_dim_names

    def __enter__(self) -> DeviceMesh:
        global _entered
        _entered = [*_entered, self]  # no call: after one Ctrl-C may come, and nobody would leave what was entered
        return self

    def __exit__(self, *error: Any) -> None:
        global _entered
        _entered = _entered[:-1]

    def _dim(self, dim: int | str | None) -> int:
        if dim is None:
            if len(self._groups) > 1:
                message = (
                    f"Found the DeviceMesh have {len(self._groups)} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                    "If you want to get the list of all the ProcessGroups in the DeviceMesh,please use `get_all_groups()` instead.",
                )
                raise RuntimeError(hinted(str(message), "say which dimension"))
            return 0
        if isinstance(dim, str):
            if dim not in (self.mesh_dim_names or ()):
                message = (
                    f"Mesh dimension '{dim}' does not exist.",
                    f"Available mesh dimensions are: mesh_dim_names={self.mesh_dim_names}",
                )
                raise KeyError(*message)
            return (self.mesh_dim_names or ()).index(dim)
        return dim

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """The process group along a dimension, by number or name."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """The process group along each dimension."""
        return list(self._groups)

    def get_rank(self) -> int:
        """The number of this process among all."""
        return self._rank

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The number of this process along a dimension."""
        return self.get_group(mesh_dim).rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Where this process is in the grid; None: nowhere."""
        return self._coordinate

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes the grid has, or a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim]

    @property
    def ndim(self) -> int:
        """How many dimensions the grid has."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return tuple(self.mesh.shape)

    def __repr__(self) -> str:
        sizes = [f"{name}={size}" for name, size in zip(self.mesh_dim_names, self.shape)] if self.mesh_dim_names else []
        text = f"({', '.join(sizes)})" if sizes else str(self.shape)
        strides = tuple(() if size == 1 < self.ndim else step for size, step in zip(self.shape, self._steps))
        return f"DeviceMesh({text}, '{self.device_type}', stride={strides})"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None
) -> DeviceMesh:
    """A grid of the first processes, row by row.

    >>> import rushlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.init_device_mesh("cpu", (1,)).get_group().size()
    1
    >>> dist.destroy_process_group()
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) < len(mesh_dim_names):
            message = (
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
            raise RuntimeError(hinted(message, "each dimension has its own name"))
        if len(mesh_shape) != len(mesh_dim_names):
            message = (
                "mesh_shape and mesh_dim_names should have same length! "
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
            raise RuntimeError(hinted(message, "one name for each dimension"))
    if device_type != device_type.partition(":")[0]:
        message = (
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
        raise RuntimeError(hinted(str(message), 'there is one: "cpu"'))
    ranks = np.arange(math.prod(mesh_shape)).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)


def concatenated(first: DeviceMesh, second: DeviceMesh) -> DeviceMesh:
    """The grid of the dimensions of two, which are parts of one grid with names."""
    root = first._get_root_mesh()
    if root is not second._get_root_mesh():
        message = "Cannot concatenate DeviceMeshes derived from different device meshs"
        raise RuntimeError(hinted(message, 'both are parts of one: mesh["dp"], mesh["tp"]'))
    return root[*(first.mesh_dim_names or ()), *(second.mesh_dim_names or ())]


def default_mesh() -> DeviceMesh:
    """The mesh whose ``with`` block runs; one of all processes, where there is none."""
    if _entered:
        return _entered[-1]
    return DeviceMesh("cpu", list(range(default_group().size())))
