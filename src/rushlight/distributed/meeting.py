"""How processes meet: ranks from arguments, from torchrun's environment or a launcher's, and a job of MPI for those that none has started.

MPI's own launcher (``mpiexec``, ``srun``, ``rushlight launch``) makes a job and its processes. Processes that were started otherwise
(``torch.multiprocessing.spawn``, a shell with RANK set) join a job that process 0 starts for them: ``mpiexec -pmi-port`` runs a
placeholder for each, which writes down what its environment says; the process of that rank takes it over, and the placeholder stays
until it ends.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from ..base.errors import hinted
from ..base.sharing import alive, own_folder
from . import placeholder

# A launcher's names of rank, number of processes, and rank on the machine.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
)
_OTHERS = ("PMI_FD", "PMI_PORT", "PMIX_RANK", "PMIX_NAMESPACE")
_WORDS = "a launcher sets it: `rushlight launch -n 2 script.py`, `mpiexec -n 2 python script.py`, torchrun; or pass rank= and world_size="


def started_by_launcher():
    """Whether a launcher of MPI started this process."""
    return any(name in os.environ for name in _OTHERS) or _launched() is not None


def _launched():
    """The names under which a launcher tells ranks, or None."""
    for names in _LAUNCHERS:
        if names[0] in os.environ and names[1] in os.environ:
            return names
    return None


def local_rank():
    """The number of this process on its machine that a launcher tells, or None."""
    names = _launched()
    for name in ("LOCAL_RANK", *((names[2],) if names else ())):
        if name in os.environ:
            return int(os.environ[name])
    return None


def ranks(method, rank, world_size):
    """The rank and the number of processes that a way to meet names."""
    scheme = method.partition("://")[0]
    if scheme == "env":
        names = _launched() if "RANK" not in os.environ and "WORLD_SIZE" not in os.environ else None
        names = names or ("RANK", "WORLD_SIZE")
        return tuple(
            int(_from_environment(name, wanted)) if given < 0 else given
            for name, wanted, given in ((names[0], "RANK", rank), (names[1], "WORLD_SIZE", world_size))
        )
    if scheme not in ("tcp", "file"):
        raise RuntimeError(hinted(f"No rendezvous handler for {scheme}://", "env://, tcp:// and file:// are there"))
    for name, given in (("rank", rank), ("world size", world_size)):
        if given < 0:
            raise ValueError(
                hinted(
                    f"Error initializing torch.distributed using {scheme}:// rendezvous: {name} parameter missing",
                    "pass rank= and world_size=, which say who this process is",
                )
            )
    return rank, world_size


def _from_environment(name, wanted):
    if name not in os.environ:
        raise ValueError(
            hinted(
                f"Error initializing torch.distributed using env:// rendezvous: environment variable {wanted} expected, but not set",
                _WORDS,
            )
        )
    return os.environ[name]


def join(method, rank, world_size, seconds):
    """Make this process a part of an MPI job of ``world_size`` processes that no launcher has started; before MPI starts."""
    folder = folder_of(method)
    if rank == 0:
        _start_placeholders(folder, world_size)
    wanted, end = folder / f"rank{rank}.json", time.monotonic() + seconds
    taken = folder / f"rank{rank}.taken"
    while (told := _take(wanted, taken)) is None:
        if time.monotonic() > end:
            raise RuntimeError(
                hinted(
                    f"rank {rank} of {world_size} processes waited {seconds:.0f} s for rank 0 to start",
                    f"all processes meet in {folder}, which {method} names; `rushlight launch -n {world_size} script.py` starts them together",
                )
            )
        time.sleep(0.02)
    taken.write_text(str(os.getpid()))
    os.environ.update(told)


def _take(wanted, taken):
    """The environment that a placeholder has written down; None where there is none yet, or only that of a job that was cut off."""
    try:
        os.rename(wanted, taken)
    except FileNotFoundError:
        return None
    told = json.loads(taken.read_text())
    return told if alive(int(told.pop(placeholder.PLACEHOLDER))) else None


def folder_of(method):
    """Where processes that name the same place meet: a folder of the user's own."""
    if method.startswith("env"):
        method = f"tcp://{os.environ.get('MASTER_ADDR', 'localhost')}:{os.environ.get('MASTER_PORT', '29500')}"
    return own_folder(hashlib.sha256(method.encode()).hexdigest()[:16])


def mpiexec():
    """The path of MPI's launcher: beside this Python, or on PATH; RuntimeError where there is none."""
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise RuntimeError(
            hinted("mpiexec, which starts processes that work together, is not there", "pip install 'rushlight[mpi]'")
        )
    return found


def _start_placeholders(folder, world_size):
    for old in folder.iterdir():
        old.unlink(missing_ok=True)  # a placeholder that is just ending takes its own away
    command = [mpiexec(), "-n", str(world_size), "-pmi-port", sys.executable, "-S", placeholder.__file__, str(folder)]
    with open(folder / "mpiexec.log", "wb") as log:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
