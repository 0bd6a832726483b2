"""Datasets: the base classes, the ones that wrap tensors or other datasets, and random_split."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ...base.errors import hinted
from ...ops.table import functions
from ...random import Generator, default_generator
from ...tensor import Tensor
from .batch_read import batch_reader, interleave, select_rows

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A map from keys to samples (``torch.utils.data.Dataset``): define ``__getitem__``, and usually ``__len__``.

    Two optional methods read many samples at once:

    - ``__getitems__(indices) -> list of samples``: PyTorch's hook; the loader collates what it returns.
    - ``__getbatch__(indices) -> collated batch``, or ``NotImplemented``: Rushlight's. A DataLoader with the default
      ``collate_fn`` calls it with a non-empty ``list`` of ``int``. It must return what
      ``default_collate([self[i] for i in indices])`` would: same nesting, dtypes, shapes and numbers, in fresh memory,
      and with as many random numbers drawn, in the same order. Where it cannot (an index out of range, a transform
      that works sample by sample, ...) it returns ``NotImplemented`` before it has had any effect, and the samples
      are read one by one. It is used only if the class that defines it also defines the ``__getitem__`` in use, so a
      subclass that overrides ``__getitem__`` is read through its own method.

    >>> import rushlight as torch
    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 4
    ...
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4, 9])]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(
            hinted(
                "Subclasses of Dataset should implement __getitem__.",
                f"{type(self).__name__} defines no __getitem__(self, index); for a stream, derive from IterableDataset",
            )
        )

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples (``torch.utils.data.IterableDataset``): subclasses define ``__iter__``.

    With several workers each worker iterates its own copy: split the stream with ``get_worker_info()``.

    >>> import rushlight as torch
    >>> class Countdown(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    >>> list(torch.utils.data.DataLoader(Countdown(), batch_size=2))
    [tensor([3, 2]), tensor([1])]
    """

    def __add__(self, other: Dataset[T_co]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples are rows: ``dataset[i]`` is ``(t0[i], t1[i], ...)``. All tensors share their first size.

    Raises AssertionError when the first sizes differ. Batches of plain tensors are read with one ``index_select`` each.

    >>> import rushlight as torch
    >>> torch.utils.data.TensorDataset(torch.arange(3), torch.zeros(3, 2))[1]
    (tensor(1), tensor([0., 0.]))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            sizes = ", ".join(str(tensor.size(0)) for tensor in tensors)
            raise AssertionError(hinted("Size mismatch between tensors", f"their first sizes are {sizes}"))
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __getbatch__(self, indices: Any) -> Any:
        rows = np.array(indices)
        columns = []
        for tensor in self.tensors:
            column = select_rows(tensor, rows)
            if column is NotImplemented:
                return NotImplemented
            columns.append(column)
        return columns

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Datasets side by side: sample ``i`` holds each one's sample ``i``, in a tuple (``*args``) or dict (``**kwargs``).

    Raises ValueError without datasets, with both forms at once, or when the lengths differ.

    >>> import rushlight as torch
    >>> torch.utils.data.StackDataset(image=["a", "b"], label=[0, 1])[1]
    {'image': 'b', 'label': 1}
    """

    datasets: tuple | dict

    def __init__(self, *args: Dataset[T_co], **kwargs: Dataset[T_co]) -> None:
        if args and kwargs:
            raise ValueError(
                hinted(
                    "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but"
                    " both types are given.",
                    "pass all datasets by position, or all by name",
                )
            )
        datasets = args or tuple(kwargs.values())
        if not datasets:
            raise ValueError(hinted("At least one dataset should be passed", "StackDataset(images, labels)"))
        self._length = len(datasets[0])
        if any(len(dataset) != self._length for dataset in datasets):
            lengths = ", ".join(str(len(dataset)) for dataset in datasets)
            raise ValueError(hinted("Size mismatch between datasets", f"their lengths are {lengths}"))
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {key: dataset[index] for key, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[int]) -> Any:
        if isinstance(self.datasets, dict):
            columns = [_read_many(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*[_read_many(dataset, indices) for dataset in self.datasets]))

    def __getbatch__(self, indices: Any) -> Any:
        named = isinstance(self.datasets, dict)
        datasets: Any = self.datasets.values() if isinstance(self.datasets, dict) else self.datasets
        readers = [batch_reader(dataset) for dataset in datasets]
        if any(reader is None for reader in readers):
            return NotImplemented
        columns = [reader(indices) for reader in readers]
        if any(column is NotImplemented for column in columns):
            return NotImplemented
        return dict(zip(self.datasets, columns)) if named else columns

    def __len__(self) -> int:
        return self._length


def _read_many(dataset, indices):
    """The samples at ``indices``, through ``__getitems__`` where the dataset has one."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(
            hinted(
                f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}",
                f"{type(dataset).__name__}.__getitems__ must return one sample for each index",
            )
        )
    return items


