"""Worker processes: order, seeds, exceptions, death, persistence, clean endings."""

import gc
import os
import subprocess
import sys
import time
from itertools import chain
from pathlib import Path

import pytest
from data_examples import (
    Dying,
    Failing,
    Given,
    MeasuredStream,
    MessageError,
    Numbers,
    Report,
    Stream,
    TwoArguments,
    UnevenStream,
    Unopenable,
    alive,
    first,
    note_worker,
    refuse,
    slow_zero,
    working,
)

import rushlight as rl
from rushlight.utils import data
from rushlight.utils.data import DataLoader


def rows(loader):
    return [batch.tolist() for batch in loader]


def test_order_is_kept():
    assert rows(DataLoader(Numbers(11), 2, num_workers=2)) == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10]]
    assert sorted(chain.from_iterable(rows(DataLoader(Numbers(11), 2, num_workers=2, in_order=False)))) == list(
        range(11)
    )


def test_the_same_batches_as_without_workers():
    def epochs(workers):
        rl.manual_seed(5)
        loader = DataLoader(data.TensorDataset(rl.arange(30)), 4, shuffle=True, num_workers=workers)
        return [[batch[0].tolist() for batch in loader] for _ in range(2)], rl.rand(1).item()

    assert epochs(0) == epochs(2)


def test_spawned_workers():
    dataset = data.TensorDataset(rl.arange(6), rl.rand(6, 2))
    loader = DataLoader(dataset, 4, num_workers=1, multiprocessing_context="spawn", worker_init_fn=note_worker)
    numbers, values = zip(*loader)
    assert [batch.tolist() for batch in numbers] == [[0, 1, 2, 3], [4, 5]]
    assert rl.equal(rl.cat(values), dataset.tensors[1])


def test_streams():
    assert rows(DataLoader(Stream(3), 2, num_workers=1)) == [[0, 1], [2]]
    loader = DataLoader(UnevenStream(), 2, num_workers=2)
    assert rows(loader) == [[0, 1], [100, 101], [102, 103], [104, 105]]
    assert rows(DataLoader(UnevenStream(), 4, num_workers=2, drop_last=True)) == [[100, 101, 102, 103]]
    promised = DataLoader(MeasuredStream(2, 3), num_workers=2)
    assert len(promised) == 3
    with pytest.warns(UserWarning, match="properly configuring the IterableDataset replica at each worker"):
        assert len(rows(promised)) == 4


def test_seeds_and_info():
    rl.manual_seed(0)
    loader = DataLoader(Report(), 1, num_workers=2, collate_fn=first)
    reports = list(loader)
    base = reports[0][2]
    for index, (worker, workers, seed, initial, *_) in enumerate(reports):
        assert (worker, workers, seed, initial) == (index % 2, 2, base + index % 2, base + index % 2)
    assert len({report[4:7] for report in reports}) == 4
    rl.manual_seed(0)
    assert [report[:7] for report in loader] == [report[:7] for report in reports]
    again = list(loader)
    assert again[0][2] != base and {report[7] for report in again}.isdisjoint(report[7] for report in reports)


def test_persistent_workers_stay():
    loader = DataLoader(Report(), 1, num_workers=2, collate_fn=first, persistent_workers=True)
    first_epoch, second_epoch = list(loader), list(loader)
    assert [report[7] for report in first_epoch] == [report[7] for report in second_epoch]
    assert iter(loader) is iter(loader)
    next(iter(loader))
    assert len(list(loader)) == 4
    streams = DataLoader(UnevenStream(), 2, num_workers=2, persistent_workers=True)
    next(iter(streams))
    assert rows(streams) == rows(streams) == [[0, 1], [100, 101], [102, 103], [104, 105]]


def test_worker_init_fn():
    loader = DataLoader(Report(), 1, num_workers=2, collate_fn=first, worker_init_fn=note_worker)
    again = DataLoader(Report(), 1, num_workers=2, collate_fn=first, worker_init_fn=note_worker)
    assert [report[6] for report in loader] == [report[6] for report in again]
    with pytest.raises(LookupError, match=r"Caught LookupError in DataLoader worker process 0\.\nOriginal Traceback"):
        list(DataLoader(Numbers(3), num_workers=1, worker_init_fn=refuse))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("boo"), ValueError),
        (KeyError("k"), KeyError),
        (FileNotFoundError(2, "none"), FileNotFoundError),
        (AssertionError(), AssertionError),
        (MessageError(message="m"), MessageError),
        (TwoArguments("a", "b"), RuntimeError),
        (UnicodeDecodeError("utf8", b"a", 0, 1, "r"), RuntimeError),
    ],
)
def test_exceptions_come_back(error, kind):
    with pytest.raises(kind) as caught:
        list(DataLoader(Failing(error), num_workers=1))
    assert caught.type is kind
    lines = str(caught.value).split("\n")
    assert lines[0] == f"Caught {type(error).__name__} in DataLoader worker process 0."
    assert lines[1] == "Original Traceback (most recent call last):"
    assert any("data_examples.py" in line and "__getitem__" in line for line in lines)


