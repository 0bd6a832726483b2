"""When a profile records, and what becomes of it: schedules, and the handler that writes traces into a folder."""

from __future__ import annotations

import os
import socket
import time
import warnings

from ..base.errors import hinted
from ..base.user_code import to_user
from .events import check
from .kinds import ProfilerAction


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """Which steps are recorded: a function from a step's number to a `ProfilerAction`, what `profile` takes as ``schedule``.

    After ``skip_first`` steps a cycle is ``wait`` steps without, ``warmup`` steps whose records are dropped, and ``active`` steps that
    are kept; it comes again ``repeat`` times, 0 by default: until the end. With ``skip_first_wait`` the first cycle does not wait.

    >>> import rushlight as torch
    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            hinted(
                f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
                f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0).",
                "they count steps",
            )
        )
    if warmup == 0:
        sentence = "Profiler won't be using warmup, this can skew profiler results"
        warnings.warn(hinted(sentence, "the first calls of kernels load them"), stacklevel=to_user())
    length = wait + warmup + active

    def action(step):
        check(step >= 0, f"Step must be non-negative. Got {step}.", "steps count from 0")
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        place = step % length
        if (repeat and step / length >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """An ``on_trace_ready`` that writes traces into a folder: ``WORKER.TIME.pt.trace.json``, with ``use_gzip`` compressed.

    ``worker_name`` is the computer's name and the process's number by default.

    >>> import os, tempfile
    >>> import rushlight as torch
    >>> folder = tempfile.mkdtemp()
    >>> with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder, "worker")):
    ...     x = torch.ones(2) + 1
    >>> [name.partition(".")[0] for name in os.listdir(folder)]
    ['worker']
    """

    def handle(profiler):
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError(hinted("Can't create directory: " + dir_name, str(error))) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' * bool(use_gzip)}"
        profiler.export_chrome_trace(os.path.join(dir_name, name), use_python_export=use_python_export)

    return handle


class ExecutionTraceObserver:
    """PyTorch's execution traces, which replay a program's operations: not implemented, refused where a file is named."""

    def __init__(self):
        self._registered = False

    @staticmethod
    def build_execution_trace_obs_from_env():
        """None: the environment asks for none, or for what is not here."""
        return None

    def register_callback(self, output_file_path):
        """Write an execution trace: refused."""
        raise NotImplementedError(
            hinted(
                "ExecutionTraceObserver is not implemented",
                "torch.profiler.profile(record_shapes=True).export_chrome_trace(path) writes what ran with which arguments",
            )
        )

    def unregister_callback(self):
        """Write no more: nothing is written."""

    start = stop = cleanup = unregister_callback

    @property
    def is_registered(self):
        """Whether a trace is written: False."""
        return self._registered

    def is_running(self):
        """Whether a trace is written now: False."""
        return False

    def get_output_file_path(self):
        """Where the trace is written: None."""
        return None


for _kind in (ExecutionTraceObserver, schedule, tensorboard_trace_handler):
    _kind.__module__ = "torch.profiler.profiler"
