"""``torch.distributed._tensor``: the former name of `tensor`."""

from ..tensor import *
from . import device_mesh, placement_types
