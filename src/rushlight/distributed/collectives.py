"""Collectives: what the processes of a group do together with tensors, with PyTorch's checks; `operations` does it."""

from __future__ import annotations

from ..base.errors import hinted
from ..tensor import Tensor
from . import operations
from .groups import member_of, root_of
from .reductions import ReduceOp, check_reduction
from .work import Work


def given_back(work, async_op):
    """The work itself, or None once it is done."""
    if async_op:
        return work
    work.wait()
    return None


def check_tensor(name, value):
    """PyTorch's refusal of what is no tensor."""
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


def _sizes(shape):
    return f"({', '.join(map(str, shape))})"


def _check_shape(name, found, wanted, place=0):
    if found != wanted:
        raise RuntimeError(
            hinted(
                f"ProcessGroupGloo::{name}: invalid tensor size at index {place} (expected {_sizes(wanted)}, got {_sizes(found)})",
                "what is received has the shape of what is sent",
            )
        )


def _check_members(collective, kind, tensor, values, size):
    """Refuse a list for the group's processes that does not hold tensors like ``tensor``, one for each."""
    _check_list(f"{collective}_list", values)
    _check_dtypes(tensor, *values)
    if len(values) != size:
        name = f"{kind} list size"
        message = (
            f"Incorrect {name} {len(values)}. {name.capitalize()} should be {size}, same as size of the process group."
        )
        raise RuntimeError(hinted(f"ProcessGroupGloo::{collective}: {message}", "one tensor for each process"))
    for place, each in enumerate(values):
        _check_shape(collective, each.shape, tensor.shape, place)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Join the tensors of all processes by ``op``, in place (``torch.distributed.all_reduce``).

    Args:
        tensor: of any dtype and layout, of the same shape in all processes; of sparse ones in the layout ``sparse_coo`` their sum.
        op: a `ReduceOp`; default: their sum.
        group: default: all processes.
        async_op: begin only, and return a `Work` to wait for.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.all_reduce(x)
    >>> x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    check_tensor("tensor", tensor)
    group = member_of(group, "all_reduce")
    if group is None:
        return None
    check_reduction(op, tensor, "all_reduce")
    return given_back(group.allreduce(tensor, op), async_op)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """`all_reduce` of several tensors."""
    _check_list("tensors", tensors)
    group = member_of(group, "all_reduce_coalesced")
    if group is None:
        return None
    for tensor in tensors:
        check_reduction(op, tensor, "all_reduce")
    return given_back(_several([operations.all_reduce(group, each, op) for each in tensors], group), async_op)


def _several(works, group):
    """The works of several tensors as one."""
    tensors = [tensor for work in works for tensor in work.result()]
    return Work(group, "coalesced", tensors, _All(works))


