"""The worker threads, and the machine code by which they take part in a run.

Workers are Python threads that call into generated code once and stay there, without the interpreter's lock, until the
process ends. A run is announced by raising an epoch; whoever is awake joins, takes chunks (see `tickets.share_code`)
and signs off. The thread that began the run waits only for those that joined: a worker that sleeps, or
whose core is busy with something else, costs nothing but its help. While one Python thread's run is on, another's runs
on its own thread alone: the results are the same.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading

from ...base import settings
from .host import host
from .system import MAXIMUM_THREADS, addresses


class Pool:
    """The worker threads of this process.

    ``symbols`` are the addresses that compiled programs link against, ``scratch_areas`` is one more than the highest worker
    number that a run may see.
    """

    _EXPORTS = ("run", "work", "await_count", "set_limit", "quit", "reset")

    def __init__(self, machine_code):
        self.symbols, self._loaded = host().load(machine_code, self._EXPORTS, addresses())
        self._work = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self.symbols["work"])
        self._set_limit = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self.symbols["set_limit"])
        self._quit = ctypes.CFUNCTYPE(None)(self.symbols["quit"])
        self._reset = ctypes.CFUNCTYPE(None)(self.symbols["reset"])
        self._threads = []
        self._lock = threading.Lock()
        self.set_threads(settings.get_num_threads())
        settings.thread_listeners.append(self.set_threads)
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):  # Windows has no fork
            os.register_at_fork(after_in_child=self._after_fork)

    def set_threads(self, count):
        """Let ``count`` threads take part in runs, the calling one included; workers are started as needed."""
        count = min(count, MAXIMUM_THREADS)
        with self._lock:
            while len(self._threads) < count - 1:
                number = len(self._threads) + 1
                worker = threading.Thread(target=self._work, args=(number,), daemon=True, name=f"rushlight-{number}")
                self._threads.append(worker)
                worker.start()
            self.scratch_areas = len(self._threads) + 1
            self._set_limit(count)

    def stop(self):
        """Send the workers home and wait for them."""
        self._quit()
        for worker in self._threads:
            worker.join(timeout=5)
        self._threads = []

    def _after_fork(self):
        """In a forked child there are no workers: begin anew."""
        self._lock = threading.Lock()
        self._threads = []
        self._reset()
        self.set_threads(settings.get_num_threads())
