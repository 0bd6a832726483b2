"""Samplers: the order in which a loader reads indices, number for number as PyTorch draws it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Generic, TypeVar

from ...base import dtypes
from ...base.errors import hinted
from ...ops.table import functions
from ...random import Generator
from ...random import distributions as draw
from ...random.integers import fresh_seed

T_co = TypeVar("T_co", covariant=True)

_DRAWS_AT_ONCE = 32  # how many indices PyTorch's RandomSampler draws in one call with replacement


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


class Sampler(Generic[T_co]):
    """Base of samplers: ``__iter__`` yields indices (or batches of them); ``__len__`` is optional.

    >>> import rushlight as torch
    >>> class Evens(torch.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([0, 2])
    >>> list(torch.utils.data.DataLoader([5, 6, 7], sampler=Evens()))
    [tensor([5]), tensor([7])]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"\nhint: {type(self).__name__} defines no __iter__(self)")


class SequentialSampler(Sampler[int]):
    """``0, 1, ..., len(data_source) - 1``.

    >>> import rushlight as torch
    >>> list(torch.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices of ``data_source`` in random order.

    Args:
        data_source: what to sample from; only its length is used.
        replacement: draw each index independently instead of permuting.
        num_samples: how many to draw; default ``len(data_source)``. Beyond it, further permutations follow.
        generator: draws the order; default: a new one, seeded from the default generator at each iteration.

    Raises TypeError for a ``replacement`` that is no bool, ValueError for a ``num_samples`` that is no positive int.

    >>> import rushlight as torch
    >>> sampler = torch.utils.data.RandomSampler(range(10), generator=torch.Generator().manual_seed(0))
    >>> sorted(sampler) == list(range(10)), len(sampler)
    (True, 10)
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                hinted(
                    f"replacement should be a boolean value, but got replacement={replacement}", "pass True or False"
                )
            )
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(
                hinted(
                    f"num_samples should be a positive integer value, but got num_samples={self.num_samples}",
                    "the dataset is empty: there is nothing to shuffle" if num_samples is None else "pass 1 or more",
                )
            )

    @property
    def num_samples(self) -> int:
        """How many indices one iteration yields."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        return itertools.chain.from_iterable(self._draws())

    def _draws(self):
        """The indices, as a list for each draw."""
        size, wanted = len(self.data_source), self.num_samples
        own = self.generator is None
        # The one of the last iteration that came to its end: to make another takes as long as to draw 10,000 indices.
        generator = (
            (self.__dict__.pop("_idle", None) or Generator()).manual_seed(fresh_seed()) if own else self.generator
        )
        if self.replacement:
            for start in range(0, wanted, _DRAWS_AT_ONCE):
                count = min(_DRAWS_AT_ONCE, wanted - start)
                yield draw.randint(0, size, count, generator=generator).tolist()
        else:
            for _ in range(wanted // size):
                yield draw.randperm(size, generator=generator).tolist()
            if wanted % size or not own:
                # PyTorch draws this one even if nothing of it is needed, and the user's generator must move as far.
                yield draw.randperm(size, generator=generator).tolist()[: wanted % size]
        if own:
            self._idle = generator

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given ``indices`` in random order, without replacement.

    >>> import rushlight as torch
    >>> sorted(torch.utils.data.SubsetRandomSampler([3, 5, 8]))
    [3, 5, 8]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in draw.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``num_samples`` indices of ``[0, len(weights))``, drawn in proportion to ``weights`` (need not sum to one).

    Raises ValueError for a wrong ``num_samples`` or ``replacement``, or for weights that are not one-dimensional.

    >>> import rushlight as torch
    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Generator | None = None
    ) -> None:
        if not _is_count(num_samples):
            raise ValueError(
                hinted(
                    f"num_samples should be a positive integer value, but got num_samples={num_samples}",
                    "pass an int of 1 or more",
                )
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                hinted(
                    f"replacement should be a boolean value, but got replacement={replacement}", "pass True or False"
                )
            )
        weights = functions.as_tensor(weights, dtype=dtypes.float64)
        if weights.ndim != 1:
            raise ValueError(
                hinted(
                    f"weights should be a 1d sequence but given weights have shape {tuple(weights.shape)}",
                    "pass one weight for each index",
                )
            )
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = functions.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of ``batch_size`` indices taken from ``sampler``; ``drop_last`` leaves out a shorter last one.

    >>> import rushlight as torch
    >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not _is_count(batch_size):
            raise ValueError(
                hinted(
                    f"batch_size should be a positive integer value, but got batch_size={batch_size}",
                    "pass an int of 1 or more",
                )
            )
        if not isinstance(drop_last, bool):
            raise ValueError(
                hinted(f"drop_last should be a boolean value, but got drop_last={drop_last}", "pass True or False")
            )
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        size = self.batch_size
        while batch := list(itertools.islice(indices, size)):
            if self.drop_last and len(batch) < size:
                return
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole if self.drop_last or not rest else whole + 1