class _All:
    """The request of several works."""

    def __init__(self, works):
        self._works = works

    def Test(self):
        """Whether all are over."""
        left = [work for work in self._works if not work.is_completed()]  # each is asked, which moves it
        return not left


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Join the tensors of all processes by ``op``, into that of process ``dst``; the others keep theirs."""
    check_tensor("tensor", tensor)
    group = member_of(group, "reduce")
    if group is None:
        return None
    root = root_of("reduce", group, dst, group_dst)
    check_reduction(op, tensor, "reduce")
    return given_back(operations.reduce(group, tensor, op, root), async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Write the tensor of process ``src`` into that of every other."""
    check_tensor("tensor", tensor)
    group = member_of(group, "broadcast")
    if group is None:
        return None
    return given_back(operations.broadcast(group, tensor, root_of("broadcast", group, src, group_src)), async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Write the tensors of all processes into those of ``tensor_list``, one for each process."""
    _check_list("tensor_list", tensor_list)
    check_tensor("tensor", tensor)
    _check_dtypes(*tensor_list, tensor)
    group = member_of(group, "all_gather")
    if group is None:
        return None
    if len(tensor_list) != group.size():
        message = f"invalid output tensor list at index 0 (expected length {group.size()}, got {len(tensor_list)})"
        raise RuntimeError(hinted(f"ProcessGroupGloo::allgather: {message}", "one tensor for each process"))
    for place, each in enumerate(tensor_list):
        _check_shape("allgather", each.shape, tensor.shape, place)
    return given_back(operations.all_gather(group, tensor_list, tensor), async_op)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """`all_gather` of several tensors."""
    _check_list("input_tensor_list", input_tensor_list)
    group = member_of(group, "all_gather_coalesced")
    if group is None:
        return None
    pairs = zip(output_tensor_lists, input_tensor_list)
    works = [all_gather(outputs, tensor, group, async_op=True) for outputs, tensor in pairs]
    return given_back(_several(works, group), async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Write the tensors of all processes into one, behind each other along dimension 0."""
    check_tensor("input_tensor", input_tensor)
    check_tensor("output_tensor", output_tensor)
    group = member_of(group, "all_gather_into_tensor")
    if group is None:
        return None
    first = output_tensor if group.size() == 1 else output_tensor.detach().chunk(group.size())[0]
    _check_shape("allgather", first.shape, input_tensor.shape)
    _check_dtypes(input_tensor, output_tensor)
    if output_tensor.numel() != input_tensor.numel() * group.size():
        raise RuntimeError(
            hinted(
                "ProcessGroupGloo::allgather: invalid output tensor size",
                f"{group.size()} times {_sizes(input_tensor.shape)}, one behind the other, does not make {_sizes(output_tensor.shape)}",
            )
        )
    return given_back(operations.all_gather_into_tensor(group, output_tensor, input_tensor), async_op)


all_gather_single = all_gather_into_tensor


def check_list_of_root(name, values, is_root, what):
    """PyTorch's refusal of a list in the wrong process, or none in the right one."""
    if is_root and not values:
        message = f"Argument ``{name}`` must be specified on {what} rank."
        raise ValueError(hinted(message, "a list with a tensor for each process"))
    if not is_root and values:
        message = f"Argument ``{name}`` must NOT be specified on non-{what} ranks."
        raise ValueError(hinted(message, f"only the {what} has the list: pass None here"))


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Write the tensors of all processes into ``gather_list`` of process ``dst`` (0); None in the others."""
    check_tensor("tensor", tensor)
    group = member_of(group, "gather")
    if group is None:
        return None
    root = root_of("gather", group, dst, group_dst, default=0)
    check_list_of_root("gather_list", gather_list, group.rank() == root, "destination")
    if gather_list:
        _check_members("gather", "output", tensor, gather_list, group.size())
    return given_back(operations.gather(group, gather_list or None, tensor, root), async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Write each tensor of ``scatter_list`` of process ``src`` (0) into that of another process; None in the others."""
    check_tensor("tensor", tensor)
    group = member_of(group, "scatter")
    if group is None:
        return None
    root = root_of("scatter", group, src, group_src, default=0)
    check_list_of_root("scatter_list", scatter_list, group.rank() == root, "source")
    if scatter_list:
        _check_members("scatter", "input", tensor, scatter_list, group.size())
    return given_back(operations.scatter(group, tensor, scatter_list or None, root), async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Join the lists of all processes by ``op``; process i gets result number i."""
    check_tensor("output", output)
    _check_list("input_list", input_list)
    _check_dtypes(output, *input_list)
    group = member_of(group, "reduce_scatter")
    if group is None:
        return None
    check_reduction(op, output, "reduce_scatter")
    if len(input_list) != group.size():
        raise RuntimeError(
            hinted("invalid input tensor list size, must be world size", f"{len(input_list)} for {group.size()}")
        )
    for place, each in enumerate(input_list):
        _check_shape("reduce_scatter", each.shape, output.shape, place)
    return given_back(operations.reduce_scatter_lists(group, output, input_list, op), async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """`reduce_scatter` of one tensor, cut along dimension 0."""
    check_tensor("output", output)
    check_tensor("input", input)
    group = member_of(group, "reduce_scatter_tensor")
    if group is None:
        return None
    check_reduction(op, output, "reduce_scatter_tensor")
    rows = [each.shape[0] if each.dim() else 1 for each in (output, input)]
    if rows[0] * group.size() != rows[1] or output.numel() * group.size() != input.numel():
        raise RuntimeError(
            hinted(
                f"Check failed: outputShape[0] * worldSize == inputShape[0] ({rows[0] * group.size()} vs. {rows[1]}). ",
                f"each of {group.size()} processes gets as many rows of {_sizes(input.shape)}",
            )
        )
    _check_dtypes(output, input)
    return given_back(operations.reduce_scatter(group, output, operations.read(input), op), async_op)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Send the tensor number i to process i, and receive one from each."""
    _check_list("output_tensor_list", output_tensor_list)
    _check_list("input_tensor_list", input_tensor_list)
    _check_dtypes(*output_tensor_list, *input_tensor_list)
    group = member_of(group, "all_to_all")
    if group is None:
        return None
    for what, values in (("input", input_tensor_list), ("output", output_tensor_list)):
        if len(values) != group.size():
            message = f"{what} tensor list size {len(values)} does not match world size {group.size()}"
            raise RuntimeError(hinted(f"ProcessGroupGloo::alltoall: {message}", "one tensor for each process"))
    if output_tensor_list[group.rank()].numel() != input_tensor_list[group.rank()].numel():
        message = "ProcessGroupGloo::alltoall: input and output tensors must have the same size"
        raise RuntimeError(hinted(message, "what is received has the shape of what is sent"))
    return given_back(operations.all_to_all(group, output_tensor_list, input_tensor_list), async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """`all_to_all` of one tensor, cut along dimension 0 evenly or into parts of the given sizes."""
    check_tensor("output", output)
    check_tensor("input", input)
    _check_dtypes(output, input)
    group = member_of(group, "all_to_all_single")
    if group is None:
        return None
    size = group.size()
    received, sent = (
        _rows(each, tensor, size) for each, tensor in ((output_split_sizes, output), (input_split_sizes, input))
    )
    if size == 1 and output.numel() != input.numel():
        message = "ProcessGroupGloo::alltoall: input and output tensors must have the same size"
        raise RuntimeError(hinted(message, f"{tuple(input.shape)} does not fit into {tuple(output.shape)}"))
    return given_back(operations.all_to_all_single(group, output, received, input, sent), async_op)


def _rows(sizes, tensor, processes):
    """How many rows of a tensor go to each process, or come from it."""
    rows = tensor.shape[0]
    if not sizes:
        if rows % processes:
            message = "Tensor's dim 0 does not divide equally across group size"
            raise RuntimeError(hinted(message, f"{rows} rows for {processes} processes: give split sizes"))
        return [rows // processes] * processes
    if len(sizes) != processes:
        message = "Number of tensor splits not equal to group size"
        raise RuntimeError(hinted(message, f"{len(sizes)} sizes for {processes} processes"))
    if sum(sizes) != rows:
        message = "Split sizes doesn't match total dim 0 size"
        raise RuntimeError(hinted(message, f"{list(sizes)} for {rows} rows"))
    return list(sizes)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Wait until all processes have come here."""
    group = member_of(group, "barrier")
    if group is None:
        return None
    work = operations.barrier(group)
    if async_op:
        return work
    work.wait(timeout)
    return None


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """`barrier` in which process 0 names the first process, or with ``wait_all_ranks`` all processes, that did not come in time.

    Raises:
        RuntimeError: after ``timeout``, by default the group's; in process 0 and in those that have come.
    """
    group = member_of(group, "monitored_barrier")
    if group is None:
        return
    seconds = group.seconds if timeout is None else timeout.total_seconds()
    operations.monitored_barrier(group, seconds, wait_all_ranks)
