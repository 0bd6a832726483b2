"""Collectives with gradients (``torch.distributed.nn.functional``): each returns a new tensor. In a world of one it equals its input."""

from __future__ import annotations

from ...autograd import Function
from .. import collectives
from ..groups import group_of
from ..reductions import ReduceOp, check_reduction


class _Copied(Function):
    """The only process receives what it sent, and backward what it received."""

    @staticmethod
    def forward(ctx, tensor):
        return tensor.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad.clone()


class _AllReduce(_Copied):
    """The node of `all_reduce`."""


class _AllGather(_Copied):
    """The node of `all_gather`."""


class _Broadcast(_Copied):
    """The node of `broadcast`."""


class _Gather(_Copied):
    """The node of `gather`."""


class _Scatter(_Copied):
    """The node of `scatter`."""


class _Reduce(_Copied):
    """The node of `reduce`."""


class _Reduce_Scatter(_Copied):
    """The node of `reduce_scatter`."""


class _AlltoAll(_Copied):
    """The node of `all_to_all`."""


class _AlltoAllSingle(_Copied):
    """The node of `all_to_all_single`."""


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The tensors of all processes joined by ``op``."""
    group_of(group)
    check_reduction(op, tensor, "all_reduce")
    return _AllReduce.apply(tensor)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """The tensors of all processes joined by ``op``, in process ``dst``."""
    group_of(group)
    collectives.check_root("reduce", dst, None)
    check_reduction(op, tensor, "reduce")
    return _Reduce.apply(tensor)


def broadcast(tensor, src, group=None):
    """The tensor of process ``src``."""
    group_of(group)
    collectives.check_root("broadcast", src, None)
    return _Broadcast.apply(tensor)


def all_gather(tensor, group=None):
    """The tensors of all processes, a tuple."""
    group_of(group)
    return (_AllGather.apply(tensor),)


def gather(tensor, dst=0, group=None):
    """The tensors of all processes, a tuple, in process ``dst``."""
    group_of(group)
    collectives.check_root("gather", dst, None)
    return (_Gather.apply(tensor),)


def scatter(tensors, src=0, group=None):
    """One of the tensors that process ``src`` has."""
    group_of(group)
    collectives.check_root("scatter", src, None)
    return _Scatter.apply(tensors[0])


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """One of the tensors that the lists of all processes give, joined by ``op``."""
    group_of(group)
    check_reduction(op, output, "reduce_scatter")
    return _Reduce_Scatter.apply(input_list[0])


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """The tensors that all processes send to this one, a tuple."""
    group_of(group)
    return tuple(_AlltoAll.apply(each) for each in input_tensor_list)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """`all_to_all` of one tensor, cut along dimension 0."""
    group_of(group)
    return _AlltoAllSingle.apply(input)
