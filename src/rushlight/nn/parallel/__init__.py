"""nn.parallel: DataParallel, which without several devices is the module itself."""

from .data_parallel import DataParallel
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
