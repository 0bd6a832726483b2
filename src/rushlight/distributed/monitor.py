"""The monitor: a thread of each process that tells the others where it is, so that an error can name both sides of a wait.

It looks for messages ten times a second, on a communicator of its own; which also keeps MPI moving while a program computes. What is
told is text: rank, operation, file and line.
"""

from __future__ import annotations

import atexit
import json
import sys
import threading
import time
import traceback
from typing import NamedTuple

import numpy as np

from ..base.user_code import PACKAGE, location_of

_INTERVAL = 0.1
_PATIENCE = 2.0  # seconds for the others' answers
_ASK, _ANSWER, _GONE = 1, 2, 3


class Call(NamedTuple):
    """A collective or message: its name, number in its group, where the program called it, and how many bytes it moves."""

    name: str
    number: int
    group: str
    place: object
    size: int = 0

    def __str__(self):
        file, line = location_of(self.place)
        return f"{self.name} (number {self.number} of group {self.group}) at {file}:{line}"


class _Monitor:
    """The state of this process's monitor."""

    def __init__(self, communicator, mpi):
        self.communicator, self.mpi = communicator, mpi
        self.rank, self.size = communicator.Get_rank(), communicator.Get_size()
        self.answers: dict[int, str] = {}
        self.gone: dict[int, str] = {}
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.sent: list = []
        self.thread = threading.Thread(target=self._run, name="rushlight-monitor", daemon=True)
        self.thread.start()

    def _run(self):
        while not self.closing.wait(_INTERVAL):
            self.look()

    def look(self):
        """Read and answer the messages that have come."""
        with self.lock:
            status = self.mpi.Status()
            while self.communicator.Iprobe(self.mpi.ANY_SOURCE, self.mpi.ANY_TAG, status):
                text, source, kind = np.empty(status.Get_count(), np.uint8), status.Get_source(), status.Get_tag()
                self.communicator.Recv(text, source, kind)
                if kind == _ASK:
                    self._send(source, _ANSWER, where())
                else:
                    told = self.answers if kind == _ANSWER else self.gone
                    told[source] = json.loads(text.tobytes())
            self.sent = [each for each in self.sent if not each[0].Test()]

    def _send(self, rank, kind, text):
        message = np.frombuffer(json.dumps(text).encode(), np.uint8)
        self.sent.append((self.communicator.Isend(message, rank, kind), message))

    def ask(self, ranks):
        """Where the processes of these ranks are, as far as they answer in time."""
        with self.lock:
            self.answers.clear()
            for rank in ranks:
                self._send(rank, _ASK, "")
        end = time.monotonic() + _PATIENCE
        while len(self.answers) < len(ranks) and time.monotonic() < end:
            self.look()
            time.sleep(0.01)
        return dict(self.answers)

    def leave(self, why):
        """Tell the others that this process ends."""
        with self.lock:
            for rank in range(self.size):
                if rank != self.rank:
                    self._send(rank, _GONE, why)
        end = time.monotonic() + _INTERVAL
        while self.sent and time.monotonic() < end:
            self.look()

    def close(self):
        """End the thread."""
        self.closing.set()
        self.thread.join()


_monitor: _Monitor | None = None
WAITING: dict[int, Call] = {}  # number of a thread -> what it waits in


def start(communicator, mpi):
    """Begin to tell where this process is, to the processes of a communicator, which belongs to the monitor."""
    global _monitor
    _monitor = _Monitor(communicator, mpi)


def stop():
    """End what `start` began, without a word to the others: they end, too."""
    global _monitor
    if _monitor is not None:
        _monitor.close()
        _monitor = None


def leave(why):
    """Tell the others that this process ends; they raise errors where they wait for it."""
    if _monitor is not None:
        _monitor.leave(why)
        _monitor.close()


atexit.register(leave, "its program came to its end")


def gone():
    """Ranks of processes that have ended, with why; others may wait for them."""
    return _monitor.gone if _monitor is not None else {}


def where():
    """Where this process is: the call that it waits in, or the line that its program runs."""
    main = threading.main_thread().ident
    call = WAITING.get(main)
    if call is not None:
        return f"waits in {call}"
    frame = sys._current_frames().get(main)
    for each, line in traceback.walk_stack(frame):
        if not each.f_code.co_filename.startswith((PACKAGE, "<frozen")):
            return f"is at {each.f_code.co_filename}:{line}"
    return "runs no line of its program"


def story(call):
    """What all processes do while this one waits in ``call``, for an error's hint."""
    if _monitor is None:
        return f"this process waits in {call}"
    others = [rank for rank in range(_monitor.size) if rank != _monitor.rank and rank not in _monitor.gone]
    answers = _monitor.ask(others)
    told = {_monitor.rank: f"waits in {call}"} | answers | {rank: f"has ended: {why}" for rank, why in gone().items()}
    parts = [f"rank {rank} {told.get(rank, 'does not answer')}" for rank in range(_monitor.size)]
    return "; ".join(parts)
