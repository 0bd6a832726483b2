"""DistributedSampler: the share of a dataset that one of several training processes reads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...base.errors import hinted
from ...base.process_group import process_group
from ...ops.table import functions
from ...random import Generator
from .sampler import Sampler

if TYPE_CHECKING:
    from ...utils.data.dataset import Dataset


def _world_and_rank():
    group = process_group("or pass num_replicas= and rank= to DistributedSampler")
    return group.size(), group.rank()


class DistributedSampler(Sampler):
    """Every ``num_replicas``-th index, from ``rank`` on (``torch.utils.data.distributed.DistributedSampler``).

    Args:
        dataset: only its length is used.
        num_replicas: how many processes share the dataset; default: the process group's world size.
        rank: which of them this is; default: the process group's rank.
        shuffle: permute with ``seed + epoch``, so that all processes agree; call ``set_epoch`` before each epoch.
        seed: must be the same in all processes.
        drop_last: cut the tail so that all shares are equal; otherwise indices from the start are repeated.

    >>> import rushlight as torch
    >>> sampler = torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False)
    >>> list(sampler)
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None:
            num_replicas = _world_and_rank()[0]
        if rank is None:
            rank = _world_and_rank()[1]
        if not 0 <= rank < num_replicas:
            raise ValueError(
                hinted(
                    f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]",
                    f"num_replicas={num_replicas}",
                )
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        self.num_samples = math.ceil(
            (size - num_replicas) / num_replicas if drop_last and size % num_replicas else size / num_replicas
        )
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = functions.randperm(size, generator=generator).tolist()
        else:
            indices = list(range(size))
        if not self.drop_last:
            missing = self.total_size - size
            indices += (indices * math.ceil(missing / size))[:missing] if missing > size else indices[:missing]
        else:
            indices = indices[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Make the next iteration use another order: call it with the epoch's number before iterating."""
        self.epoch = epoch