def test_iteration_goes_on_after_an_exception():
    iterator = iter(DataLoader(Failing(ValueError("v")), num_workers=2))
    seen = []
    while True:
        try:
            seen.append(next(iterator).item())
        except ValueError:
            seen.append(None)
        except StopIteration:
            break
    assert seen == [0, 1, None, 3, 4, None, 6, 7]


def test_a_class_that_cannot_travel():
    class Local(Exception):
        pass

    with pytest.raises(RuntimeError, match="Caught Local in DataLoader worker process 0"):
        list(DataLoader(Failing(Local("l")), num_workers=1))
    with pytest.raises((AttributeError, RuntimeError, TypeError), match=r"Caught .* in DataLoader worker process 0"):
        list(DataLoader(Given(lambda index: lambda: index), num_workers=1, collate_fn=first))


@pytest.mark.parametrize(("how", "reason"), [("kill", "was killed by SIGKILL"), ("exit", "exited with code 7")])
def test_a_worker_that_dies(how, reason):
    iterator = iter(DataLoader(Dying(how), num_workers=2))
    pids = [worker.pid for worker in iterator._workers]
    with pytest.raises(
        RuntimeError, match=rf"^DataLoader worker \(pid\(s\) {pids[1]}.*\) exited unexpectedly\nhint: .*{reason}"
    ):
        list(iterator)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(iterator)
    assert alive(pids) == []


def test_timeout():
    iterator = iter(DataLoader(Dying("sleep"), num_workers=1, timeout=0.2))
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 0.2 seconds"):
        list(iterator)
    iterator._workers[0].terminate()


def test_prefetch_factor():
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(DataLoader(Numbers(3), num_workers=1, prefetch_factor=0))
    taken = []

    class Watched(data.Sampler):
        def __iter__(self):
            for index in range(20):
                taken.append(index)
                yield index

    iterator = iter(DataLoader(Numbers(20), sampler=Watched(), num_workers=2, prefetch_factor=3))
    assert len(taken) == 6
    next(iterator)
    assert len(taken) == 7


def test_no_process_outlives_its_iterator():
    iterator = iter(DataLoader(Numbers(50), num_workers=2))
    pids = [worker.pid for worker in iterator._workers]
    next(iterator)
    started = time.monotonic()
    del iterator
    gc.collect()
    assert alive(pids) == [] and time.monotonic() - started < 3

    iterator = iter(DataLoader(Numbers(4), num_workers=2))
    pids = [worker.pid for worker in iterator._workers]
    list(iterator)
    assert alive(pids) == []


def test_loaders_side_by_side():
    early = iter(DataLoader(Numbers(8), 2, num_workers=2))
    late = iter(DataLoader(Stream(4), 2, num_workers=2))  # its workers inherit the other's pipes
    assert [(one.tolist(), other.tolist()) for one, other in zip(early, late)] == [
        ([0, 1], [0, 1]),
        ([2, 3], [0, 1]),
        ([4, 5], [2, 3]),
        ([6, 7], [2, 3]),
    ]
    pids = [worker.pid for worker in early._workers]
    started = time.monotonic()
    del early
    gc.collect()
    assert alive(pids) == [] and time.monotonic() - started < 3
    with pytest.raises(StopIteration):
        next(late)


def test_as_workers_finish():
    loader = DataLoader(Given(slow_zero, 6), num_workers=2, collate_fn=first, in_order=False)
    order = list(loader)
    assert order[0] != 0 and sorted(order) == list(range(6))
    assert list(DataLoader(Given(slow_zero, 6), num_workers=2, collate_fn=first)) == list(range(6))


def test_a_batch_that_cannot_be_unpickled():
    iterator = iter(DataLoader(Given(lambda index: Unopenable()), num_workers=1, collate_fn=first))
    with pytest.raises(OSError, match="cannot be opened here"):
        next(iterator)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        next(iterator)


def test_file_descriptors_are_given_back():
    def cycle():
        list(DataLoader(Given(lambda index: rl.zeros(10_000), 6), num_workers=2))
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    assert cycle() == cycle() == cycle()


SCRIPT = """
import sys, time
sys.path.insert(0, {here!r})
from data_examples import Numbers
from rushlight.utils.data import DataLoader
loader = DataLoader(Numbers(50), num_workers=2, persistent_workers={persistent})
iterator = iter(loader)
next(iterator)
print(*(worker.pid for worker in iterator._workers), flush=True)
{ending}
"""


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(
    "ending", ["", "raise SystemExit(0)", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
)
def test_the_interpreter_exits_cleanly(persistent, ending):
    script = SCRIPT.format(here=str(Path(__file__).parent), persistent=persistent, ending=ending)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == (-9 if "SIGKILL" in ending else 0) and done.stderr == ""
    pids = [int(pid) for pid in done.stdout.split()]
    deadline = time.monotonic() + 10
    while working(pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert working(pids) == []
