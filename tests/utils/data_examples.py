"""Datasets that the tests share; at module level, so that spawned workers can import them."""

import os
import random
import signal
import time
from pathlib import Path

import numpy as np

import rushlight as rl
from rushlight.utils import data


class Numbers(data.Dataset):
    """Sample ``i`` is ``i``."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return index


class Stream(data.IterableDataset):
    """``0, 1, ..., size - 1``, whole in every worker."""

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        return iter(range(self.size))


class MeasuredStream(Stream):
    """A stream that promises a length, right or wrong."""

    def __init__(self, size, promise):
        super().__init__(size)
        self.promise = promise

    def __len__(self):
        return self.promise


class UnevenStream(data.IterableDataset):
    """Two numbers from worker 0, six from every other one."""

    def __iter__(self):
        worker = data.get_worker_info().id
        return iter(range(worker * 100, worker * 100 + (6 if worker else 2)))


class Failing(Numbers):
    """Raises ``error`` at indices 2 and 5."""

    def __init__(self, error, size=8):
        super().__init__(size)
        self.error = error

    def __getitem__(self, index):
        if index in (2, 5):
            raise self.error
        return index


class TwoArguments(Exception):
    """Cannot be made from a message alone."""

    def __init__(self, first, second):
        super().__init__(first)


class MessageError(Exception):
    """Takes its message by keyword only."""

    message = "class-level default"

    def __init__(self, *, message):
        super().__init__(message)


class Dying(Numbers):
    """The worker that reads index 5 ends without a word."""

    def __init__(self, how, size=10):
        super().__init__(size)
        self.how = how

    def __getitem__(self, index):
        if index == 5:
            if self.how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "exit":
                os._exit(7)
            time.sleep(30)
        return index


class Report(data.Dataset):
    """What a worker sees: its info, its seeds, its first random numbers, its process."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = data.get_worker_info()
        return (
            info.id,
            info.num_workers,
            info.seed,
            rl.initial_seed(),
            rl.rand(1).item(),
            random.random(),
            np.random.rand(),
            os.getpid(),
        )


class Blocks(data.Dataset):
    """Sample ``i`` is a float32 tensor of ``shape`` filled with ``i``."""

    def __init__(self, size, shape):
        self.size = size
        self.shape = shape

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return rl.full(self.shape, float(index))


class Given(Numbers):
    """Every sample is what ``make(index)`` returns."""

    def __init__(self, make, size=3):
        super().__init__(size)
        self.make = make

    def __getitem__(self, index):
        return self.make(index)


class Unopenable:
    """Pickles, but does not unpickle."""

    def __reduce__(self):
        return refuse_to_open, ()


def refuse_to_open():
    raise OSError("cannot be opened here")


def slow_zero(index):
    """``index``, and a long time over the first one."""
    if index == 0:
        time.sleep(0.3)
    return index


def first(batch):
    """A collate_fn that unwraps batches of one."""
    return batch[0]


def note_worker(worker_id):
    """A worker_init_fn whose trace is NumPy's seed."""
    np.random.seed(1000 + worker_id)


def refuse(worker_id):
    """A worker_init_fn that fails."""
    raise LookupError(f"no work for {worker_id}")


def alive(pids):
    running = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            continue
        running.append((pid, state))
    return running


def working(pids):
    """Those of ``pids`` that still do something; an orphan that its new parent has not buried yet does not count."""
    return [pid for pid, state in alive(pids) if state != "Z"]
