"""``torch.distributed.tensor._utils``: where a process's part lies in the whole."""

from __future__ import annotations

from typing import Any

from .parts import local_part


def compute_local_shape_and_global_offset(global_shape: Any, mesh: Any, placements: Any) -> tuple[Any, Any]:
    """(shape, offset) of this process's part of a tensor."""
    sizes, offsets = local_part(global_shape, mesh, tuple(placements))
    return tuple(sizes), tuple(offsets)
