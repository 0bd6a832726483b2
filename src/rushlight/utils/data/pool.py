"""The loader's side of its worker processes: start them, talk to them, notice their death, end them."""

from __future__ import annotations

import os
import signal
import time
import weakref

from ...base.errors import hinted
from .transport import BatchReceiver
from .worker import worker_loop

_ALIVE_CHECK = 5.0  # seconds between looks at whether a silent worker lives
_PATIENCE = 5.0  # seconds that workers get to finish what they are doing when the loader ends

_pools = weakref.WeakSet()  # all that this process has, so that a forked worker can close what it inherits


class WorkerPool:
    """Worker processes with a task pipe to, and a result pipe from, each."""

    def __init__(self, context, options):
        self.processes = []
        self._task_pipes = []
        self._result_pipes = []
        self._receivers = []
        # The pipes that are being talked through, from the first byte until what was said is acted on. Ctrl-C (or whatever
        # else a signal raises) leaves them here: half a message may be in them, or one that nobody has noted.
        self.open_talks = []
        # Runs when the pool is collected and at the interpreter's exit, whichever comes first.
        self.stop = weakref.finalize(
            self, _stop, os.getpid(), self.processes, self._task_pipes, self._result_pipes, self.open_talks
        )
        _pools.add(self)
        try:
            for worker_id in range(options.num_workers):
                self._start(context, worker_id, options)
        except BaseException:
            self.stop()
            raise

    def _start(self, context, worker_id, options):
        theirs, tasks = context.Pipe(duplex=False)
        results, their_results = context.Pipe(duplex=True)  # duplex, because only a socket can carry files
        self._task_pipes.append(tasks)
        self._result_pipes.append(results)
        self._receivers.append(BatchReceiver(results))
        inherited = []
        if context.get_start_method() == "fork":
            inherited = [pipe for pool in _pools for pipe in pool._task_pipes + pool._result_pipes if not pipe.closed]
        process = context.Process(
            target=worker_loop, args=(theirs, their_results, inherited, worker_id, options), daemon=True
        )
        self.processes.append(process)
        try:
            process.start()
        finally:
            theirs.close()
            their_results.close()

    def usable(self):
        """Whether all workers are there to read another epoch; those of a pool that is not are ended."""
        if self.stop.alive and not self.open_talks and all(process.is_alive() for process in self.processes):
            return True
        self.stop()
        return False

    def send(self, worker, task):
        """Give a worker a task; the talk is open until the caller closes it: ``open_talks``."""
        pipe = self._task_pipes[worker]
        self.open_talks.append(pipe)
        try:
            pipe.send(task)
        except OSError:
            raise self._died(worker) from None

    def released(self, worker):
        """The shared-memory slots that this worker may use again."""
        released = self._receivers[worker].released
        return [released.popleft() for _ in range(len(released))]

    def receive(self, workers, timeout):
        """``(worker, answer)``: the next answer of any of ``workers``. ``timeout`` in seconds; 0: no limit.

        While it waits Ctrl-C changes nothing; from then on the talk is open until the caller closes it: ``open_talks``.
        """
        if self.open_talks:
            raise self._torn()
        worker = self._wait_for(workers, timeout)
        self.open_talks.append(self._result_pipes[worker])
        receiver = self._receivers[worker]
        try:
            message = receiver.read()
        except (EOFError, OSError):
            raise self._died(worker) from None
        try:
            return worker, receiver.unpack(message)
        except BaseException:  # the dataset's object cannot be unpickled: its batch is lost, and the order with it
            self.stop()
            raise

    def _wait_for(self, workers, timeout):
        from multiprocessing.connection import wait  # loaded already: workers are running

        pipes = {self._result_pipes[worker]: worker for worker in workers}
        for pipe, worker in pipes.items():
            if pipe.closed:
                raise self._died(worker)
        while not (ready := wait(pipes, timeout or _ALIVE_CHECK)):
            if timeout:
                raise RuntimeError(
                    hinted(
                        f"DataLoader timed out after {timeout} seconds",
                        f"worker {', '.join(map(str, workers))} sent nothing; timeout= is too short for a batch, or the"
                        " dataset hangs (num_workers=0 shows where)",
                    )
                )
            for pipe, worker in pipes.items():
                if not self.processes[worker].is_alive() and not pipe.poll():
                    raise self._died(worker)
        return pipes[ready[0]]

    def _torn(self):
        """The error for going on where an interrupt broke into a talk with a worker; ends all workers."""
        pids = ", ".join(str(process.pid) for process in self.processes)
        self.stop()
        return RuntimeError(
            hinted(
                f"DataLoader worker (pid(s) {pids}) exited unexpectedly",
                "an interrupt (Ctrl-C) came in the midst of a batch, so the order of batches is lost and the workers were"
                " ended: iterate over the DataLoader again, which starts others",
            )
        )

    def _died(self, worker):
        """The error for a worker that is gone; ends the others."""
        process = self.processes[worker]
        process.join(1.0)
        failed = [one for one in self.processes if not one.is_alive()]
        pids = ", ".join(str(one.pid) for one in failed or [process])
        self.stop()
        return RuntimeError(
            hinted(
                f"DataLoader worker (pid(s) {pids}) exited unexpectedly",
                f"worker {worker} {_how_it_ended(process.exitcode)}; num_workers=0 runs the dataset in this process,"
                " which shows errors where they happen",
            )
        )


def _how_it_ended(code):
    if code is None:
        return "closed its pipes"
    if code >= 0:
        return f"exited with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"was killed by {name}" + (" (the system does this when memory runs out)" if name == "SIGKILL" else "")


def _stop(owner, processes, task_pipes, result_pipes, open_talks):
    """End the workers: ask, wait, then insist. Does nothing in a process that merely inherited the pool by fork."""
    if os.getpid() != owner:
        return
    started = [process for process in processes if process.pid is not None]
    try:
        for pipe in task_pipes:
            _dismiss(pipe, in_midst=pipe in open_talks)
        for pipe in result_pipes:
            pipe.close()  # a worker that is still sending stops
        deadline = time.monotonic() + _PATIENCE
        for process in started:
            process.join(max(0.0, deadline - time.monotonic()))
    finally:  # at once, where Ctrl-C ends the waiting
        for insist in ("terminate", "kill"):
            stubborn = [process for process in started if process.is_alive()]
            for process in stubborn:
                getattr(process, insist)()
            for process in stubborn:
                process.join(1.0)


def _dismiss(pipe, in_midst):
    try:
        if not in_midst:  # where half a task is in the pipe nothing can follow it
            os.set_blocking(pipe.fileno(), False)
            pipe.send(None)
    except OSError:
        pass  # gone already, or so busy that its pipe is full: closing the pipe tells it as well
    pipe.close()
