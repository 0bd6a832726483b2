"""``torch.distributed.tensor.placement_types``: how a tensor lies on several processes."""

from ..later import LATER as _LATER
from ..placements import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

__getattr__ = _LATER.of("tensor.placement_types")
