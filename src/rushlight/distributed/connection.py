"""Connections: MPI started, its processes checked and ordered, and what happens when one of them fails."""

from __future__ import annotations

import os
import sys

from ..base.errors import hinted
from . import meeting, monitor
from .last_words import keep_memory, release_memory
from .streams import RankedStream
from .transport import Messages, has_mpi, mpi

_hook_before = None


def world_of_mpi():
    """MPI's communicator of all processes."""
    return mpi().COMM_WORLD


def connect(method, rank, world_size, seconds):
    """The transport of all processes, of which this one has the given rank."""
    joined = not meeting.started_by_launcher()
    if joined and has_mpi():  # without, loading it says what to install
        meeting.join(method, rank, world_size, min(seconds, 60.0))
    world = world_of_mpi()
    if world.Get_size() != world_size:
        raise RuntimeError(
            hinted(
                f"init_process_group: rank {rank} of {world_size} processes was asked for, but MPI has started {world.Get_size()}",
                "start as many with `rushlight launch -n` or `mpiexec -n`; mpiexec has to belong to the MPI that mpi4py was loaded with",
            )
        )
    transport = Messages(world.Split(0, rank))
    if transport.rank != rank:
        raise RuntimeError(
            hinted(
                f"init_process_group: rank {rank} was asked for by several processes", "each process has its own rank"
            )
        )
    if mpi().Query_thread() == mpi().THREAD_MULTIPLE:
        monitor.start(transport.communicator.Dup(), mpi())
    _end_all_on_errors(rank, joined)
    return transport


def part(transport, ranks, number):
    """The transport of some of the processes, which are the only ones that call this; ``number`` is new for each."""
    whole = transport.communicator.Get_group()
    return Messages(transport.communicator.Create_group(whole.Incl(ranks), number))


def disconnect(transport):
    """End the transport of all processes."""
    monitor.stop()
    transport.close()
    if _hook_before is not None:
        _restore_hook()


def _end_all_on_errors(rank, joined):
    """Let an error that nobody caught end the processes of all ranks, with its traceback."""
    global _hook_before
    _hook_before = before = sys.excepthook
    keep_memory()

    def hook(kind, error, trace):
        release_memory()
        sys.stdout.flush()
        if not isinstance(sys.stderr, RankedStream):
            sys.stderr = RankedStream(sys.stderr, f"[rank{rank}]: ")
        before(kind, error, trace)
        sys.stderr.flush()
        code = 130 if issubclass(kind, KeyboardInterrupt) else 1
        if joined:  # the others were not started by MPI, which cannot end them
            monitor.leave(f"its program raised {kind.__name__}: {error}")
            os._exit(code)
        mpi().COMM_WORLD.Abort(code)

    sys.excepthook = hook


def _restore_hook():
    global _hook_before
    sys.excepthook, _hook_before = _hook_before, None
