"""What all loader iterators share, and the iterator that reads in the calling process."""

from __future__ import annotations

import warnings

from ...base.errors import hinted
from ...random.integers import fresh_seed
from .fetch import _DatasetKind


class _BaseDataLoaderIter:
    def __init__(self, loader):
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._persistent_workers = loader.persistent_workers
        self._pin_memory = False
        if loader.pin_memory:
            _warn_not_pinned(loader.pin_memory_device)
        # The sampler comes first and the seed second, because a sampler may draw when iter() is called on it.
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = fresh_seed(loader.generator)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _reset(self, loader):
        """Begin another epoch."""
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_data(self):
        raise NotImplementedError

    def __iter__(self):
        return self

    def __next__(self):
        data = self._next_data()
        self._num_yielded += 1
        reported = self._IterableDataset_len_called
        if reported is not None and self._num_yielded > reported and self._dataset_kind == _DatasetKind.Iterable:
            self._warn_too_many(reported)
        return data

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)

    def _warn_too_many(self, reported):
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {reported}(when accessing len(dataloader)), "
            f"but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(message, stacklevel=3)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader):
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError(
                hinted(
                    "_SingleProcessDataLoaderIter requires timeout == 0",
                    f"timeout={self._timeout} waits for worker processes: set num_workers, or leave timeout out",
                )
            )
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )
        self._fetch = self._dataset_fetcher.fetch

    def _next_data(self):
        return self._fetch(next(self._sampler_iter))


def _warn_not_pinned(device):
    if device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{device}'.",
            stacklevel=5,
        )
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=5,
    )
