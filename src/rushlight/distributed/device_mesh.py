"""``torch.distributed.device_mesh``: processes in a grid, with a group for each row of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..base.dtypes import int32
from ..base.errors import hinted
from ..ops.table import functions
from .groups import GroupMember, default_group, init_process_group, is_initialized, new_group


class DeviceMesh:
    """Processes in a grid: ``mesh`` holds their ranks; each line along a dimension is a process group.

    Args:
        device_type: "cpu".
        mesh: ranks, as a tensor or nested lists; all processes call this with the same.
        mesh_dim_names: a name for each dimension.
    """

    def __init__(self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None) -> None:
        if device_type != "cpu":
            raise RuntimeError(hinted(f"Could not find device type {device_type}", 'there is one: "cpu"'))
        ranks = np.array(mesh.tolist() if hasattr(mesh, "tolist") else mesh)
        if not is_initialized():
            init_process_group()
        self.device_type, self.mesh_dim_names = device_type, mesh_dim_names
        self.mesh = functions.tensor(ranks.tolist(), dtype=int32)
        self._rank = default_group().rank()
        found = np.argwhere(ranks == self._rank)
        self._coordinate = tuple(found[0].tolist()) if len(found) else None
        self._groups = [self._line_group(ranks, dim) for dim in range(ranks.ndim)]

    @staticmethod
    def _line_group(ranks: np.ndarray, dim: int) -> Any:
        """The group of this process along a dimension; those of all lines are made, in the same order everywhere."""
        own = None
        for line in np.moveaxis(ranks, dim, -1).reshape(-1, ranks.shape[dim]).tolist():
            made = new_group(line, sort_ranks=False)
            own = own if made == GroupMember.NON_GROUP_MEMBER else made
        return own

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
        strides = tuple(() if size == 1 < self.ndim else step for size, step in zip(self.shape, self.mesh.stride()))
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
    ranks = np.arange(math.prod(mesh_shape)).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
