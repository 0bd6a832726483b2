"""Moves: a tensor's part becomes that of other placements, by collectives along the dimensions of the mesh.

All work on plain tensors, outside the graph.
"""

from __future__ import annotations

from typing import Any

from ...autograd import no_grad
from ...base.errors import hinted
from ...ops.table import functions
from .. import collectives
from ..placements import CUTS, Partial, Placement, Replicate, _NormPartial, cut_order
from ..reductions import ReduceOp
from .parts import Placements, chunk, local_part

_OPERATIONS = {
    "sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "max": ReduceOp.MAX, "min": ReduceOp.MIN, "product": ReduceOp.PRODUCT,
}  # fmt: skip


def moved(local: Any, mesh: Any, shape: Any, source: Placements, goal: Placements) -> Any:
    """The part under placements ``goal`` of a tensor of ``shape``, of which ``local`` is the part under ``source``."""
    if source == goal:
        return local
    kept = _kept(source, goal)
    with no_grad():
        local, now = local.detach(), list(source)
        order = cut_order(source)
        for place in reversed(range(len(order))):
            mesh_dim = order[place]
            if not kept[mesh_dim]:
                last = all(kept[each] for each in order[place + 1 :])
                direct = goal[mesh_dim] if last and _alone(now, goal, mesh_dim) else Replicate()
                local = _move_along(local, mesh, mesh_dim, shape, now, direct)
                now[mesh_dim] = direct
        for mesh_dim in cut_order(goal):
            local = _move_along(local, mesh, mesh_dim, shape, now, goal[mesh_dim])
            now[mesh_dim] = goal[mesh_dim]
    return local


def _kept(source: Placements, goal: Placements) -> list[bool]:
    """Which dimensions of the mesh stay as they are: those that change, and those that cut a dimension of the tensor within
    one that changes, before or after, do not."""
    moving = [old != new for old, new in zip(source, goal)]
    for placements in (source, goal) * len(source):  # one that moves may move others
        touched: set[int] = set()
        for mesh_dim in cut_order(placements):
            each = placements[mesh_dim]
            if isinstance(each, CUTS):
                moving[mesh_dim] |= each.dim in touched
                touched |= {each.dim} if moving[mesh_dim] else set()
    return [not each for each in moving]


def _alone(now: list[Placement], goal: Placements, mesh_dim: int) -> bool:
    """Whether no other dimension of the mesh cuts what this one cuts, before or after."""
    own = {each.dim for each in (now[mesh_dim], goal[mesh_dim]) if isinstance(each, CUTS)}
    others = [each for place, each in enumerate(now) if place != mesh_dim]
    others += [each for place, each in enumerate(goal) if place != mesh_dim]
    return not any(isinstance(each, CUTS) and each.dim in own for each in others)


def _move_along(local: Any, mesh: Any, mesh_dim: int, shape: Any, now: list[Placement], wanted: Placement) -> Any:
    """Change the placement of one dimension of the mesh."""
    old, count = now[mesh_dim], mesh.size(mesh_dim)
    if old == wanted:
        return local
    outside = local_part(shape, mesh, (*now[:mesh_dim], Replicate(), *now[mesh_dim + 1 :]))[0]
    group, place = mesh.get_group(mesh_dim), mesh.get_coordinate()[mesh_dim]
    if isinstance(wanted, Partial):
        return _as_partial(local, old, wanted, place, count)
    if isinstance(old, Partial):
        if isinstance(wanted, CUTS) and old.reduce_op in ("sum", "avg") and not isinstance(old, _NormPartial):
            return _reduced_to_part(local, group, wanted.dim, old.reduce_op, place, count)
        local = _reduced(local, group, old)
        return _own_part(local, wanted.dim, place, count) if isinstance(wanted, CUTS) else local
    if isinstance(old, CUTS):
        if isinstance(wanted, CUTS):
            return _exchanged(local, group, old.dim, wanted.dim, outside, place, count)
        return _gathered(local, group, old.dim, outside[old.dim], count)
    return _own_part(local, wanted.dim, place, count)  # type: ignore[attr-defined]


def _as_partial(local: Any, old: Placement, wanted: Partial, place: int, count: int) -> Any:
    if not isinstance(old, Replicate):
        message = f"Can not redistribute from {old} to {wanted}, redistributing to Partial is for internal use only!"
        raise RuntimeError(hinted(message, "redistribute to Replicate or Shard"))
    if wanted.reduce_op == "sum" and place:
        return functions.zeros_like(local)
    return local


def _reduced(local: Any, group: Any, placement: Partial) -> Any:
    if isinstance(placement, _NormPartial):
        powers = local.abs().pow(placement.norm_type)
        collectives.all_reduce(powers, ReduceOp.SUM, group)
        return powers.pow(1.0 / placement.norm_type)
    made = local.contiguous().clone()
    collectives.all_reduce(made, _OPERATIONS[placement.reduce_op], group)
    return made


def _own_part(local: Any, dim: int, place: int, count: int) -> Any:
    length, start = chunk(local.shape[dim], count, place)
    return local.narrow(dim, start, length).clone()


def _padded(part: Any, dim: int, length: int) -> Any:
    """A part with ``length`` entries along ``dim``, which comes first, so that it can travel with others of its size."""
    part = part.movedim(dim, 0)
    missing = length - part.shape[0]
    return functions.cat([part, part.new_zeros((missing, *part.shape[1:]))]) if missing else part.contiguous()


def _gathered(local: Any, group: Any, dim: int, size: int, count: int) -> Any:
    """The whole of a dimension of which each process has a part."""
    full = -(-size // count)
    part = _padded(local, dim, full)
    whole = part.new_empty((full * count, *part.shape[1:]))
    collectives.all_gather_into_tensor(whole, part, group)
    return whole[:size].movedim(0, dim).contiguous()


def _reduced_to_part(local: Any, group: Any, dim: int, operation: str, place: int, count: int) -> Any:
    """This process's part of what the processes' tensors give together."""
    size = local.shape[dim]
    full = -(-size // count)
    whole = _padded(local, dim, full * count)
    part = whole.new_empty((full, *whole.shape[1:]))
    collectives.reduce_scatter_tensor(part, whole, _OPERATIONS[operation], group)
    return part[: chunk(size, count, place)[0]].movedim(0, dim).contiguous()


def _exchanged(local: Any, group: Any, old: int, new: int, outside: list[int], place: int, count: int) -> Any:
    """Parts along one dimension become parts along another."""
    length = chunk(outside[new], count, place)[0]
    pieces = []
    for other in range(count):
        own, start = chunk(outside[new], count, other)
        pieces.append(local.narrow(new, start, own).contiguous())
    shapes = [list(local.shape) for _ in range(count)]
    for other, shape in enumerate(shapes):
        shape[new], shape[old] = length, chunk(outside[old], count, other)[0]
    received = [local.new_empty(tuple(shape)) for shape in shapes]
    collectives.all_to_all(received, pieces, group)
    return functions.cat(received, dim=old)


def same_everywhere(local: Any, mesh: Any, placements: Placements) -> Any:
    """A part, with the numbers of the first of the processes that hold the same."""
    made = local.detach().contiguous().clone()
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, Replicate):
            group = mesh.get_group(mesh_dim)
            collectives.broadcast(made, group=group, group_src=0)
    return made
