"""``torch.distributed._composable``: a former place of `fsdp.fully_shard`."""

from . import fsdp

fully_shard = fsdp.fully_shard
