"""``parallelize_module``: the layers of a module, each in its style."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from typing import Any

from ....base.errors import hinted
from ....nn import Module
from ...device_mesh import DeviceMesh, default_mesh
from .style import ParallelStyle


def parallelize_module(
    module: Module, device_mesh: DeviceMesh | None = None, parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None, *,
    src_data_rank: int | None = 0,
) -> Module:  # fmt: skip
    """Divide a module, or layers in it, among processes; in place.

    Args:
        module (Module): all processes have it.
        device_mesh (DeviceMesh): one dimension of processes. Default: all of them
        parallelize_plan: a style for the module, or for submodules by their names, in which ``*`` and ``?`` stand for letters.
        src_data_rank: whose parameters count; None: each process's own. Default: 0

    Follows ``torch.distributed.tensor.parallel.parallelize_module``.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> from rushlight.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> layer = parallelize_module(torch.nn.Linear(2, 4), mesh, ColwiseParallel())
    >>> layer.weight.placements
    (Shard(dim=0),)
    >>> dist.destroy_process_group()
    """
    mesh = default_mesh() if device_mesh is None else device_mesh
    if mesh.ndim != 1:
        message = f"Tensor Parallel only accepts a 1D DeviceMesh, but found {mesh.ndim}D!"
        raise ValueError(hinted(message, 'mesh["tp"] is one dimension of a mesh with names'))
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment.", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        message = f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, {type(parallelize_plan)} found!"
        raise TypeError(hinted(message, "a style, or names with their styles"))
    for path, style in parallelize_plan.items():
        for each in _matching(module, path.split(".") if path else []):
            parallelize_module(each, mesh, style, src_data_rank=src_data_rank)
    return module


def _matching(module: Module, names: list[str]) -> list[Any]:
    """The submodules at a path of patterns."""
    found = [module]
    for name in names:
        found = [child for each in found for own, child in each.named_children() if fnmatch(own, name)]
    if not found:
        warnings.warn(
            f"Parallelize plan key '{'.'.join(names)}' could not be resolved: no submodule matching token", stacklevel=3
        )
    return found
