"""nn.parallel: DataParallel, which without several devices is the module itself."""

from .data_parallel import DataParallel
from .distributed import DistributedDataParallel
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "gather", "scatter"]
