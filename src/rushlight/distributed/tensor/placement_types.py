"""``torch.distributed.tensor.placement_types``: how a tensor lies on several processes."""

from ..placements import Partial, Placement, Replicate, Shard, _StridedShard

__all__ = ["Partial", "Placement", "Replicate", "Shard", "_StridedShard"]
