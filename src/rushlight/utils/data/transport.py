"""How a batch travels from a worker to the loader: pickled, with large arrays in shared memory that is used again.

Large buffers are written to a *slot*, an anonymous file (memfd) that both processes map. The loader's tensors lie
directly in the slot; when the last of them is gone, the slot's number goes back to the worker with its next task. There
are no names in /dev/shm to leak, and pages are touched for the first time only once. Where memfd does not exist, or all
slots are in use, the bytes go through the pipe.
"""

from __future__ import annotations

import copyreg
import io
import mmap
import os
import pickle
import struct
import weakref
from collections import deque

import numpy as np

from ...base.dtypes import interned
from ...base.errors import hinted
from ...base.lazy import bits_of, rebuilt, stored_in
from ...tensor import Tensor, wrap

SLOTS = 16  # at most, a worker; each costs two file descriptors
LARGE = 16 * 1024  # bytes from which a buffer goes to a slot
_ALIGNMENT = 64
_HEADER = struct.Struct("<iiq")  # slot or -1, number of buffers in it, its size if it is new, else 0
_BUFFER = struct.Struct("<qq")  # offset, bytes


def _reduce_tensor(tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            hinted(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support"
                " crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor"
                " before serializing (e.g., putting it on the queue).",
                "the dataset or collate_fn returned it from a DataLoader worker: return tensor.detach()",
            )
        )
    array = stored_in(tensor._array)
    # Dense memory travels as it lies, with the order of its axes; anything else is packed first.
    axes = sorted(range(array.ndim), key=lambda axis: -array.strides[axis])
    packed = array.transpose(axes)
    if not (packed.flags.c_contiguous and packed.flags.writeable):
        axes, packed = list(range(array.ndim)), array.copy(order="C")
    flat = packed.reshape(-1).view(np.uint8)
    parts = pickle.PickleBuffer(flat), packed.dtype, packed.shape, axes, tensor.requires_grad, *bits_of(tensor._array)
    return _rebuild_tensor, parts


def _rebuild_tensor(buffer, dtype, shape, axes, requires_grad, conj, neg):
    array = interned(np.ndarray(shape, dtype, buffer))
    places = [0] * len(axes)
    for place, axis in enumerate(axes):
        places[axis] = place
    tensor = wrap(rebuilt(array.transpose(places), conj, neg))
    return tensor.requires_grad_() if requires_grad else tensor


class BatchSender:
    """The worker's end: ``send`` objects, take slots back with ``release``."""

    def __init__(self, connection):
        self._connection = connection
        self._slots = []  # writable memoryviews
        self._free = []
        self._dispatch = {**copyreg.dispatch_table, Tensor: _reduce_tensor}

    def release(self, slots):
        """The loader holds these slots no longer."""
        self._free.extend(slots)

    def send(self, message):
        """Send one object; whatever pickling it raises comes out before anything is sent."""
        body, buffers = self._pickle(message, LARGE if hasattr(os, "memfd_create") else None)
        places, size = [], 0
        for buffer in buffers:
            places.append((size, buffer.nbytes))
            size += -(-buffer.nbytes // _ALIGNMENT) * _ALIGNMENT
        number, new_file = self._take(size) if buffers else (-1, None)
        if buffers and number < 0:
            body, buffers, places = self._pickle(message, None)[0], [], []
        for buffer, (offset, nbytes) in zip(buffers, places):
            self._slots[number][offset : offset + nbytes] = buffer
        header = _HEADER.pack(number, len(places), 0 if new_file is None else len(self._slots[number]))
        self._connection.send_bytes(b"".join((header, *(_BUFFER.pack(*place) for place in places), body)))
        if new_file is not None:
            from multiprocessing.reduction import send_handle  # loaded already in every worker

            send_handle(self._connection, new_file, os.getppid())
            os.close(new_file)

    def _pickle(self, message, large):
        """The pickle, and the buffers of at least ``large`` bytes that it leaves out (None: leaves out nothing)."""
        buffers = []

        def keep_inside(buffer):
            raw = buffer.raw()
            if large is None or raw.nbytes < large:
                return True
            buffers.append(raw)
            return False

        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, protocol=5, buffer_callback=keep_inside)
        pickler.dispatch_table = self._dispatch
        pickler.dump(message)
        return stream.getbuffer(), buffers

    def _take(self, size):
        """(number, None) of a free slot that holds ``size`` bytes, (number, file) of a new one, or (-1, None)."""
        for position, number in enumerate(self._free):
            if len(self._slots[number]) >= size:
                del self._free[position]
                return number, None
        if len(self._slots) >= SLOTS:
            return -1, None
        capacity = max(mmap.PAGESIZE, 1 << (size - 1).bit_length())  # pages that are never written cost nothing
        try:
            file = os.memfd_create("rushlight-batch")
        except OSError:  # out of file descriptors: the pipe carries the batch
            return -1, None
        os.ftruncate(file, capacity)
        self._slots.append(memoryview(mmap.mmap(file, capacity)))
        return len(self._slots) - 1, file


class BatchReceiver:
    """The loader's end: ``unpack(read())`` objects; ``released`` collects the slots that are free again."""

    def __init__(self, connection):
        self._connection = connection
        self._slots = {}
        self._leases = {}
        self.released = deque()

    def read(self):
        """The next message, still packed; raises EOFError or OSError when the worker is gone."""
        message = self._connection.recv_bytes()
        number, _, new_size = _HEADER.unpack_from(message)
        if new_size:
            self._map(number, new_size)
        return memoryview(message)

    def unpack(self, message):
        """The object in a message; raises what unpickling it raises."""
        number, count, _ = _HEADER.unpack_from(message)
        start = _HEADER.size + count * _BUFFER.size
        if number < 0:
            return pickle.loads(message[start:])
        whole = self._lease(number)
        places = _BUFFER.iter_unpack(message[_HEADER.size : start])
        return pickle.loads(message[start:], buffers=[whole[offset : offset + nbytes] for offset, nbytes in places])

    def _map(self, number, size):
        from multiprocessing.reduction import recv_handle  # loaded already: workers are running

        file = recv_handle(self._connection)
        self._slots[number] = mmap.mmap(file, size)
        os.close(file)

    def _lease(self, number):
        """A view of the slot; when nothing refers to its memory any more, the slot is released."""
        lease = np.frombuffer(self._slots[number], np.uint8)
        released, leases = self.released, self._leases

        def give_back(_):
            del leases[number]
            released.append(number)

        leases[number] = weakref.ref(lease, give_back)
        return memoryview(lease)
