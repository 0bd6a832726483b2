"""What runs in a worker process: take tasks, fetch batches, send them back."""

from __future__ import annotations

import os
import random
import signal
import threading
import traceback
from queue import SimpleQueue

import numpy as np

from ...base import settings
from ...base.errors import Verbatim
from ...random import manual_seed
from .fetch import _DatasetKind
from .transport import BatchSender
from .worker_info import WorkerInfo, set_worker_info

RESUME = "resume"  # a task that begins another epoch
BATCH, STREAM_END, FAILED = range(3)  # what an answer carries
_PARENT_CHECK = 5.0  # seconds between looks at whether the loader's process still lives


def _generate_state(base_seed, worker_id):
    """Four numbers that NumPy's generator in a worker starts from."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()


class CaughtError:
    """An exception of a worker, as text, to be raised again in the loader's process."""

    def __init__(self, error, worker_id):
        kind = type(error)
        report = "".join(traceback.format_exception(kind, error, error.__traceback__))
        self.kind = kind
        self.message = f"Caught {kind.__name__} in DataLoader worker process {worker_id}.\nOriginal {report}"

    def reraise(self):
        """Raise the same type, the worker's traceback in its message; RuntimeError if the type takes no message."""
        if self.kind is KeyError:
            raise KeyError(Verbatim(self.message))
        try:
            takes_message = getattr(self.kind, "message", None)
            error = self.kind(message=self.message) if takes_message else self.kind(self.message)
        except Exception:  # the type wants other arguments
            error = RuntimeError(self.message)
        raise error from None


def worker_loop(task_connection, result_connection, inherited, worker_id, options):
    """The life of a worker process. ``inherited`` are the loader's ends of pipes, which a fork has copied."""
    settings.set_num_threads(1)  # the workers are the threads
    # Ctrl-C in a terminal or a notebook reaches all processes: what becomes of the workers is for the loader's to decide. A
    # function, for programs that the dataset starts would inherit SIG_IGN.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    for connection in inherited:
        connection.close()
    sender = BatchSender(result_connection)
    tasks = SimpleQueue()
    reader = threading.Thread(target=_read_tasks, args=(task_connection, tasks), daemon=True)
    try:
        fetching = _Fetching(worker_id, options)
        reader.start()
        while (task := tasks.get()) is not None:
            if task == RESUME:
                fetching.begin()
                continue
            epoch, number, indices, released = task
            sender.release(released)
            if not fetching.ended:
                kind, payload = fetching.answer(indices)
                _send(sender, epoch, number, kind, payload, worker_id)
                del payload
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        return  # the loader is going, or has gone, and reports what there is to report


def _read_tasks(connection, tasks):
    """Move tasks from the pipe to the queue, so that the loader never waits for a busy worker to read."""
    parent = os.getppid()
    try:
        while True:
            while not connection.poll(_PARENT_CHECK):
                if os.getppid() != parent:
                    return
            task = connection.recv()
            tasks.put(task)
            if task is None:
                return
    except (EOFError, OSError):
        return  # the loader's process has closed its end
    finally:
        tasks.put(None)


def _send(sender, epoch, number, kind, payload, worker_id):
    try:
        sender.send((epoch, number, kind, payload))
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # the batch, or the type of its exception, cannot be pickled
        failure = payload if kind == FAILED else CaughtError(error, worker_id)
        if failure.kind.__module__ not in ("builtins", "_pickle"):
            failure.kind = RuntimeError
        sender.send((epoch, number, FAILED, failure))


class _Fetching:
    """A worker's dataset and fetcher, seeded and initialised."""

    def __init__(self, worker_id, options):
        self.worker_id = worker_id
        self.options = options
        self.failure = None
        seed = options.base_seed + worker_id
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(_generate_state(options.base_seed, worker_id))
        set_worker_info(WorkerInfo(worker_id, options.num_workers, seed, options.dataset))
        try:
            if options.init_fn is not None:
                options.init_fn(worker_id)
        except Exception as error:
            self.failure = CaughtError(error, worker_id)
        self.begin()

    def begin(self):
        """Begin an epoch: a stream starts again."""
        self.ended = False
        if self.failure is not None:
            return
        options = self.options
        try:
            self.fetcher = _DatasetKind.create_fetcher(
                options.kind, options.dataset, options.auto_collation, options.collate_fn, options.drop_last
            )
        except Exception as error:
            self.failure = CaughtError(error, self.worker_id)

    def answer(self, indices):
        """What to send for ``indices``: a kind of answer and what it carries."""
        if self.failure is not None:
            return FAILED, self.failure
        try:
            return BATCH, self.fetcher.fetch(indices)
        except Exception as error:
            if isinstance(error, StopIteration) and self.options.kind == _DatasetKind.Iterable:
                self.ended = True
                return STREAM_END, None
            return FAILED, CaughtError(error, self.worker_id)


class WorkerOptions:
    """What every worker of one loader is told."""

    def __init__(self, kind, dataset, auto_collation, collate_fn, drop_last, base_seed, init_fn, num_workers):
        self.kind = kind
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last
        self.base_seed = base_seed
        self.init_fn = init_fn
        self.num_workers = num_workers
