"""Collectives of Python objects. They travel as `rushlight.save` writes them, and are read by its closed reader: data runs no code."""

from __future__ import annotations

import io

import numpy as np

from ..base.errors import hinted
from ..ops.table import functions
from ..serialization import load, save
from . import operations
from .collectives import check_list_of_root
from .groups import member_of, root_of
from .messages import recv, send


def _packed(value):
    file = io.BytesIO()
    save(value, file)
    return np.frombuffer(file.getbuffer(), np.uint8)


def _unpacked(array):
    return load(io.BytesIO(array.tobytes()), weights_only=False)


def _gathered(group, value):
    """The objects of all processes."""
    packed = _packed(value)
    sizes = functions.wrap(np.zeros(group.size(), np.int64))
    operations.all_gather_into_tensor(group, sizes, functions.wrap(np.array([packed.size]))).wait()
    longest = int(sizes.max())
    padded = np.zeros(longest, np.uint8)
    padded[: packed.size] = packed
    arrays = functions.wrap(np.empty(longest * group.size(), np.uint8))
    operations.all_gather_into_tensor(group, arrays, functions.wrap(padded)).wait()
    rows = arrays.numpy().reshape(group.size(), longest)
    return [_unpacked(row[:size]) for row, size in zip(rows, sizes.tolist())]


def all_gather_object(object_list, obj, group=None):
    """Write the objects of all processes into ``object_list``, one for each process.

    >>> import rushlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> found = [None]
    >>> dist.all_gather_object(found, {"loss": 0.5})
    >>> found
    [{'loss': 0.5}]
    >>> dist.destroy_process_group()
    """
    group = member_of(group, "all_gather_object")
    if group is None:
        return
    for place, each in enumerate(_gathered(group, obj)):
        object_list[place] = each


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Write the objects of all processes into ``object_gather_list`` of process ``dst`` (0); None in the others."""
    group = member_of(group, "gather_object")
    if group is None:
        return
    is_root = group.rank() == root_of("gather", group, dst, group_dst, default=0)
    check_list_of_root("gather_list", object_gather_list, is_root, "destination")
    found = _gathered(group, obj)
    if is_root:
        for place, each in enumerate(found):
            object_gather_list[place] = each


def _broadcast(group, value, root):
    """The object that process ``root`` has."""
    packed = _packed(value) if group.rank() == root else None
    size = functions.wrap(np.array([0 if packed is None else packed.size]))
    operations.broadcast(group, size, root).wait()
    array = functions.wrap(np.empty(size.item(), np.uint8) if packed is None else packed.copy())
    operations.broadcast(group, array, root).wait()
    return _unpacked(array.numpy())


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Write the objects of process ``src`` into the lists of the others."""
    group = member_of(group, "broadcast_object_list")
    if group is None:
        return
    root = root_of("broadcast", group, src, group_src, default=0)
    found = _broadcast(group, list(object_list), root)
    if group.rank() != root:
        object_list[:] = found


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
):
    """Give each process one object of the list of process ``src`` (0)."""
    group = member_of(group, "scatter_object_list")
    if group is None:
        return
    root = root_of("scatter", group, src, group_src, default=0)
    if group.rank() == root and scatter_object_input_list is None:
        message = "source rank must provide non-None scatter_object_input_list"
        raise ValueError(hinted(message, "a list with an object for each process"))
    scatter_object_output_list[0] = _broadcast(group, scatter_object_input_list, root)[group.rank()]


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
    """Send objects to process ``dst``."""
    send_value(list(object_list), dst, group, 0, group_dst)


def send_value(value, dst, group, tag, group_dst):
    """Send one object to a process."""
    packed = _packed(value)
    send(functions.wrap(np.array([packed.size])), dst, group, tag, group_dst)
    send(functions.wrap(packed.copy()), dst, group, tag, group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
    """Receive objects from process ``src``, without one from whichever sends first. Returns the sender's rank."""
    object_list[:], sender = receive_value(src, group, 0, group_src)
    return sender


def receive_value(src, group, tag, group_src):
    """(one object, the rank of its sender) from a process."""
    size = functions.wrap(np.zeros(1, np.int64))
    sender = recv(size, src, group, tag, group_src)
    array = functions.wrap(np.empty(size.item(), np.uint8))
    recv(array, sender, group, tag)
    return _unpacked(array.numpy()), sender
