"""nn.parallel: DataParallel, which without several devices is the module itself."""

from .data_parallel import DataParallel

__all__ = ["DataParallel"]
