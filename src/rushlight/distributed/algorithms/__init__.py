"""``torch.distributed.algorithms``: uneven inputs and communication hooks."""

from .join import Join, Joinable, JoinHook
