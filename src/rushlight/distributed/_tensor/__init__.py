"""``torch.distributed._tensor``: the former name of `tensor`."""

from ..tensor import *  # noqa: F403
from . import device_mesh, placement_types
