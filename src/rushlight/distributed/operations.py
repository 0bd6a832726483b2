"""Operations of a process group on tensors that were checked: memory goes to the transport as it is, and comes back as `Work`."""

from __future__ import annotations

import time

import numpy as np

from ..autograd import no_grad
from ..base.errors import hinted
from ..base.lazy import plain
from ..ops.table import functions
from . import waiting
from .reductions import RedOpType
from .work import Work


def put(tensor, array):
    """Write the numbers of an array into a tensor of as many elements."""
    with no_grad():
        tensor.detach().copy_(functions.wrap(array.reshape(tensor.shape)))


def read(tensor):
    """The numbers of a tensor as a contiguous array: its own memory where it is one."""
    array = tensor._array
    if array.__class__ is not np.ndarray:
        array = plain(array)
    return array if array.flags.c_contiguous else array.copy()


def _written(tensor, finish):
    """A contiguous array that is written: the tensor's memory, or a copy that ``finish`` gets to put back."""
    array = tensor._array
    if array.__class__ is np.ndarray and array.flags.c_contiguous:
        return array
    array = plain(array).copy()
    finish.append(lambda: put(tensor, array))
    return array


def _averaged(tensor, op, size, finish):
    """Let ``finish`` make an average of a sum."""
    if op is RedOpType.AVG and size > 1:
        finish.append(lambda: _divide(tensor, size))


def _divide(tensor, size):
    with no_grad():
        tensor.detach().div_(size)


def all_reduce(group, tensor, op):
    """Join a tensor of all processes, in place."""
    finish = []
    group.enter("all_reduce", tensor)
    array = _written(tensor, finish)
    _averaged(tensor, op, group.size(), finish)
    return Work(group, "all_reduce", [tensor], group.transport.all_reduce(array, op), finish, array.nbytes)


def reduce(group, tensor, op, root):
    """`all_reduce` for the process ``root`` alone, a rank of the group as everywhere here."""
    finish = []
    group.enter("reduce", tensor)
    array = _written(tensor, finish)
    if group.rank() == root:
        _averaged(tensor, op, group.size(), finish)
    return Work(group, "reduce", [tensor], group.transport.reduce(array, op, root), finish, array.nbytes)


def broadcast(group, tensor, root):
    """Write the tensor of ``root`` into those of the others."""
    finish = []
    group.enter("broadcast", tensor)
    array = _written(tensor, finish)
    return Work(group, "broadcast", [tensor], group.transport.broadcast(array, root), finish, array.nbytes)


def all_gather(group, outputs, tensor):
    """Write the tensors of all processes into the list ``outputs``."""
    group.enter("all_gather", tensor)
    array = read(tensor)
    gathered = np.empty((group.size(), *array.shape), array.dtype)
    request = group.transport.all_gather(gathered, array)
    return Work(group, "all_gather", list(outputs), request, [lambda: _put_all(outputs, gathered)], gathered.nbytes)


def _put_all(outputs, arrays):
    for output, array in zip(outputs, arrays):
        put(output, array)


def all_gather_into_tensor(group, output, tensor):
    """Write the tensors of all processes into one, behind each other."""
    finish = []
    group.enter("all_gather_into_tensor", tensor)
    request = group.transport.all_gather(_written(output, finish), read(tensor))
    return Work(group, "all_gather_into_tensor", [output], request, finish, output.nbytes)


def gather(group, outputs, tensor, root):
    """`all_gather` for ``root`` alone; ``outputs`` is None elsewhere."""
    group.enter("gather", tensor)
    array = read(tensor)
    if outputs is None:
        return Work(group, "gather", [], group.transport.gather(None, array, root), ())
    gathered = np.empty((group.size(), *array.shape), array.dtype)
    request = group.transport.gather(gathered, array, root)
    return Work(group, "gather", list(outputs), request, [lambda: _put_all(outputs, gathered)])


def scatter(group, tensor, sources, root):
    """Write tensor number i of ``root``'s list into that of process i; ``sources`` is None elsewhere."""
    finish = []
    group.enter("scatter", tensor)
    array = _written(tensor, finish)
    source = None if sources is None else _joined(sources)
    return Work(group, "scatter", [tensor], group.transport.scatter(array, source, root), finish, tensor.nbytes)


