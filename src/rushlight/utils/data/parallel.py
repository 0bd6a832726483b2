"""The iterator over worker processes: hands out indices ahead of time and keeps batches in order."""

from __future__ import annotations

from ...base.errors import hinted
from .iterators import _BaseDataLoaderIter
from .pool import WorkerPool
from .worker import FAILED, RESUME, STREAM_END, WorkerOptions


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Worker ``number % num_workers`` reads batch ``number``, at most ``prefetch_factor`` batches a worker ahead."""

    def __init__(self, loader):
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError(
                hinted(
                    "prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter",
                    f"prefetch_factor={loader.prefetch_factor}; leave it out for 2",
                )
            )
        import multiprocessing  # only loaders with workers pay for it

        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._epoch = 0
        options = WorkerOptions(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            self._base_seed,
            loader.worker_init_fn,
            self._num_workers,
        )
        self._pool = WorkerPool(loader.multiprocessing_context or multiprocessing.get_context(), options)
        self._begin(loader)

    @property
    def _workers(self):
        return self._pool.processes

    def usable(self):
        """Whether the workers can read another epoch: none has died, and no interrupt broke into a talk with them."""
        return self._pool.usable()

    def _reset(self, loader):
        for worker in range(self._num_workers):
            self._pool.send(worker, RESUME)
        self._begin(loader)

    def _begin(self, loader):
        super()._reset(loader)
        self._epoch += 1  # answers to an epoch that was left early are recognised by it
        self._sent = 0
        self._next_worker = 0
        self._owners = {}  # number of an outstanding batch -> its worker, in the order of the numbers
        self._load = [0] * self._num_workers
        self._active = [True] * self._num_workers
        for _ in range(self._prefetch_factor * self._num_workers):
            self._dispatch()
        del self._pool.open_talks[:]

    def _dispatch(self):
        """Give the next indices to the next worker whose turn it is."""
        try:
            indices = next(self._sampler_iter)
        except StopIteration:
            return
        except Exception:  # the sampler's own, which may go on
            del self._pool.open_talks[:]
            raise
        for _ in range(self._num_workers):
            worker = self._next_worker
            self._next_worker = (worker + 1) % self._num_workers
            if self._active[worker] and (self._in_order or self._load[worker] <= min(self._busy_loads())):
                break
        else:
            return
        self._pool.send(worker, (self._epoch, self._sent, indices, self._pool.released(worker)))
        self._owners[self._sent] = worker
        self._load[worker] += 1
        self._sent += 1

    def _busy_loads(self):
        return [load for load, active in zip(self._load, self._active) if active]

    def _next_data(self):
        while True:
            expected = self._expected_workers()
            if not expected:
                if not self._persistent_workers:
                    self._pool.stop()
                raise StopIteration
            worker, (epoch, number, kind, payload) = self._pool.receive(expected, self._timeout)
            if epoch != self._epoch:
                del self._pool.open_talks[:]
                continue
            if kind == STREAM_END:
                self._active[worker] = False
                self._dispatch()
                del self._pool.open_talks[:]
                continue
            del self._owners[number]
            self._load[worker] -= 1
            self._dispatch()
            if kind == FAILED:
                del self._pool.open_talks[:]
                payload.reraise()
            del self._pool.open_talks[:]  # no call, after which Ctrl-C could come: the batch would be lost unnoticed
            return payload

    def _expected_workers(self):
        """The workers that may answer next: with ``in_order``, the one that owes the first outstanding batch."""
        for number, worker in list(self._owners.items()):
            if not self._active[worker]:
                del self._owners[number]  # its stream has ended; this batch will not come
            elif self._in_order:
                return [worker]
        return list(set(self._owners.values()))
