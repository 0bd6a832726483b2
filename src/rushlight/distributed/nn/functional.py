"""Collectives with gradients (``torch.distributed.nn.functional``): each returns new tensors, and its backward is a collective, too.

All processes that run one of them forward have to run its backward.
"""

from __future__ import annotations

from ...autograd import Function
from ...base.device import contiguous_format
from ...ops.table import functions
from .. import collectives
from ..groups import GroupMember, group_of, place_of
from ..reductions import ReduceOp


def _is(group, rank):
    """Whether this process is the one of a global rank."""
    return group.rank() == place_of(group, rank, None)


def _zeros(tensor, count):
    return [functions.zeros_like(tensor) for _ in range(count)]


class _AllReduce(Function):
    """The node of `all_reduce`."""

    @staticmethod
    def forward(ctx, op, group, tensor):
        ctx.op, ctx.group = op, group
        made = tensor.clone(memory_format=contiguous_format)
        collectives.all_reduce(made, op, group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Reduce(Function):
    """The node of `reduce`."""

    @staticmethod
    def forward(ctx, root, op, group, tensor):
        ctx.root, ctx.group = root, group
        made = tensor.clone()
        collectives.reduce(made, root, op, group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, _Broadcast.apply(ctx.root, ctx.group, grad)


class _Broadcast(Function):
    """The node of `broadcast`."""

    @staticmethod
    def forward(ctx, root, group, tensor):
        ctx.root, ctx.group = root, group
        made = tensor.clone()
        collectives.broadcast(made, root, group)
        return made

    @staticmethod
    def backward(ctx, grad):
        made = _Reduce.apply(ctx.root, ReduceOp.SUM, ctx.group, grad)
        return None, None, made if _is(ctx.group, ctx.root) else functions.zeros_like(made)


class _AllGather(Function):
    """The node of `all_gather`."""

    @staticmethod
    def forward(ctx, group, tensor):
        ctx.group = group
        outputs = _zeros(tensor, group.size())
        collectives.all_gather(outputs, tensor, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        received = _AlltoAll.apply(ctx.group, _zeros(grads[0], ctx.group.size()), *grads)
        return None, functions.stack(received).sum(0)


class _Gather(Function):
    """The node of `gather`."""

    @staticmethod
    def forward(ctx, root, group, tensor):
        ctx.root, ctx.group = root, group
        outputs = _zeros(tensor, group.size())
        collectives.gather(tensor, outputs if _is(group, root) else None, root, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, _Scatter.apply(ctx.root, ctx.group, *grads)


class _Scatter(Function):
    """The node of `scatter`."""

    @staticmethod
    def forward(ctx, root, group, *tensors):
        ctx.root, ctx.group = root, group
        made = functions.zeros_like(tensors[0])
        collectives.scatter(made, list(tensors) if _is(group, root) else None, root, group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return None, None, *_Gather.apply(ctx.root, ctx.group, grad)


class _Reduce_Scatter(Function):
    """The node of `reduce_scatter`."""

    @staticmethod
    def forward(ctx, op, group, output, *tensors):
        ctx.group = group
        made = functions.zeros_like(output)
        collectives.reduce_scatter(made, list(tensors), op, group)
        return made

    @staticmethod
    def backward(ctx, grad):
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _AlltoAll(Function):
    """The node of `all_to_all`."""

    @staticmethod
    def forward(ctx, group, outputs, *tensors):
        ctx.group, ctx.shapes = group, [tensor.shape for tensor in tensors]
        made = [functions.zeros_like(each) for each in outputs]
        collectives.all_to_all(made, list(tensors), group)
        return tuple(made)

    @staticmethod
    def backward(ctx, *grads):
        outputs = [grads[0].new_empty(shape) for shape in ctx.shapes]
        return None, None, *_AlltoAll.apply(ctx.group, outputs, *grads)


class _AlltoAllSingle(Function):
    """The node of `all_to_all_single`."""

    @staticmethod
    def forward(ctx, group, output, output_sizes, input_sizes, tensor):
        ctx.group, ctx.shape, ctx.sizes = group, tensor.shape, (input_sizes, output_sizes)
        made = functions.zeros_like(output)
        collectives.all_to_all_single(made, tensor, output_sizes, input_sizes, group)
        return made

    @staticmethod
    def backward(ctx, grad):
        made = _AlltoAllSingle.apply(ctx.group, grad.new_empty(ctx.shape), *ctx.sizes, grad)
        return None, None, None, None, made


def _member(group):
    found = group_of(group)
    if found == GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified")
    return found


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The tensors of all processes joined by ``op``."""
    return _AllReduce.apply(op, _member(group), tensor)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """The tensors of all processes joined by ``op``, in process ``dst``; the others get theirs."""
    return _Reduce.apply(dst, op, _member(group), tensor)


def broadcast(tensor, src, group=None):
    """The tensor of process ``src``."""
    return _Broadcast.apply(src, _member(group), tensor)


def all_gather(tensor, group=None):
    """The tensors of all processes, a tuple."""
    return _AllGather.apply(_member(group), tensor)


def gather(tensor, dst=0, group=None):
    """The tensors of all processes, a tuple, in process ``dst``; zeros in the others."""
    return _Gather.apply(dst, _member(group), tensor)


def scatter(tensors, src=0, group=None):
    """Of the tensors that process ``src`` has, the one of this process's rank."""
    return _Scatter.apply(src, _member(group), *tensors)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """Of the tensors that the lists of all processes give, joined by ``op``, the one of this process's rank."""
    return _Reduce_Scatter.apply(op, _member(group), output, *input_list)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """The tensors that all processes send to this one, a tuple."""
    return _AlltoAll.apply(_member(group), output_tensor_list, *input_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """`all_to_all` of one tensor, cut along dimension 0 evenly or into parts of the given sizes."""
    return _AlltoAllSingle.apply(_member(group), output, output_split_sizes, input_split_sizes, input)