class ConcatDataset(Dataset[T_co]):
    """Datasets end to end (also ``a + b``); negative indices count from the end.

    Raises AssertionError for an empty iterable and for IterableDatasets.

    >>> import rushlight as torch
    >>> joined = torch.utils.data.ConcatDataset([["a", "b"], ["c"]])
    >>> joined[2], len(joined), joined.cumulative_sizes
    ('c', 3, [2, 3])
    """

    datasets: list
    cumulative_sizes: list

    @staticmethod
    def cumsum(sequence: Any) -> Any:
        """Running totals of the lengths of ``sequence``'s members."""
        return list(itertools.accumulate(len(member) for member in sequence))

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError(hinted("datasets should not be an empty iterable", "pass at least one dataset"))
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError(
                hinted("ConcatDataset does not support IterableDataset", "ChainDataset puts streams end to end")
            )
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError(
                    hinted(
                        "absolute value of index should not exceed dataset length",
                        f"index {index}, length {len(self)}",
                    )
                )
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][index - start]

    def __getbatch__(self, indices: Any) -> Any:
        if min(indices) < 0 or max(indices) >= self.cumulative_sizes[-1]:
            return NotImplemented
        rows = np.array(indices)
        which = np.searchsorted(self.cumulative_sizes, rows, side="right")
        order = np.argsort(which, kind="stable")  # the batch, sorted by the dataset that a sample comes from
        rows = rows[order]
        parts, start = [], 0
        for number, count in enumerate(np.bincount(which).tolist()):
            if not count:
                continue
            reader = batch_reader(self.datasets[number])
            first = self.cumulative_sizes[number - 1] if number else 0
            part = NotImplemented if reader is None else reader((rows[start : start + count] - first).tolist())
            if part is NotImplemented:
                return NotImplemented
            parts.append(part)
            start += count
        return parts[0] if len(parts) == 1 else interleave(parts, np.argsort(order))

    @property
    def cummulative_sizes(self) -> Any:
        """PyTorch's old, misspelt name of ``cumulative_sizes``."""
        warnings.warn(
            "`cummulative_sizes` attribute is renamed to `cumulative_sizes`", category=FutureWarning, stacklevel=2
        )
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Streams one after the other (also ``a + b`` of IterableDatasets).

    Iterating, or taking ``len``, raises AssertionError when a member is not an IterableDataset.

    >>> import rushlight as torch
    >>> class Letters(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter("ab")
    >>> list(Letters() + Letters())
    ['a', 'b', 'a', 'b']
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        super().__init__()
        self.datasets = datasets

    def _checked(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(
                    hinted(
                        "ChainDataset only supports IterableDataset",
                        f"found a {type(dataset).__name__}; ConcatDataset joins datasets that are read by index",
                    )
                )
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())


class Subset(Dataset[T_co]):
    """The samples of ``dataset`` at ``indices``; ``subset[[0, 2]]`` reads several at once.

    >>> import rushlight as torch
    >>> torch.utils.data.Subset(["a", "b", "c"], [2, 0])[0]
    'c'
    """

    dataset: Dataset[T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list:
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__([self.indices[i] for i in indices])
        return [self.dataset[self.indices[i]] for i in indices]

    def __getbatch__(self, indices: Any) -> Any:
        reader = batch_reader(self.dataset)
        if reader is None or min(indices) < 0 or max(indices) >= len(self.indices):
            return NotImplemented
        chosen = [self.indices[i] for i in indices]
        return reader(chosen) if set(map(type, chosen)) == {int} else NotImplemented

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[T], lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[T]]:
    """Split ``dataset`` at random into disjoint Subsets (``torch.utils.data.random_split``).

    Args:
        dataset: what to split.
        lengths: sizes that sum to ``len(dataset)``, or fractions that sum to 1 (each rounded down, what is left over
            going to the first splits, one each).
        generator: draws the permutation; default: the default generator.

    Raises ValueError for a fraction outside [0, 1] or a wrong sum; warns about a fraction that yields an empty split.

    >>> import rushlight as torch
    >>> parts = torch.utils.data.random_split(range(10), [0.8, 0.2], generator=torch.Generator().manual_seed(42))
    >>> [len(part) for part in parts]
    [8, 2]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_of_fractions(len(dataset), lengths)
    if sum(lengths) != len(dataset):
        raise ValueError(
            hinted(
                "Sum of input lengths does not equal the length of the input dataset!",
                f"the lengths sum to {sum(lengths)}, the dataset has {len(dataset)} samples",
            )
        )
    order = functions.randperm(sum(lengths), generator=generator).tolist()
    return [Subset(dataset, order[end - length : end]) for length, end in zip(lengths, itertools.accumulate(lengths))]


def _lengths_of_fractions(total, fractions):
    lengths = []
    for position, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(hinted(f"Fraction at index {position} is not between 0 and 1", f"it is {fraction}"))
        lengths.append(math.floor(total * fraction))
    for extra in range(total - sum(lengths)):
        lengths[extra % len(lengths)] += 1
    for position, length in enumerate(lengths):
        if length == 0:
            warnings.warn(
                f"Length of split at index {position} is 0. This might result in an empty dataset.", stacklevel=3
            )
    return lengths
