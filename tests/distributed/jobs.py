"""Real jobs of several processes for the tests: Rushlight's under mpiexec, PyTorch's with gloo, bounded in time, none left behind."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mpi4py")
from rushlight.distributed.meeting import mpiexec

PROGRAMS = Path(__file__).parent / "programs"
LIMIT = 60  # seconds for a job; the machines of tests are busy


def environment(**more):
    """The environment of a process that has nothing of another job's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "OMPI", "SLURM", "RANK", "WORLD_SIZE"))}
    return {**kept, "RUSHLIGHT_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", **more}


def finish(process, limit=LIMIT):
    """(exit status, stdout, stderr) of a process in a session of its own, all of which is killed once ``limit`` is over."""
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"the job took longer than {limit} s:\n{out}\n{err}")
    return process.returncode, out, err


def begin(command, **more):
    """Start a process in a session of its own."""
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment(**more),
    )


def mpi_job(count, program, *arguments, **more):
    """Start ``mpiexec -n count python program``."""
    command = [mpiexec(), "-n", str(count), sys.executable, str(PROGRAMS / program), *map(str, arguments)]
    return begin(command, **more)


def torch_job(count, program, *arguments):
    """Start the processes of PyTorch, rank by rank."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(count)}
    command = [sys.executable, str(PROGRAMS / program), *map(str, arguments)]
    return [begin(command, RANK=str(rank), **told) for rank in range(count)]


def stories(folder, count, program, library):
    """What each rank of a program has written down with one library; the program gets the library's name and a folder."""
    place = folder / library
    place.mkdir()
    jobs = (
        [mpi_job(count, program, library, place)]
        if library == "rushlight"
        else torch_job(count, program, library, place)
    )
    ended = [finish(job) for job in jobs]
    assert not any(status for status, _, _ in ended), "\n".join(f"{out}\n{err}" for _, out, err in ended)
    return [json.loads((place / f"{rank}.json").read_text()) for rank in range(count)]


def differences(folder, count, program, tolerance=lambda name: 2e-5):
    """(how many cases a program has, those in which a process with Rushlight tells something else than with PyTorch: rank, name, both)."""
    ours, theirs = (stories(folder, count, program, library) for library in ("rushlight", "torch"))
    assert list(ours[0]) == list(theirs[0])
    different = [
        (rank, name, str(mine[name])[:500], str(wanted)[:500])
        for rank, (mine, its) in enumerate(zip(ours, theirs))
        for name, wanted in its.items()
        if not alike(mine[name], wanted, tolerance(name))
    ]
    return len(ours[0]), different


def alike(mine, wanted, tolerance):
    """Whether two stories tell the same, numbers to a tolerance."""
    if isinstance(wanted, dict):
        return (
            isinstance(mine, dict)
            and list(mine) == list(wanted)
            and alike([*mine.values()], [*wanted.values()], tolerance)
        )
    if isinstance(wanted, list):
        return (
            isinstance(mine, list)
            and len(mine) == len(wanted)
            and all(alike(*each, tolerance) for each in zip(mine, wanted))
        )
    if isinstance(wanted, float):
        return isinstance(mine, float) and math.isclose(mine, wanted, rel_tol=10 * tolerance, abs_tol=tolerance)
    return mine == wanted
