"""Collectives: what the processes of a group do together with tensors. In a world of one, values move within the process."""

from __future__ import annotations

from datetime import timedelta

from ..autograd import no_grad
from ..base.errors import hinted
from ..tensor import Tensor
from .groups import ALONE, default_group, group_of
from .reductions import ReduceOp, check_reduction


class Work:
    """A collective that was begun with ``async_op=True``: alone, it is over when it is returned."""

    def __init__(self, result):
        self._result = result

    def wait(self, timeout=timedelta(0)):
        """Wait for the end. Returns True."""
        return True

    def is_completed(self):
        """Whether it is over."""
        return True

    def is_success(self):
        """Whether it went well."""
        return True

    def exception(self):
        """The error that ended it: None."""
        return None

    def result(self):
        """The tensors that were written."""
        return self._result

    def get_future(self):
        """A ``torch.futures.Future`` of the tensors that were written."""
        from ..futures import Future

        future = Future()
        future.set_result(self._result)
        return future

    def block_current_stream(self):
        """Let later work wait for this: nothing to do on a CPU."""


def _begun(async_op, *written):
    return Work(list(written)) if async_op else None


def _check(name, value):
    if not isinstance(value, Tensor):
        raise TypeError(
            hinted(
                f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor",
                f"it is of type {type(value).__name__}",
            )
        )


def _check_list(name, values):
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, Tensor) for value in values):
        raise TypeError(
            hinted(
                f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]",
                f"it is of type {type(values).__name__}",
            )
        )


def _check_dtypes(first, *others):
    for other in others:
        if other.dtype is not first.dtype:
            raise ValueError(
                hinted(
                    f"Invalid usage of tensors with different dtypesFound {first.dtype} and  {other.dtype}",
                    "all tensors of a collective share one dtype",
                )
            )


def check_root(name, root, group_root):
    if root is None and group_root is None:
        raise ValueError(hinted("Must specify global_rank or group_rank", ALONE))
    rank = root if root is not None else group_root
    if rank != 0:
        raise RuntimeError(hinted(f"ProcessGroupGloo::{name}: invalid root rank: {rank}", ALONE))


def _check_shape(name, found, wanted):
    if found.shape != wanted.shape:
        sizes = [f"({', '.join(map(str, each.shape))})" for each in (wanted, found)]
        raise RuntimeError(
            hinted(
                f"ProcessGroupGloo::{name}: invalid tensor size at index 0 (expected {sizes[0]}, got {sizes[1]})",
                "what is received has the shape of what is sent",
            )
        )


def _check_only(collective, kind, tensor, values):
    """Refuse a list for the group's processes that does not hold one tensor like ``tensor``."""
    _check_list(f"{collective}_list", values)
    _check_dtypes(tensor, *values)
    if len(values) != 1:
        size = f"{kind} list size"
        message = f"Incorrect {size} {len(values)}. {size.capitalize()} should be 1, same as size of the process group."
        raise RuntimeError(hinted(f"ProcessGroupGloo::{collective}: {message}", ALONE))
    _check_shape(collective, values[0], tensor)


def _write(target, source):
    with no_grad():
        target.detach().copy_(source.detach())


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Join the tensors of all processes by ``op``, in place.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _check("tensor", tensor)
    group_of(group)
    check_reduction(op, tensor, "all_reduce")
    return _begun(async_op, tensor)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """`all_reduce` of several tensors."""
    _check_list("tensors", tensors)
    group_of(group)
    for tensor in tensors:
        check_reduction(op, tensor, "all_reduce")
    return _begun(async_op, *tensors)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Join the tensors of all processes by ``op``, into that of process ``dst``."""
    _check("tensor", tensor)
    group_of(group)
    check_root("reduce", dst, group_dst)
    check_reduction(op, tensor, "reduce")
    return _begun(async_op, tensor)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Write the tensor of process ``src`` into that of every other."""
    _check("tensor", tensor)
    group_of(group)
    check_root("broadcast", src, group_src)
    return _begun(async_op, tensor)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Write the tensors of all processes into those of ``tensor_list``, one for each process."""
    _check_list("tensor_list", tensor_list)
    _check("tensor", tensor)
    _check_dtypes(*tensor_list, tensor)
    group_of(group)
    if len(tensor_list) != 1:
        message = f"invalid output tensor list at index 0 (expected length 1, got {len(tensor_list)})"
        raise RuntimeError(hinted(f"ProcessGroupGloo::allgather: {message}", ALONE))
    _check_shape("allgather", tensor_list[0], tensor)
    _write(tensor_list[0], tensor)
    return _begun(async_op, *tensor_list)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """`all_gather` of several tensors."""
    _check_list("input_tensor_list", input_tensor_list)
    for outputs, tensor in zip(output_tensor_lists, input_tensor_list):
        all_gather(outputs, tensor, group)
    return _begun(async_op, *(each for outputs in output_tensor_lists for each in outputs))


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Write the tensors of all processes into one, behind each other along dimension 0."""
    _check("input_tensor", input_tensor)
    _check("output_tensor", output_tensor)
    group_of(group)
    _check_shape("allgather", output_tensor, input_tensor)
    _check_dtypes(input_tensor, output_tensor)
    _write(output_tensor, input_tensor)
    return _begun(async_op, output_tensor)


