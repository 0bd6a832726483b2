"""``torch.distributed.elastic.multiprocessing``: errors of processes that a launcher has started."""

from ...later import LATER as _LATER
from . import errors

__getattr__ = _LATER.of("elastic.multiprocessing")
