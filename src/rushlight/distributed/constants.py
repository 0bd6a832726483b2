"""``torch.distributed.constants``: how long collectives wait."""

from datetime import timedelta

default_pg_timeout = timedelta(minutes=30)
default_pg_nccl_timeout = None  # a build for the CPU has no NCCL
