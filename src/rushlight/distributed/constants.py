"""``torch.distributed.constants``: how long collectives wait."""

from datetime import timedelta

default_pg_nccl_timeout = timedelta(minutes=10)
