"""``torch.distributed.tensor.placement_types``: how a tensor lies on several processes."""

from ..placements import Partial, Placement, Replicate, Shard, _NormPartial, _StridedShard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
