"""The DataLoader: arguments, their checks, and the choice of sampler and iterator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ...base.errors import hinted
from ...random import Generator
from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .fetch import _DatasetKind
from .iterators import _BaseDataLoaderIter, _SingleProcessDataLoaderIter
from .parallel import _MultiProcessingDataLoaderIter
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .worker_info import get_worker_info

if TYPE_CHECKING:
    from ...utils.data.dataset import Dataset

_T = TypeVar("_T")
_collate_fn_t = Callable[[list[_T]], Any]  # libraries annotate with these
_worker_init_fn_t = Callable[[int], None]

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

_FIXED = frozenset(("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"))


class _InfiniteConstantSampler(Sampler):
    """Yields None for ever: the indices of a stream, which has none."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield None


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches (``torch.utils.data.DataLoader``).

    Args:
        dataset: something with ``__getitem__`` and (for the default samplers) ``__len__``, or an IterableDataset.
        batch_size: samples a batch; None turns batching off: ``collate_fn`` then gets single samples.
        shuffle: read in an order drawn anew every epoch.
        sampler: yields the indices instead (excludes ``shuffle``).
        batch_sampler: yields lists of indices (excludes ``batch_size``, ``shuffle``, ``sampler``, ``drop_last``).
        num_workers: how many processes read ahead; 0 reads in the calling process.
        collate_fn: makes a batch of a list of samples; default ``default_collate`` (``default_convert`` unbatched).
        pin_memory: accepted; without an accelerator it warns and does nothing, as in PyTorch.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a worker's batch; 0 waits as long as the worker lives.
        worker_init_fn: called in each worker with its number, after seeding and before reading.
        multiprocessing_context: a start method ("fork", "spawn", "forkserver") or a ``multiprocessing`` context.
        generator: draws the shuffle order and the workers' base seed; default: the default generator.
        prefetch_factor: batches that each worker reads ahead; default 2.
        persistent_workers: keep the workers from one epoch to the next.
        pin_memory_device: deprecated in PyTorch, ignored.
        in_order: False yields batches as workers finish them.

    Worker ``i`` seeds PyTorch's and Python's generators with ``base_seed + i``, and NumPy's from both numbers. An
    exception in a worker is raised here with the worker's traceback in its message. Wrong or contradictory arguments
    raise ValueError, or TypeError for a ``multiprocessing_context`` of the wrong type.

    With the default ``collate_fn``, a dataset that defines ``__getbatch__`` (see ``Dataset``) delivers a batch in one
    read; TensorDataset, and Subset, ConcatDataset and StackDataset over such datasets, do.

    >>> import rushlight as torch
    >>> data = torch.utils.data.TensorDataset(torch.arange(5), torch.arange(5) * 10)
    >>> for number, ten in torch.utils.data.DataLoader(data, batch_size=2):
    ...     print(number, ten)
    tensor([0, 1]) tensor([ 0, 10])
    tensor([2, 3]) tensor([20, 30])
    tensor([4]) tensor([40])
    """

    __initialized = False
    _iterator: _BaseDataLoaderIter | None = None
    _IterableDataset_len_called: int | None

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order

        if isinstance(dataset, IterableDataset):
            self._dataset_kind = _DatasetKind.Iterable
            _check_stream_options(shuffle, sampler, batch_sampler)
        else:
            self._dataset_kind = _DatasetKind.Map
            shuffle = bool(shuffle)
        _check_sampling_options(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = _default_sampler(dataset, self._dataset_kind, shuffle, generator)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called = None
        self._iterator = None
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(
                hinted(
                    f"{name} attribute should not be set after {type(self).__name__} is initialized",
                    f"make another {type(self).__name__} with the {name} that you want",
                )
            )
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """The ``multiprocessing`` context that starts the workers; None: Python's default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            context = _checked_context(context, self.num_workers)
        self.__multiprocessing_context = context

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        if self._iterator is None or not self._iterator.usable():
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # A stream's own len() is a promise that iteration holds it to: it warns when more comes out.
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        whole, rest = divmod(length, self.batch_size)
        return whole if self.drop_last or not rest else whole + 1

    def check_worker_number_rationality(self) -> None:
        """Warn when there are more workers than processors for them."""
        if not self.num_workers:
            return
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if available is not None and self.num_workers > available:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of"
                f" worker in current system is {available}, which is smaller than what this DataLoader is going to"
                " create. Please be aware that excessive worker creation might get DataLoader running slow or even"
                " freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _default_sampler(dataset, kind, shuffle, generator):
    if kind == _DatasetKind.Iterable:
        return _InfiniteConstantSampler()
    return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)


def _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(
            hinted(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
                f"num_workers={num_workers}",
            )
        )
    if timeout < 0:
        raise ValueError(hinted("timeout option should be non-negative", f"timeout={timeout}; 0 waits without limit"))
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            hinted(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable"
                " multiprocessing, otherwise set prefetch_factor to None.",
                "without workers nothing is read ahead",
            )
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError(hinted("prefetch_factor option should be non-negative", f"prefetch_factor={prefetch_factor}"))
    if persistent_workers and num_workers == 0:
        raise ValueError(
            hinted("persistent_workers option needs num_workers > 0", "leave it out, or set num_workers=1 or more")
        )


def _check_stream_options(shuffle, sampler, batch_sampler):
    for name, value, unset in (
        ("shuffle", shuffle, shuffle in (None, False)),
        ("sampler", sampler, sampler is None),
        ("batch_sampler", batch_sampler, batch_sampler is None),
    ):
        if not unset:
            raise ValueError(
                hinted(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}",
                    "a stream comes in its own order: shuffle or select inside the dataset's __iter__",
                )
            )


def _check_sampling_options(batch_size, shuffle, sampler, batch_sampler, drop_last):
    if sampler is not None and shuffle:
        raise ValueError(
            hinted(
                "sampler option is mutually exclusive with shuffle", "let the sampler draw the order, or leave it out"
            )
        )
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                hinted(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
                    "the batch_sampler alone decides which indices make a batch",
                )
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            hinted(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
                "without batches no batch can be incomplete",
            )
        )


def _checked_context(context, num_workers):
    import multiprocessing  # only loaders with workers pay for it

    if num_workers == 0:
        raise ValueError(
            hinted(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got"
                f" num_workers={num_workers}",
                "leave it out, or set num_workers=1 or more",
            )
        )
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                hinted(
                    f"multiprocessing_context option should specify a valid start method in {methods!r}, but got"
                    f" multiprocessing_context={context!r}",
                    "leave it out for Python's default",
                )
            )
        context = multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            hinted(
                "multiprocessing_context option should be a valid context object or a string specifying the start"
                f" method, but got multiprocessing_context={context}",
                "multiprocessing.get_context('spawn') makes one",
            )
        )
    return context
