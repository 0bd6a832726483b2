"""``torch.distributed.nn``: collectives that autograd sees."""

from ..later import LATER as _LATER
from . import functional
from .functional import (
    all_gather,
    all_reduce,
    all_to_all,
    all_to_all_single,
    broadcast,
    gather,
    reduce,
    reduce_scatter,
    scatter,
)

__getattr__ = _LATER.of("nn")
