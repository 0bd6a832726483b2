"""Fetchers: from the indices of a batch to the batch."""

from __future__ import annotations

from .batch_read import batch_reader
from .collate import collates_plainly

_ONLY_INTS = {int}


class MapFetcher:
    """Reads a dataset by index: in one ``__getbatch__`` where the result is the same, else sample by sample."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.reader = batch_reader(dataset) if auto_collation and collates_plainly(collate_fn) else None

    def fetch(self, indices):
        """The batch at ``indices`` (one sample's index without automatic batching)."""
        if self.reader is not None and type(indices) is list and set(map(type, indices)) == _ONLY_INTS:
            batch = self.reader(indices)
            if batch is not NotImplemented:
                return batch
        if not self.auto_collation:
            samples = self.dataset[indices]
        elif getattr(self.dataset, "__getitems__", None):
            samples = self.dataset.__getitems__(indices)
        else:
            samples = [self.dataset[index] for index in indices]
        return self.collate_fn(samples)


class IterableFetcher:
    """Takes a stream's samples in turn; the indices only say how many. Raises StopIteration at the end."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.stream = iter(dataset)
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.ended = False

    def fetch(self, indices):
        """The next batch, one sample for each of ``indices`` (the next sample without automatic batching)."""
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.stream))
        samples = []
        for _ in indices:
            try:
                samples.append(next(self.stream))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < len(indices)):
            raise StopIteration
        return self.collate_fn(samples)


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        """The fetcher for a dataset of this kind."""
        fetcher = MapFetcher if kind == _DatasetKind.Map else IterableFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)