def _joined(tensors):
    return np.concatenate([read(each).reshape(-1) for each in tensors])


def reduce_scatter(group, output, source, op):
    """Join the arrays ``source`` of all processes; each gets the part of its rank."""
    finish = []
    group.enter("reduce_scatter", output)
    array = _written(output, finish)
    _averaged(output, op, group.size(), finish)
    return Work(
        group, "reduce_scatter", [output], group.transport.reduce_scatter(array, source, op), finish, source.nbytes
    )


def reduce_scatter_lists(group, output, tensors, op):
    """`reduce_scatter` of a list of tensors."""
    return reduce_scatter(group, output, _joined(tensors), op)


def all_to_all(group, outputs, tensors):
    """Send tensor number i to process i; one comes from each."""
    group.enter("all_to_all", tensors[0])
    received = [each.numel() for each in outputs]
    gathered = np.empty(sum(received), read(tensors[0]).dtype)
    request = group.transport.all_to_all(gathered, received, _joined(tensors), [each.numel() for each in tensors])
    parts = np.split(gathered, np.cumsum(received)[:-1])
    return Work(group, "all_to_all", list(outputs), request, [lambda: _put_all(outputs, parts)], gathered.nbytes)


def all_to_all_single(group, output, received, tensor, sent):
    """`all_to_all` of rows of one tensor: ``sent[i]`` of them to process i."""
    finish = []
    group.enter("all_to_all_single", tensor)
    row = tensor.numel() // tensor.shape[0] if tensor.shape[0] else 0
    received_row = output.numel() // output.shape[0] if output.shape[0] else 0
    request = group.transport.all_to_all(
        _written(output, finish),
        [each * received_row for each in received],
        read(tensor),
        [each * row for each in sent],
    )
    return Work(group, "all_to_all_single", [output], request, finish, output.nbytes)


def send(group, tensor, peer, tag):
    """Begin to send a tensor to process ``peer``."""
    return Work(group, "send", [tensor], group.transport.send(read(tensor), peer, tag), (), tensor.nbytes)


def receive(group, tensor, peer, tag):
    """Begin to receive a tensor from process ``peer``, from any where it is None."""
    finish = []
    request = group.transport.receive(_written(tensor, finish), peer, tag)
    work = Work(group, "recv", [tensor], request, finish, tensor.nbytes)
    work.source = lambda: request.source
    return work


def barrier(group):
    """Wait until all processes have come here."""
    group.enter("barrier", None)
    return Work(group, "barrier", [], group.transport.barrier(), ())


def monitored_barrier(group, seconds, all_ranks):
    """Wait until all processes have told process 0 that they are here, and it has told them so."""
    group.enter("monitored_barrier", None)
    call, token = group.call("monitored_barrier", group.number), np.zeros(1, np.uint8)
    transport = group.transport
    if group.size() == 1:
        return
    if group.rank() != 0:
        transport.send(token, 0, group.last_tag)
        _wait_for_root(group, transport.receive(token, 0, group.last_tag), call, seconds)
        return
    late, end = [], time.monotonic() + seconds
    for rank in range(1, group.size()):
        try:
            waiting.wait(transport.receive(token, rank, group.last_tag), call, max(0.0, end - time.monotonic()))
        except RuntimeError as error:
            late.append(rank)
            if not all_ranks:
                raise _late(late, seconds) from error
    if late:
        raise _late(late, seconds)
    for rank in range(1, group.size()):
        transport.send(token, rank, group.last_tag)


def _wait_for_root(group, request, call, seconds):
    try:
        waiting.wait(request, call, seconds)
    except RuntimeError as error:
        raise RuntimeError(
            hinted(
                f"Rank {group.rank()} successfully reached monitoredBarrier, but received errors while waiting for send/recv from "
                "rank 0. Please check rank 0 logs for faulty rank.",
                str(error).partition("hint: ")[2],
            )
        ) from error


def _late(ranks, seconds):
    named = ", ".join(map(str, ranks))
    return RuntimeError(
        hinted(
            f"[Rank 0]: Ranks {named} failed to pass monitoredBarrier in {int(seconds * 1000)} ms",
            "their programs did not come to monitored_barrier(): the error above says where they are",
        )
    )
