"""Ctrl-C at every moment of loading, and workers killed at any: the loader reads its next epoch whole, and nobody stays behind."""

import gc
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from data_examples import Numbers, alive, working

import rushlight as rl
from interrupts import interrupted, of_package
from rushlight.utils.data import DataLoader, Dataset

EXAMPLES = int(os.environ.get("RUSHLIGHT_EXAMPLES", "300"))
WHOLE = [[0, 1], [2, 3], [4, 5], [6, 7], [8]]


def rows(loader):
    return [batch.tolist() for batch in loader]


def loading(frame, followed):
    return of_package(frame, followed) and "utils/data" in frame.f_code.co_filename.replace(os.sep, "/")


def at_places(run, most):
    """Interrupt ``run()`` at about ``most`` of its places; yields after each."""
    end = 16
    while interrupted(run, end, loading):
        yield end
        end *= 2
    for number in range(1, end, max(1, end // most)):
        if not interrupted(run, number, loading):
            break
        yield number


def interrupted_epochs(most):
    """The workers that were, and those that are left, of a persistent loader that is interrupted again and again."""
    loader, seen = DataLoader(Numbers(9), 2, num_workers=2, persistent_workers=True), set()

    def two_batches():
        iterator = iter(loader)
        seen.update(worker.pid for worker in iterator._workers)
        next(iterator), next(iterator)

    assert rows(loader) == WHOLE
    for number in at_places(two_batches, most):
        assert rows(loader) == WHOLE, number
    now = {worker.pid for worker in loader._iterator._workers}
    assert working(seen - now) == []
    return seen, now


@pytest.mark.parametrize("most", [12, pytest.param(400, marks=pytest.mark.slow)])
def test_a_persistent_loader_survives_interrupts(most):
    seen, now = interrupted_epochs(most)
    gc.collect()
    assert len(seen) > 2 and alive(now) == []


def test_an_iterator_goes_on_or_says_that_it_cannot():
    def some(iterator):
        return lambda: found.append(next(iterator).tolist())

    loader, went_on, ended = DataLoader(Numbers(9), 2, num_workers=1), 0, 0
    for number in range(1, 200, 9):
        iterator, found = iter(loader), []
        error = interrupted(some(iterator), number, loading)
        try:
            found += rows(iterator)
        except RuntimeError as refused:
            assert str(refused).startswith("DataLoader worker (pid(s) ") and "an interrupt" in str(refused)
            ended += 1
        else:
            assert found == WHOLE, number
            went_on += 1
        if not error:
            break
    assert went_on and ended


GROUP = """
import os, signal, sys, threading
sys.path[:0] = {paths!r}
from data_examples import Numbers
from rushlight.utils.data import DataLoader
loader = DataLoader(Numbers(40), 2, num_workers=2, persistent_workers=True)
whole = [batch.tolist() for batch in loader]
for number in range(6):
    try:
        threading.Timer(0.002 * (number + 1), os.killpg, (0, signal.SIGINT)).start()
        while True:
            for batch in loader:
                pass
    except KeyboardInterrupt:
        pass
    assert [batch.tolist() for batch in loader] == whole
print(*[worker.pid for worker in loader._iterator._workers])
"""


def test_ctrl_c_of_a_terminal_reaches_all_processes():
    here = Path(__file__).parent
    script = GROUP.format(paths=[str(here)])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, start_new_session=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert working(int(pid) for pid in done.stdout.split()) == []


class Restless(Dataset):
    """Large samples, so that workers die while they write to a slot or a pipe, too."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        return rl.full((30_000,), float(index))


@pytest.mark.parametrize("rounds", [6, pytest.param(EXAMPLES // 5, marks=pytest.mark.slow)])
def test_workers_killed_at_any_moment(rounds):
    moments = random.Random(7)
    loader = DataLoader(Restless(), 2, num_workers=2, persistent_workers=True)
    seen, descriptors = set(), []
    for _ in range(rounds):
        iterator = iter(loader)
        pids = [worker.pid for worker in iterator._workers]
        seen.update(pids)
        end = time.monotonic() + moments.uniform(0, 0.02)
        try:
            while time.monotonic() < end:
                next(iterator, None)
            os.kill(moments.choice(pids), signal.SIGKILL)
            for _ in range(1000):
                for _ in iter(loader):
                    pass
                if pids != [worker.pid for worker in loader._iterator._workers]:
                    break
        except RuntimeError as error:
            assert str(error).startswith("DataLoader worker (pid(s) ") and "SIGKILL" in str(error)
        assert [batch[:, 0].tolist() for batch in loader] == [[float(i), float(i + 1)] for i in range(0, 24, 2)]
        gc.collect()
        descriptors.append(len(os.listdir("/proc/self/fd")))
    now = [worker.pid for worker in loader._iterator._workers]
    assert working(seen - set(now)) == []
    assert max(descriptors) - descriptors[0] < 2 * 2 * 16  # slots come with use; nothing else may grow


class Ending(Numbers):
    """Ends the worker in the midst of the third sample, as ``how`` says."""

    def __init__(self, how):
        super().__init__(8)
        self.how = how

    def __getitem__(self, index):
        if index == 2:
            self.how()
        return index


def in_collate(samples):
    os.kill(os.getpid(), signal.SIGKILL)


def out_of_memory():
    raise MemoryError


ENDINGS = {
    "sys.exit": (lambda: sys.exit(3), RuntimeError, "exited with code 3"),
    "sys.exit()": (lambda: sys.exit(), RuntimeError, "exited with code 0"),
    "os._exit": (lambda: os._exit(5), RuntimeError, "exited with code 5"),
    "abort": (lambda: (signal.signal(signal.SIGABRT, signal.SIG_DFL) and None) or os.abort(), RuntimeError, "SIGABRT"),
    "terminated": (lambda: os.kill(os.getpid(), signal.SIGTERM), RuntimeError, "SIGTERM"),
    "killed": (lambda: os.kill(os.getpid(), signal.SIGKILL), RuntimeError, "SIGKILL"),
    "MemoryError": (out_of_memory, MemoryError, "Caught MemoryError in DataLoader worker process"),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ENDINGS)
def test_endings_of_workers_are_told(name, workers):
    how, kind, words = ENDINGS[name]
    iterator = iter(DataLoader(Ending(how), num_workers=workers))
    pids = [worker.pid for worker in iterator._workers]
    with pytest.raises(kind, match=words):
        list(iterator)
    del iterator
    gc.collect()
    assert working(pids) == []


def test_a_worker_killed_in_collate():
    with pytest.raises(RuntimeError, match="SIGKILL"):
        list(DataLoader(Numbers(8), 2, num_workers=2, collate_fn=in_collate))
