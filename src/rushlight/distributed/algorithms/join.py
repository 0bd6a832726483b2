"""``torch.distributed.algorithms.join``: what trains together with different numbers of batches."""

from ...nn.parallel.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
