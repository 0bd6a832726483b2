"""Processes that run one function each, and what becomes of their errors."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import sys
import tempfile
import time
import traceback
import warnings
from multiprocessing import connection, get_context

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


class ProcessException(Exception):
    """A process failed: ``error_index`` says which, ``error_pid`` its id."""

    __slots__ = ["error_index", "error_pid"]

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised an error; the message shows its traceback."""


class ProcessExitedException(ProcessException):
    """The process ended with a code other than 0, or by a signal."""

    __slots__ = ["exit_code"]

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(function, index, arguments, error_file):
    """What a process does: the function, whose traceback goes into a file where it raises."""
    if sys.platform == "linux":  # Ctrl-C, should the parent be killed
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGINT)
    try:
        function(index, *arguments)
    except KeyboardInterrupt:
        pass  # the parent ends its children so
    except Exception:
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that were started together."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self):
        """The ids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None):
        """Wait until a process ends; whether all have ended. Where one has failed, end the others and raise what it raised.

        Args:
            timeout (float): seconds to wait. Default: for ever
            grace_period (float): seconds that the others have to end by themselves, and again once they are told to.
        """
        if not self.sentinels:
            return True
        for sentinel in connection.wait(self.sentinels.keys(), timeout=timeout):
            index = self.sentinels.pop(sentinel)
            process = self.processes[index]
            process.join()
            if process.exitcode != 0:
                self._end(grace_period)
                self._raise(index)
        return not self.sentinels

    def _end(self, grace_period):
        if grace_period is not None:
            self._wait(grace_period)
        self._tell("terminate")
        self._wait(30 if grace_period is None else grace_period)
        self._tell("kill")
        for process in self.processes:
            process.join()

    def _tell(self, what):
        for process in self.processes:
            if process.is_alive():
                getattr(process, what)()

    def _wait(self, seconds):
        """Wait for all processes, together no longer than that."""
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def _raise(self, index):
        process, error_file = self.processes[index], self.error_files[index]
        if os.access(error_file, os.R_OK):
            with open(error_file, "rb") as file:
                text = pickle.load(file)
            os.unlink(error_file)
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            raise ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code >= 0:
            message = f"process {index} terminated with exit code {code}"
            raise ProcessExitedException(message, index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        raise ProcessExitedException(f"process {index} terminated with signal {name}", index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The old name of `ProcessContext`."""

    def __init__(self, processes, error_files):
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Run ``fn(index, *args)`` in ``nprocs`` new processes, and wait for them, or return their `ProcessContext`.

    Where one fails, the others are ended: ProcessRaisedException with the traceback of its error, or ProcessExitedException.

    Args:
        join (bool): wait. Default: True
        daemon (bool): the processes end with this one. Default: False
        start_method (str): "spawn", "fork" or "forkserver". Default: "spawn"
    """
    context = get_context(start_method)
    processes, error_files = [], []
    for index in range(nprocs):
        file, name = tempfile.mkstemp(prefix="rushlight-error-", suffix=".pickle")
        os.close(file)
        os.unlink(name)  # only an error makes it again
        process = context.Process(target=_run, args=(fn, index, args, name), daemon=daemon)
        process.start()
        processes.append(process)
        error_files.append(name)
    made = ProcessContext(processes, error_files)
    if not join:
        return made
    while not made.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """`start_processes` by the method "spawn"; another one is deprecated here."""
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a different start_method use:\n\t\t"
            " torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