all_gather_single = all_gather_into_tensor


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Write the tensors of all processes into ``gather_list`` of process ``dst`` (0)."""
    _check("tensor", tensor)
    group_of(group)
    check_root("gather", 0 if dst is group_dst is None else dst, group_dst)
    if not gather_list:
        message = "Argument ``gather_list`` must be specified on destination rank."
        raise ValueError(hinted(message, "a list with a tensor for each process"))
    _check_only("gather", "output", tensor, gather_list)
    _write(gather_list[0], tensor)
    return _begun(async_op, *gather_list)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Write each tensor of ``scatter_list`` of process ``src`` (0) into that of another process."""
    _check("tensor", tensor)
    group_of(group)
    check_root("scatter", 0 if src is group_src is None else src, group_src)
    if not scatter_list:
        message = "Argument ``scatter_list`` must be specified on source rank."
        raise ValueError(hinted(message, "a list with a tensor for each process"))
    _check_only("scatter", "input", tensor, scatter_list)
    _write(tensor, scatter_list[0])
    return _begun(async_op, tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Join the lists of all processes by ``op``; each process gets one of the results."""
    _check("output", output)
    _check_list("input_list", input_list)
    _check_dtypes(output, *input_list)
    group_of(group)
    check_reduction(op, output, "reduce_scatter")
    if len(input_list) != 1:
        raise RuntimeError(hinted("invalid input tensor list size, must be world size", ALONE))
    _check_shape("reduce_scatter", input_list[0], output)
    _write(output, input_list[0])
    return _begun(async_op, output)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """`reduce_scatter` of one tensor, cut along dimension 0."""
    _check("output", output)
    _check("input", input)
    group_of(group)
    check_reduction(op, output, "reduce_scatter_tensor")
    _check_shape("reduce_scatter", input, output)
    _check_dtypes(output, input)
    _write(output, input)
    return _begun(async_op, output)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Send the tensor number i to process i, and receive one from each."""
    _check_list("output_tensor_list", output_tensor_list)
    _check_list("input_tensor_list", input_tensor_list)
    _check_dtypes(*output_tensor_list, *input_tensor_list)
    group_of(group)
    if len(input_tensor_list) != 1:
        message = (
            f"ProcessGroupGloo::alltoall: input tensor list size {len(input_tensor_list)} does not match world size 1"
        )
        raise RuntimeError(hinted(message, ALONE))
    if output_tensor_list[0].numel() != input_tensor_list[0].numel():
        message = "ProcessGroupGloo::alltoall: input and output tensors must have the same size"
        raise RuntimeError(hinted(message, "what is received has the shape of what is sent"))
    _write(output_tensor_list[0], input_tensor_list[0].reshape(output_tensor_list[0].shape))
    return _begun(async_op, *output_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """`all_to_all` of one tensor, cut along dimension 0 evenly or into parts of the given sizes."""
    _check("output", output)
    _check("input", input)
    _check_dtypes(output, input)
    group_of(group)
    for sizes, tensor in ((output_split_sizes, output), (input_split_sizes, input)):
        if sizes and sum(sizes) != tensor.shape[0]:
            message = "Split sizes doesn't match total dim 0 size"
            raise RuntimeError(hinted(message, f"{list(sizes)} for {tensor.shape[0]} rows"))
    if output.numel() != input.numel():
        message = "ProcessGroupGloo::alltoall: input and output tensors must have the same size"
        raise RuntimeError(hinted(message, f"{tuple(input.shape)} does not fit into {tuple(output.shape)}"))
    _write(output, input.reshape(output.shape))
    return _begun(async_op, output)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Wait until all processes have come here."""
    group_of(group)
    return _begun(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """`barrier` that names the process that did not come."""
    group_of(group)


def _refuse_peer(rank, what):
    default_group()
    if rank in (None, 0):
        raise ValueError(
            hinted(
                f"Invalid {what} rank: {what} rank should not be the same as the rank of the current process.", ALONE
            )
        )
    raise ValueError(hinted(f"Invalid {what} rank: {rank} is not part of the group", ALONE))


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to process ``dst``: there is no other in this version."""
    _check("tensor", tensor)
    _refuse_peer(group_dst if dst is None else dst, "destination")


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive a tensor of process ``src``: there is no other in this version."""
    _check("tensor", tensor)
    _refuse_peer(group_src if src is None else src, "source")


isend, irecv = send, recv


class P2POp:
    """A send or receive for `batch_isend_irecv`."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            message = "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            raise ValueError(hinted(message, f"it is {op!r}"))
        self.op, self.tensor, self.group, self.tag = op, tensor, group, tag
        self.peer = group_peer if peer is None else peer


def batch_isend_irecv(p2p_op_list):
    """Begin several sends and receives."""
    return [each.op(each.tensor, each.peer, each.group, each.tag) for each in p2p_op_list]
