"""``torch.distributed.tensor.parallel``: layers whose weights are divided among processes."""

from ...later import LATER as _LATER
from .api import parallelize_module
from .style import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    PrepareModuleInputOutput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
)

__getattr__ = _LATER.of("tensor.parallel")
