"""What processes agree on before they train together: the same parameters, with the numbers of process 0."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ...autograd import no_grad
from ...base.dtypes import int64
from ...base.errors import hinted
from ...ops.table import functions


def check_same_parameters(group: Any, parameters: list[Any]) -> None:
    """RuntimeError, in each process that differs, unless all have as many parameters of the same shapes."""
    counts = [functions.zeros(1, dtype=int64) for _ in range(group.size())]
    group.allgather(counts, functions.tensor([len(parameters)])).wait()
    numbers = [int(each) for each in counts]
    rank = group.rank()
    for other, number in enumerate(numbers):
        if number != len(parameters):
            raise RuntimeError(
                hinted(
                    f"DDP expects same model across all ranks, but Rank {rank} has {len(parameters)} params, while rank {other} has "
                    f"inconsistent {number} params.",
                    "each process makes the same modules, and freezes the same of them, before it wraps them",
                )
            )
    told = functions.tensor([size for each in parameters for size in (each.dim(), *each.shape)] or [0])
    _check_shapes(group, parameters, told)


def _check_shapes(group: Any, parameters: list[Any], own: Any) -> None:
    length = own.new_tensor([own.numel()])
    group.broadcast(length).wait()
    first = own.new_zeros(int(length))
    if group.rank() == 0:
        first.copy_(own)
    group.broadcast(first).wait()
    numbers, start = first.tolist(), 0
    for place, each in enumerate(parameters):
        shape = numbers[start + 1 : start + 1 + numbers[start]]
        if shape != list(each.shape):
            raise RuntimeError(
                hinted(
                    f"[{group.rank()}]: params[{place}] in this process with sizes {list(each.shape)} appears not to match sizes of the "
                    "same param in process 0.",
                    f"process 0 has {shape}: each process makes the same modules",
                )
            )
        start += 1 + numbers[start]


def total(group: Any, number: int) -> int:
    """The sum of all processes' numbers."""
    told = functions.tensor([number])
    group.allreduce(told).wait()
    return int(told)


def largest(group: Any, number: int) -> int:
    """The largest of all processes' numbers."""
    told = [functions.zeros(1, dtype=int64) for _ in range(group.size())]
    group.allgather(told, functions.tensor([number])).wait()
    return max(int(each) for each in told)


def begin_broadcast(group: Any, tensors: list[Any], root: int = 0) -> Callable[[], None]:
    """Begin to give all processes the numbers of one, in one message for each dtype; what comes back ends it."""
    by_dtype = defaultdict(list)
    for tensor in tensors:
        by_dtype[tensor.dtype].append(tensor)
    begun = []
    with no_grad():
        for alike in by_dtype.values():
            flat = functions.cat([each.detach().reshape(-1) for each in alike])
            begun.append((alike, flat, group.broadcast(flat, root)))

    def finish() -> None:
        with no_grad():
            for alike, flat, work in begun:
                work.wait()
                if group.rank() != root:
                    for each, part in zip(alike, flat.split([each.numel() for each in alike])):
                        each.detach().copy_(part.view(each.shape))

    return finish


def broadcast_all(group: Any, tensors: list[Any], root: int = 0) -> None:
    """Give all processes the numbers of one."""
    begin_broadcast(group, tensors, root)()
