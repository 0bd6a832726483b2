"""``loss_parallel``: the cross entropy of scores whose classes are divided among processes, none of which gathers them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from ....base.contexts import contextmanager
from ....base.errors import hinted
from ....base.grafts import graft
from ....ops.table import functions
from ...placements import Placement, Replicate, Shard
from ..creation import distribute_tensor
from ..dtensor import DTensor, from_part
from ..parts import Placements, local_part


class _State(threading.local):
    active = False


_state = _State()


@contextmanager
def loss_parallel() -> Iterator[None]:
    """Inside, ``cross_entropy`` and ``nn.CrossEntropyLoss`` of a DTensor whose classes are divided compute on parts.

    One dimension of the mesh divides the classes; others may divide samples. Targets are class numbers, which all processes along
    that dimension have; ``label_smoothing`` is refused, and ``reduction="mean"`` on a mesh of several dimensions. The loss is whole
    in each process, a sum of samples that are divided a partial one.

    Follows ``torch.distributed.tensor.parallel.loss_parallel``.

    >>> import rushlight as torch
    >>> import rushlight.distributed as dist
    >>> from rushlight.distributed.tensor import Shard, distribute_tensor
    >>> from rushlight.distributed.tensor.parallel import loss_parallel
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> scores = distribute_tensor(torch.zeros(1, 2), dist.init_device_mesh("cpu", (1,)), [Shard(1)])
    >>> with loss_parallel():
    ...     torch.nn.functional.cross_entropy(scores, torch.tensor([1])).to_local()
    tensor(0.6931)
    >>> dist.destroy_process_group()
    """
    before, _state.active = _state.active, True
    try:
        yield
    finally:
        _state.active = before


def _around(plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(args: Any, kwargs: Any) -> Any:
        return (_cross_entropy if _state.active else plain)(*args, **kwargs)

    def _cross_entropy(
        input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
        reduction: str = "mean", label_smoothing: float = 0.0,
    ) -> Any:  # fmt: skip
        if not isinstance(input, DTensor):
            return plain(input, target, weight, size_average, ignore_index, reduce, reduction, label_smoothing)
        if label_smoothing or target.is_floating_point() or size_average is not None or reduce is not None:
            message = "loss_parallel: label_smoothing, probabilities as targets, size_average and reduce are not in this version"
            raise NotImplementedError(hinted(message, "class numbers, and reduction="))
        return _divided_loss(input, target, weight, ignore_index, reduction)

    return call


for _each in (functions.cross_entropy, *getattr(functions.cross_entropy, "copies", ())):
    graft(_each, _around)


def _divided_loss(input: Any, target: Any, weight: Any, ignore_index: int, reduction: str) -> Any:
    """The loss from sums over the classes of each process, which are added up."""
    mesh, dim = input.device_mesh, 1 if input.dim() > 1 else 0
    along = _dividing(input.placements, dim)
    if reduction == "mean" and mesh.ndim > 1:
        message = (
            "loss_parallel() with reduction='mean' is only supported on one-dimensional DeviceMesh; got mesh with ndim="
            f"{mesh.ndim}. Use reduction='sum' or 'none' instead."
        )
        raise NotImplementedError(hinted(message, "divide the sum by the number of samples"))
    whole = tuple([Replicate() if each == along else placement for each, placement in enumerate(input.placements)])
    target = _lying(target, tuple([_without(each, dim) for each in whole]), mesh)
    scores = input if input.dtype.itemsize > 2 else input.float()
    shifted = scores - scores.detach().amax(dim, keepdim=True).redistribute(placements=whole)
    total = shifted.exp().sum(dim, keepdim=True).redistribute(placements=whole)
    chosen = functions.where(_classes(input, dim, along) == target.unsqueeze(dim), shifted, 0.0)
    loss = total.log().squeeze(dim) - chosen.sum(dim).redistribute(placements=target.placements)
    counted = target != ignore_index
    share = counted.to(loss.dtype)
    if weight is not None:
        share = share * _weights(_lying(weight, (Replicate(),) * mesh.ndim, mesh), target, counted).to(loss.dtype)
    loss = functions.where(counted, loss * share, 0.0)
    if reduction != "none":
        loss = loss.sum() if reduction == "sum" else loss.sum() / share.sum()
    return loss.to(input.dtype)


def _dividing(placements: Placements, dim: int) -> int:
    """The dimension of the mesh that divides the classes."""
    found = [mesh_dim for mesh_dim, each in enumerate(placements) if each.is_shard(dim)]
    if len(found) != 1:
        message = (
            f"loss_parallel() requires exactly one mesh dim to shard tensor dimension {dim}, but got placements {placements} with "
            f"{len(found)} such mesh dim(s)."
        )
        raise ValueError(hinted(message, f"redistribute the scores so that one has Shard({dim})"))
    for mesh_dim, each in enumerate(placements):
        if not (each.is_shard() or each.is_replicate()):
            message = (
                f"loss_parallel() expects non-TP mesh dims to be Shard or Replicate, got {each} at dim {mesh_dim}."
            )
            raise ValueError(hinted(message, "redistribute the scores first"))
    return found[0]


def _without(placement: Placement, dim: int) -> Placement:
    """A placement once dimension ``dim`` is gone."""
    return Shard(placement.dim - 1) if isinstance(placement, Shard) and placement.dim > dim else placement


def _lying(tensor: Any, placements: Placements, mesh: Any) -> Any:
    """A tensor that has these placements, or is a plain one that all processes have."""
    if isinstance(tensor, DTensor):
        if tensor.placements != placements:
            raise RuntimeError(hinted(f"Expected {placements} but got {tensor.placements}.", "redistribute it first"))
        return tensor
    if any(each.is_shard() for each in placements):
        message = f"loss_parallel() requires a DTensor (not a plain torch.Tensor) when the derived placements {placements} contain Shard"
        raise ValueError(hinted(message, "distribute_tensor(target, mesh, placements)"))
    return distribute_tensor(tensor, mesh, placements, src_data_rank=None)


def _classes(input: Any, dim: int, along: int) -> Any:
    """The numbers of the classes, which lie as those of the scores do."""
    sizes, offsets = local_part(input.shape, input.device_mesh, input.placements)
    shape = [-1] + [1] * (input.dim() - 1 - dim)
    own = functions.arange(offsets[dim], offsets[dim] + sizes[dim]).reshape(shape)
    placements = tuple([Shard(0) if each == along else Replicate() for each in range(input.device_mesh.ndim)])
    return from_part(own, input.device_mesh, placements, (input.shape[dim], *shape[1:]))


def _weights(weight: Any, target: Any, counted: Any) -> Any:
    """The weight of each sample's class."""
    places = target.to_local().masked_fill(~counted.to_local(), 0)
    return from_part(weight.to_local()[places], target.device_mesh, target.placements, target.shape)
