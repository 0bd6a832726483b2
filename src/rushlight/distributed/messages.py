"""Messages from one process to another: ``send``, ``recv``, ``isend``, ``irecv`` and several of them at once."""

from __future__ import annotations

from ..base.errors import hinted
from . import operations
from .collectives import check_tensor
from .groups import member_of, place_of


def _peer(group, rank, group_rank, what):
    """The place in the group of the other process; ValueError where it is this one, or in none."""
    peer = place_of(group, rank, group_rank)
    if peer == group.rank():
        message = f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process."
        raise ValueError(hinted(message, f"this process has rank {peer} of {group.size()}"))
    if not 0 <= peer < group.size():
        raise ValueError(hinted(f"Invalid {what} rank: {peer}", f"the group has ranks 0 to {group.size() - 1}"))
    return peer


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Begin to send a tensor to process ``dst``; it may not change until the `Work` that comes back is over."""
    check_tensor("tensor", tensor)
    group = member_of(group, "isend")
    if group is None:
        return None
    return operations.send(group, tensor, _peer(group, dst, group_dst, "destination"), tag)


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Begin to receive a tensor from process ``src``, without one from whichever sends first."""
    check_tensor("tensor", tensor)
    group = member_of(group, "irecv")
    if group is None:
        return None
    peer = None if src is group_src is None else _peer(group, src, group_src, "source")
    return operations.receive(group, tensor, peer, tag)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to process ``dst``."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive a tensor from process ``src``, without one from whichever sends first. Returns the sender's rank, -1 outside the group."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return member_of(group, "recv").ranks[work.source()]


class P2POp:
    """A send or receive for `batch_isend_irecv`."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            message = "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            raise ValueError(hinted(message, f"it is {op!r}"))
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.peer, self.group_peer = peer, group_peer


def batch_isend_irecv(p2p_op_list):
    """Begin several sends and receives. Returns their works."""
    works = [each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer) for each in p2p_op_list]
    return [work for work in works if work is not None]
