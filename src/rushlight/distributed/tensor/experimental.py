"""``torch.distributed.tensor.experimental``: plain tensors among DTensors."""

from ..later import LATER as _LATER
from .calls import implicit_replication

__all__ = ["implicit_replication"]
__getattr__ = _LATER.of("tensor.experimental")
