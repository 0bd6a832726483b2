"""``rushlight launch``: a script in several processes, through MPI's launcher; understands torchrun's arguments."""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from rushlight.base.processors import VARIABLES, usable_cores
from rushlight.distributed.meeting import mpiexec

from .errors import CommandError

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_GRACE = 3.0  # seconds that the processes have to end by themselves
_PAUSE = 0.05  # seconds between two looks at the processes
_INTERRUPTED = 128 + signal.SIGINT
_INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM)
# torchrun's arguments that say nothing here: with a value, and without.
_IGNORED = "rdzv-backend rdzv-endpoint rdzv-id rdzv-conf monitor-interval start-method role local-addr node-rank numa-binding shutdown-timeout"
_IGNORED_FLAGS = "standalone use-env use-agent-store"
# Their wishes would not come true.
_REFUSED = "log-dir redirects tee local-ranks-filter logs-specs log-line-prefix-template"


def add_launch(commands):
    """The command's line."""
    launch = commands.add_parser(
        "launch",
        help="run a script that says `import torch` in several processes, over MPI",
        description="Run a Python script that says `import torch` in several processes, over MPI. torchrun's arguments are understood.",
        allow_abbrev=False,
    )
    launch.add_argument("script", metavar="script.py", help="the script; what follows are its own arguments")
    launch.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    count = "processes on each machine, or 'auto' or 'cpu': one for each core (default: 1)"
    launch.add_argument("-n", *_spelled("nproc-per-node"), dest="count", default="1", metavar="N", help=count)
    launch.add_argument(*_spelled("nnodes"), default="1", metavar="N", help="machines; more than one needs --hosts")
    launch.add_argument("--hosts", metavar="A,B", help="the machines' names")
    launch.add_argument("--hostfile", metavar="FILE", help="a file with the machines' names, one a line")
    launch.add_argument(*_spelled("max-restarts"), type=int, default=0, metavar="N", help="run again after a failure")
    launch.add_argument("-m", "--module", action="store_true", help="the script is the name of a module")
    launch.add_argument(*_spelled("master-addr"), default="127.0.0.1", help=argparse.SUPPRESS)
    launch.add_argument(*_spelled("master-port"), default="29500", help=argparse.SUPPRESS)
    launch.add_argument(
        "--local-rank-argument", action="store_true", help=argparse.SUPPRESS
    )  # torch.distributed.launch's way
    for name in _IGNORED.split():
        launch.add_argument(*_spelled(name), help=argparse.SUPPRESS)
    for name in _IGNORED_FLAGS.split():
        launch.add_argument(*_spelled(name), action="store_true", help=argparse.SUPPRESS)
    for name in _REFUSED.split():
        launch.add_argument(*_spelled(name), help=argparse.SUPPRESS)


def _spelled(name):
    """torchrun's options can be written with - and with _."""
    return (f"--{name}", f"--{name.replace('-', '_')}") if "-" in name else (f"--{name}",)


def execute(options):
    """Run the script until it ends well, or has failed once more than it is restarted; returns the exit status."""
    for name in _REFUSED.split():
        if getattr(options, name.replace("-", "_")) is not None:
            raise CommandError(f"--{name} of torchrun is not there: what the processes print comes with their ranks")
    if sys.platform == "win32":
        raise CommandError(
            "`rushlight launch` on Windows is not in this version: mpiexec -n 2 python script.py starts processes there"
        )
    if importlib.util.find_spec("mpi4py") is None:
        raise CommandError("several processes work together over MPI: pip install 'rushlight[mpi]'")
    hosts = _hosts(options)
    command = _command(options, hosts)
    for attempt in range(options.max_restarts + 1):
        status, story = _run(command, _environment(options, hosts, attempt))
        if status in (0, _INTERRUPTED):
            return status
        again = f"; starting again ({attempt + 1} of {options.max_restarts})" if attempt < options.max_restarts else ""
        print(f"rushlight launch: {story}{again}", file=sys.stderr, flush=True)
    return status


def _hosts(options):
    """The names of the machines; [] for this one."""
    if options.hostfile:
        lines = Path(options.hostfile).read_text(encoding="utf-8").splitlines()
        hosts = [line.split("#")[0].split(":")[0].split()[0] for line in lines if line.split("#")[0].strip()]
    else:
        hosts = options.hosts.split(",") if options.hosts else []
    machines = options.nnodes.rpartition(":")[2]
    if machines != "1" and len(hosts) != int(machines):
        raise CommandError(
            f"--nnodes={options.nnodes} needs the names of {machines} machines: --hosts a,b or --hostfile FILE"
        )
    return hosts


def _count(options):
    if options.count in ("auto", "cpu"):
        return usable_cores()
    if not options.count.isdigit() or int(options.count) < 1:
        raise CommandError(f"Unsupported nproc_per_node value: {options.count}")
    return int(options.count)


