"""``torch.distributed.optim``: optimizers whose state is spread over processes."""

from ..later import LATER as _LATER
from .zero_redundancy_optimizer import ZeroRedundancyOptimizer

__getattr__ = _LATER.of("optim")
