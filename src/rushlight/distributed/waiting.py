"""Waiting for requests of MPI: with a limit of time, so that Ctrl-C comes through, and with a story of who is where when it ends."""

from __future__ import annotations

import functools
import os
import threading
import time

from ..base.errors import hinted
from . import monitor

_SPINS = 2000  # tests of a request before the processor is offered to others
# Seconds after which the others are not near, and waiting need not be quick: more for each byte that is on its way.
_NEAR, _NEAR_FOR_A_BYTE, _LATE = 0.005, 4e-9, 1.0
_PAUSE, _LONG_PAUSE = 0.0001, 0.0005
_give_way = getattr(os, "sched_yield", None) or functools.partial(time.sleep, 0)  # Windows has no other


def is_soon_over(request):
    """Whether ``request`` is over within the time in which asking is quicker than anything else."""
    test = request.Test
    for _ in range(_SPINS):  # noqa: SIM110 - a generator costs more than the question
        if test():
            return True
    return False


def wait(request, call, limit):
    """Wait until ``request`` is over; RuntimeError after ``limit`` seconds, or where a process that is waited for has ended.

    ``call`` is the `monitor.Call` that it belongs to.
    """
    thread = threading.get_ident()
    monitor.WAITING[thread] = call
    try:
        _wait_long(request.Test, call, limit)
    finally:
        del monitor.WAITING[thread]


def _wait_long(test, call, limit):
    begun = time.monotonic()
    near = _NEAR + call.size * _NEAR_FOR_A_BYTE
    while not test():
        waited = time.monotonic() - begun
        if waited > limit:
            raise _too_late(call, limit)
        if waited < near:
            _give_way()
        elif waited < _LATE:
            time.sleep(_PAUSE)
        elif monitor.gone():
            raise _ended(call)
        else:
            time.sleep(_LONG_PAUSE)


def _too_late(call, limit):
    milliseconds = int(limit * 1000)
    return RuntimeError(
        hinted(f"Timed out waiting {milliseconds}ms for {call.name} operation to complete", monitor.story(call))
    )


def _ended(call):
    ranks = sorted(monitor.gone())
    whom = f"rank {ranks[0]} has" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))} have"
    return RuntimeError(
        hinted(f"Connection closed by peer: {whom} ended, which {call.name} waits for", monitor.story(call))
    )
