"""``torch.distributed.tensor.device_mesh``: the processes in a grid."""

from ..device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
