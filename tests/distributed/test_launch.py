"""`rushlight launch`: ranks, output, threads, and how jobs end in which one process fails; none is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from jobs import PROGRAMS, begin, finish

from rushlight.base.processors import usable_cores
from rushlight.cli import launch

SCRIPT = str(PROGRAMS / "launched.py")


def launched(mode, *options, how=("rushlight", "launch"), **more):
    command = [
        sys.executable,
        "-m",
        *how,
        "--nproc_per_node=2",
        *options,
        SCRIPT,
        mode,
        "--epochs",
        "3",
    ]
    return begin(command, **more)


def left():
    """Processes that still run the script."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = each.read_bytes()
        except OSError:  # it has just ended
            continue
        if SCRIPT.encode() in line and int(each.parent.name) != os.getpid():
            found.append(line)
    return found


def wait_for_none_left():
    end = time.monotonic() + 5
    while left() and time.monotonic() < end:
        time.sleep(0.05)
    assert not left()


def test_lines_threads_arguments_and_restarts():
    status, out, err = finish(
        launched("restart", "--standalone", "--max-restarts", "1", RUSHLIGHT_NUM_THREADS="", OMP_NUM_THREADS="")
    )
    assert status == 0, err
    threads = max(1, usable_cores() // 2)
    for rank in (0, 1):
        lines = [line for line in out.splitlines() if line.startswith(f"[rank{rank}]: ")]
        assert lines[-2] == f"[rank{rank}]: whole line {rank} {rank} 2 {threads} ['--epochs', '3']"
        assert lines[-1] == f"[rank{rank}]: total [2.0, 2.0]"
    assert "rank 0 (process" in err and "ended with status 3; starting again (1 of 1)" in err


@pytest.mark.parametrize(
    ("mode", "wanted", "told"),
    [
        ("raise", 1, ("[rank1]: ValueError: a bad number", "rushlight launch: rank 1 (process", "ValueError: a bad number")),
        ("kill", 137, ("rushlight launch: rank 1 (process", "was killed")),
        pytest.param("memory", 1, ("[rank1]:     held.append", "rank 1 (process", "status 1: MemoryError"), marks=pytest.mark.slow),
        pytest.param("raise before", 1, ("[rank1]: KeyError: 'before MPI'", "rank 1 (process"), marks=pytest.mark.slow),
        pytest.param("vanish", 1, ("rushlight launch: rank", "before its program had come to its end"), marks=pytest.mark.slow),
        pytest.param("leave", 1, ("rank 1 has ended, which all_reduce waits for", "rank 0 (process"), marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_one_failure_ends_all(mode, wanted, told):
    begun = time.monotonic()
    status, out, err = finish(launched(mode))
    assert status == wanted and all(each in err for each in told), f"{status}\n{out}\n{err}"
    assert time.monotonic() - begun < 30  # with starts, on a busy machine; 10 s alone
    wait_for_none_left()


def test_who_ended_first(tmp_path):
    """Also where the launcher looks when all are gone; the notes name them in the order of ranks."""
    processes = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    for rank, process in enumerate(processes):
        (tmp_path / f"{rank}.json").write_text(json.dumps({"process": process.pid}))
    watch = launch._Watch(tmp_path)
    watch.look()
    for process in reversed(processes):
        process.kill()
        process.wait()
    watch.look()
    assert watch.ended == [process.pid for process in reversed(processes)]


@pytest.mark.parametrize(
    ("how", "number"),
    [
        (("rushlight.distributed.run",), signal.SIGTERM),
        pytest.param(("rushlight", "launch"), signal.SIGINT, marks=pytest.mark.slow),
    ],
)
def test_interrupted(how, number):
    job = launched("sleep", how=how)
    end = time.monotonic() + 30
    while len(left()) < 4 and time.monotonic() < end:  # the launcher, MPI's, and two of the script
        time.sleep(0.05)
    job.send_signal(number)
    time.sleep(0.1)
    job.send_signal(number)  # of an impatient user: what ends the processes goes on
    assert finish(job)[0] == 130
    wait_for_none_left()


def test_processes_that_no_launcher_started(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(
        "import os, rushlight as torch\nimport rushlight.distributed as dist\n"
        "def work(rank, size):\n"
        "    os.environ.update(MASTER_ADDR='localhost', MASTER_PORT=os.environ['PORT'])\n"
        "    dist.init_process_group('gloo', rank=rank, world_size=size)\n"
        "    x = torch.tensor([rank + 1.0])\n    dist.all_reduce(x)\n    assert x.item() == 3\n"
        "    dist.barrier()\n    if rank == 0:\n        print('met')\n    dist.destroy_process_group()\n"
        "if __name__ == '__main__':\n    torch.multiprocessing.spawn(work, (2,), nprocs=2)\n"
    )
    status, out, err = finish(
        begin([sys.executable, str(script)], PORT=str(20000 + os.getpid() % 9000), TMPDIR=str(tmp_path))
    )
    assert status == 0 and out == "met\n", f"{out}\n{err}"


def test_what_is_refused():
    def run(*options):
        command = [sys.executable, "-m", "rushlight", "launch", *options, "x.py"]
        return subprocess.run(command, capture_output=True, text=True)

    assert "needs the names of 2 machines" in run("--nnodes=2").stderr
    assert "--log-dir of torchrun is not there" in run("--log_dir", "x").stderr
