"""``torch.distributed.tensor``: tensors whose parts are spread over processes, and modules of them."""

from ..device_mesh import DeviceMesh, init_device_mesh
from ..placements import Partial, Placement, Replicate, Shard
from . import composites, device_mesh, experimental, parallel, placement_types
from .creation import distribute_module, distribute_tensor, empty, full, ones, rand, randn, zeros
from .dtensor import DTensor

__all__ = [
    "DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "distribute_module", "distribute_tensor", "empty",
    "full", "init_device_mesh", "ones", "rand", "randn", "zeros",
]  # fmt: skip

DTensor.__module__ = __name__
