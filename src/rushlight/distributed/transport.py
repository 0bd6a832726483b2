"""Transports: what moves arrays between the processes of a group. `Messages` is MPI; `Alone` is a group of one, where values are copied.

Arrays are contiguous NumPy arrays, the memory of tensors as it is. Every method begins its work and returns a request of MPI, which
`waiting.wait` waits for, or None where the work is over already.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util

import numpy as np

from ..base.errors import hinted
from .reductions import RedOpType

_UFUNCS = {
    RedOpType.SUM: np.add, RedOpType.AVG: np.add, RedOpType.PRODUCT: np.multiply, RedOpType.MIN: np.minimum, RedOpType.MAX: np.maximum,
}  # fmt: skip
_NAMES = {
    RedOpType.SUM: "SUM", RedOpType.AVG: "SUM", RedOpType.PRODUCT: "PROD", RedOpType.MIN: "MIN", RedOpType.MAX: "MAX",
    RedOpType.BAND: "BAND", RedOpType.BOR: "BOR", RedOpType.BXOR: "BXOR",
}  # fmt: skip
_NAMES_OF_BOOLS = {
    RedOpType.SUM: "LOR", RedOpType.PRODUCT: "LAND", RedOpType.MIN: "LAND", RedOpType.MAX: "LOR",
    RedOpType.BAND: "LAND", RedOpType.BOR: "LOR", RedOpType.BXOR: "LXOR",
}  # fmt: skip
_NATIVE = "?bBhHiIlLqQfdFD"  # kinds of NumPy numbers that MPI joins itself
_known = {}  # kind of number, ReduceOp -> operation of MPI, for all that was asked so far
_made_operations = {}


def has_mpi():
    """Whether mpi4py is installed; nothing is imported."""
    return importlib.util.find_spec("mpi4py") is not None


@functools.cache
def mpi():
    """The module ``mpi4py.MPI``, which starts MPI when it is imported first."""
    try:
        return importlib.import_module("mpi4py.MPI")
    except ImportError as error:
        raise RuntimeError(
            hinted(
                f"MPI, over which several processes work together, cannot be loaded: {error}",
                "pip install 'rushlight[mpi]' brings mpi4py and an MPI; a cluster's own MPI does as well: pip install mpi4py",
            )
        ) from error


class Alone:
    """The only process of a group: what is sent is what is received."""

    rank, size = 0, 1

    def all_reduce(self, array, op):
        """Join ``array`` of all processes, in place."""

    def reduce(self, array, op, root):
        """`all_reduce` for process ``root`` alone."""

    def broadcast(self, array, root):
        """Write ``array`` of process ``root`` into those of the others."""

    def all_gather(self, output, array):
        """Write the arrays of all processes into ``output``, one behind the other."""
        output.reshape(-1)[...] = array.reshape(-1)

    def gather(self, output, array, root):
        """`all_gather` for process ``root`` alone; elsewhere ``output`` is None."""
        self.all_gather(output, array)

    def scatter(self, array, source, root):
        """Give each process a part of ``source``, which process ``root`` has; elsewhere it is None."""
        self.all_gather(array, source)

    def reduce_scatter(self, array, source, op):
        """Join ``source`` of all processes and give each process a part."""
        self.all_gather(array, source)

    def all_to_all(self, output, received, source, sent):
        """Send ``sent[i]`` elements of ``source`` to process i, and receive ``received[i]`` from it."""
        self.all_gather(output, source)

    def barrier(self):
        """Wait until all processes have come here."""

    def close(self):
        """End the transport."""


class Messages:
    """A communicator of MPI."""

    def __init__(self, communicator):
        self.communicator, self._mpi = communicator, mpi()
        self.rank, self.size = communicator.Get_rank(), communicator.Get_size()

    def all_reduce(self, array, op):
        kind, operation = _typed(array, op)
        return self.communicator.Iallreduce(self._mpi.IN_PLACE, kind, operation)

    def reduce(self, array, op, root):
        kind, operation = _typed(array, op)
        if self.rank == root:
            return self.communicator.Ireduce(self._mpi.IN_PLACE, kind, operation, root)
        return self.communicator.Ireduce(kind, None, operation, root)

    def broadcast(self, array, root):
        return self.communicator.Ibcast(_moved(array), root)

    def all_gather(self, output, array):
        return self.communicator.Iallgather(_moved(array), _moved(output))

    def gather(self, output, array, root):
        return self.communicator.Igather(_moved(array), None if output is None else _moved(output), root)

    def scatter(self, array, source, root):
        return self.communicator.Iscatter(None if source is None else _moved(source), _moved(array), root)

    def reduce_scatter(self, array, source, op):
        kind, operation = _typed(source, op)
        return self.communicator.Ireduce_scatter_block(kind, _typed(array, op)[0], operation)

    def all_to_all(self, output, received, source, sent):
        return self.communicator.Ialltoallv(self._parts(source, sent), self._parts(output, received))

    def send(self, array, peer, tag):
        """Send ``array`` to process ``peer``."""
        return self.communicator.Isend(_moved(array), peer, tag)

    def receive(self, array, peer, tag):
        """Receive ``array`` from process ``peer``, None: from whichever sends first."""
        source = self._mpi.ANY_SOURCE if peer is None else peer
        return _Receiving(self.communicator.Irecv(_moved(array), source, tag), self._mpi.Status())

    def barrier(self):
        return self.communicator.Ibarrier()

    def close(self):
        self.communicator.Free()

    def _parts(self, array, counts):
        sizes = [count * array.itemsize for count in counts]
        starts = [sum(sizes[:place]) for place in range(len(sizes))]
        return [_plain_bytes(array), (sizes, starts), self._mpi.BYTE]


class _Receiving:
    """The request of a message that comes, which knows from whom once it is there."""

    def __init__(self, request, status):
        self._request, self._status = request, status

    def Test(self):
        """Whether it is there."""
        return self._request.Test(self._status)

    @property
    def source(self):
        """The rank that has sent it."""
        return self._status.Get_source()


def _moved(array):
    """An array as MPI takes it to move it."""
    return array if array.dtype.char in _NATIVE else _plain_bytes(array)


def _plain_bytes(array):
    return array.reshape(-1).view(np.uint8)


def _typed(array, op):
    """An array as MPI takes it, and the operation of MPI that joins it by ``op``."""
    char = array.dtype.char
    found = _known.get((char, op))
    if found is not None:
        return array, found
    if char == "?":
        return [array, mpi().C_BOOL], getattr(mpi(), _NAMES_OF_BOOLS[op])
    if char in _NATIVE:
        _known[char, op] = found = getattr(mpi(), _NAMES[op])
        return array, found
    unsigned = array.reshape(-1).view(f"u{array.itemsize}")
    return unsigned, _made_operation(array.dtype, op)


def _made_operation(dtype, op):
    """An operation for numbers that MPI does not know: float16, bfloat16 and smaller ones."""
    if (dtype, op) not in _made_operations:
        join = _UFUNCS[op]

        def joined(given, result, kind):
            numbers = np.frombuffer(result, dtype)
            join(np.frombuffer(given, dtype), numbers, out=numbers)

        _made_operations[dtype, op] = mpi().Op.Create(joined, commute=True)
    return _made_operations[dtype, op]
