"""nn.parallel: modules over several devices or processes, of which there is one here."""

from .data_parallel import DataParallel
from .distributed import DistributedDataParallel
from .scatter_gather import data_parallel, gather, parallel_apply, replicate, scatter

__all__ = [
    "DataParallel",
    "DistributedDataParallel",
    "data_parallel",
    "gather",
    "parallel_apply",
    "replicate",
    "scatter",
]
