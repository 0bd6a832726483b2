"""How tensors travel between processes: their memory becomes a file without a name, whose descriptor is sent."""

from __future__ import annotations

import os
from multiprocessing import reduction

import numpy as np

from ..base.arrays import storage_bytes, window_on
from ..base.errors import hinted
from ..base.lazy import bits_of, is_meta, stored_in
from ..nn.parameter import Parameter
from ..tensor import Tensor
from ..tensor.base import _rebuild  # type: ignore[attr-defined]
from ..tensor.buffers import SharedMap, shared_map_of


def reduce_tensor(tensor):
    """Move a tensor to shared memory and say how another process finds it there."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            hinted(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
                "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
                "(e.g., putting it on the queue).",
                "send tensor.detach()",
            )
        )
    if is_meta(tensor._array) or not tensor.numel():
        return tensor.__reduce_ex__(2)
    array = stored_in(tensor.share_memory_()._array)
    shared = shared_map_of(array)
    if shared is None:  # a file of the program's own: by value
        return tensor.__reduce_ex__(2)
    place = array.shape, array.dtype, storage_bytes(array)[1], array.strides
    file = reduction.DupFd(shared.file)
    return rebuild_tensor, (type(tensor), file, len(shared), place, tensor.requires_grad, bits_of(tensor._array))


def rebuild_tensor(cls, file, size, place, requires_grad, bits):
    """The tensor on the memory that another process shares."""
    memory = np.frombuffer(SharedMap(file.detach(), size), np.uint8)
    shape, dtype, offset, strides = place
    return _rebuild(cls, window_on(memory, shape, dtype, offset, strides), requires_grad, *bits)


def init_reductions():
    """Let queues, pipes and new processes carry tensors so."""
    if os.name == "posix":  # elsewhere descriptors cannot be sent: by value
        for kind in (Tensor, Parameter):
            reduction.ForkingPickler.register(kind, reduce_tensor)
