"""What ``rushlight launch`` runs in each process: ranks as torchrun tells them, output with the rank before each line, the script."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

from rushlight.distributed.last_words import keep_memory, release_memory
from rushlight.distributed.meeting import local_rank, ranks
from rushlight.distributed.streams import RankedStream

from .run import run_module, run_script

_LAST_WORDS = 0.3  # seconds that MPI's launcher is given to pass on what was printed


def main(arguments):
    """Run a script, or with -m a module, with --local-rank before it told its local rank as an argument; returns the exit status."""
    rank, size = ranks("env://", -1, -1)
    own = local_rank() or 0
    machines = max(1, size // int(os.environ["LOCAL_WORLD_SIZE"]))
    os.environ |= {
        "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(own), "ROLE_RANK": str(rank), "ROLE_WORLD_SIZE": str(size),
        "GROUP_RANK": str(rank // int(os.environ["LOCAL_WORLD_SIZE"])), "GROUP_WORLD_SIZE": str(machines), "ROLE_NAME": "default",
    }  # fmt: skip
    if not faulthandler.is_enabled():
        faulthandler.enable()  # shows the line where machine code fails
    streams = [RankedStream(stream, f"[rank{rank}]: ") for stream in (sys.stdout, sys.stderr)]
    sys.stdout, sys.stderr = streams  # for which the script may have others
    note = Path(os.environ["RUSHLIGHT_LAUNCH_FOLDER"], f"{rank}.json")
    told = {
        "rank": rank,
        "process": os.getpid(),
        "host": socket.gethostname(),
        "status": 0,
        "error": "",
        "time": 0.0,
        "done": False,
    }
    _write(note, told)
    before = sys.excepthook
    keep_memory()

    def hook(kind, error, trace):
        release_memory()
        _write(note, told | {"status": 1, "error": f"{kind.__name__}: {error}".split("\n")[0], "time": time.time()})
        before(kind, error, trace)
        _pass_on_last_words(streams)

    sys.excepthook = hook
    as_module, name, arguments = _split(arguments, own)
    try:
        status = (run_module if as_module else run_script)(name, arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if status == 1 and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    if status:
        _end_all(note, told, status, streams)
    _finish_lines(streams)
    _write(note, told | {"done": True})
    return 0


def _split(arguments, own):
    """Whether a module is to be run, the name of it or of the script, and its arguments."""
    told = [f"--local-rank={own}"] if arguments[0] == "--local-rank" else []
    arguments = arguments[len(told) :]
    as_module = arguments[0] == "-m"
    name, *given = arguments[as_module:]
    return as_module, name, told + given


def _write(note, told):
    """Write down how this process ends, for the launcher on the same machine."""
    if note.parent.is_dir():
        new = note.with_suffix(".new")
        new.write_text(json.dumps(told))
        new.rename(note)


def _finish_lines(streams):
    for stream in streams:
        stream.close_line()
        stream.flush()


def _pass_on_last_words(streams):
    """MPI's launcher drops what it has not yet read of a process when it ends the job."""
    _finish_lines(streams)
    time.sleep(_LAST_WORDS)


def _end_all(note, told, status, streams):
    """End this process so that MPI's launcher ends the others: a status alone does not make it."""
    known = json.loads(note.read_text()) if note.exists() else told
    if not known["status"]:
        _write(note, told | {"status": status, "error": "", "time": time.time()})
    _pass_on_last_words(streams)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