def _command(options, hosts):
    """The line that starts all processes."""
    count = _count(options)
    total = count * max(1, len(hosts))
    words = [mpiexec(), "-n", str(total)]
    if _is_open_mpi():
        words += ["--map-by", f"ppr:{count}:node:OVERSUBSCRIBE", "--bind-to", "none"]
        words += ["--host", ",".join(f"{host}:{count}" for host in hosts)] if hosts else []
    elif hosts:
        words += ["-hosts", ",".join(hosts), "-ppn", str(count)]
    words += [sys.executable, "-m", "rushlight.cli.launched"]
    words += ["--local-rank"] if options.local_rank_argument and not options.use_env else []
    words += ["-m"] if options.module else []
    return [*words, options.script, *options.arguments]


def _is_open_mpi():
    told = subprocess.run([mpiexec(), "--version"], capture_output=True, text=True).stdout
    return "Open MPI" in told or "prte" in told.lower()


def _environment(options, hosts, attempt):
    count = _count(options)
    told = {
        "MASTER_ADDR": hosts[0] if hosts else options.master_addr,
        "MASTER_PORT": options.master_port,
        "LOCAL_WORLD_SIZE": str(count),
        "TORCHELASTIC_RUN_ID": options.rdzv_id or uuid.uuid4().hex,
        "TORCHELASTIC_RESTART_COUNT": str(attempt),
        "TORCHELASTIC_MAX_RESTARTS": str(options.max_restarts),
    }
    if not any(os.environ.get(name) for name in VARIABLES):
        told |= dict.fromkeys(VARIABLES, str(max(1, usable_cores() // count)))
    return {**os.environ, **told}


def _run(command, environment):
    """(exit status, what failed) of the processes, none of which is left."""
    folder = Path(tempfile.mkdtemp(prefix="rushlight-launch-"))
    environment = {**environment, "RUSHLIGHT_LAUNCH_FOLDER": str(folder)}
    process = subprocess.Popen(command, env=environment, start_new_session=True, preexec_fn=_end_with_parent)
    watch = _Watch(folder)
    before, status = [signal.signal(each, _interrupt) for each in _INTERRUPTIONS], None
    try:
        while (status := process.poll()) is None:
            watch.look()
    except KeyboardInterrupt:
        status = _INTERRUPTED
    finally:
        _end(process)
        if status != _INTERRUPTED:  # after that, the launcher itself is about to end: nobody need be impatient
            for each, handler in zip(_INTERRUPTIONS, before):
                signal.signal(each, handler)
        watch.look()
        notes = watch.notes()
        shutil.rmtree(folder, ignore_errors=True)
    return _judge(status, notes, watch.ended)


class _Watch:
    """Sees in which order the processes on this machine end: where one is killed, MPI's launcher kills the others.

    Linux's epoll tells of what is ready in the order in which it became so; elsewhere nobody is watched.
    """

    def __init__(self, folder):
        self.folder, self.ended, self._watched = folder, [], {}
        self._poll = select.epoll() if hasattr(os, "pidfd_open") else None

    def notes(self):
        """What the processes have written down, so far, of themselves."""
        return [json.loads(path.read_text()) for path in sorted(self.folder.glob("*.json"))]

    def look(self):
        """Wait a little for one to end."""
        if self._poll is None:
            time.sleep(_PAUSE)
            return
        for note in self.notes():
            process = note["process"]
            if process not in self._watched.values() and process not in self.ended:
                try:
                    descriptor = os.pidfd_open(process)
                except ProcessLookupError:
                    self.ended.append(process)
                    continue
                self._watched[descriptor] = process
                self._poll.register(descriptor, select.EPOLLIN)
        for descriptor, _ in self._poll.poll(_PAUSE):
            self._poll.unregister(descriptor)
            self.ended.append(self._watched.pop(descriptor))
            os.close(descriptor)


def _end_with_parent():
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGTERM)


def _interrupt(number, frame):
    for each in _INTERRUPTIONS:
        signal.signal(each, signal.SIG_IGN)  # what ends the processes is not interrupted
    raise KeyboardInterrupt


def _end(process):
    """End MPI's launcher, which ends its processes."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            process.wait(0.01)
            return
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, number)
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            continue


def _judge(status, notes, ended):
    """The exit status, and a line that says which rank failed and how."""
    failed = [note for note in notes if note.get("status")]
    if failed:
        first = min(failed, key=lambda note: note["time"])
        error = f": {first['error']}" if first["error"] else ""
        return (
            first["status"],
            f"rank {first['rank']} (process {first['process']} on {first['host']}) ended with status {first['status']}{error}",
        )
    left = [note for process in ended for note in notes if note["process"] == process and not note["done"]]
    if status == _INTERRUPTED or (status == 0 and not left):
        return status, ""
    if left:  # MPI's launcher kills the others, and may say that all is well where the first one left with status 0
        first = left[0]
        killed = "was killed, or left by os._exit, before its program had come to its end"
        story = f"rank {first['rank']} (process {first['process']} on {first['host']}) {killed}"
        return (128 + signal.SIGKILL if status else 1), story
    return status if status > 0 else 128 - status, f"{Path(mpiexec()).name} ended with status {status}"
