"""The plug at the waist: operations with a DTensor among their arguments run on parts, after what they need has been moved.

The placements of operands and results are chosen by `rules`; derivatives are those of the operation's record, which meet DTensors
again. What is moved here is not recorded: a gradient has whatever placements its own operations gave it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from ...autograd import no_grad
from ...autograd.modes import state
from ...base.contexts import contextmanager
from ...base.device import META
from ...base.errors import hinted
from ...base.layouts import LAYOUT_PLUGS, Layout
from ...ops import table
from ...ops.table import functions
from ...tensor.base import wrap
from ...tensor.compute import schema_of
from ...tensor.dispatch import connect, run
from ...tensor.writes import around_write, run_inplace
from ..placements import Partial, Placement, Replicate, Shard, _StridedShard
from .moves import moved
from .parts import Placements, ShardedArray, local_part
from .rules import RULES, SIZES, Call, Candidate, R, rule_of

_BEGIN = 1 << 16  # bytes that travel in the time that it takes to begin a collective


class _Implicit(threading.local):
    allowed = False  # whether plain tensors count as whole ones


_implicit = _Implicit()


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Inside, plain tensors that meet DTensors count as replicated."""
    before, _implicit.allowed = _implicit.allowed, True
    try:
        yield
    finally:
        _implicit.allowed = before


def is_sharded(value: Any) -> bool:
    """Whether a value is a DTensor."""
    return getattr(value, "_array", None).__class__ is ShardedArray


def sharded(local: Any, mesh: Any, placements: Placements, shape: Any, steps: Any = None) -> Any:
    """The DTensor, outside the graph, of which this process has the part ``local``, a plain tensor."""
    return wrap(ShardedArray(local._array, mesh, placements, shape, steps))


def holds_sharded(values: Any) -> bool:
    """Whether a DTensor is among the values, or in a list among them."""
    for value in values:
        array = getattr(value, "_array", None)
        if array.__class__ is ShardedArray or (value.__class__ in (list, tuple) and holds_sharded(value)):
            return True
    return False


def _tensors(values: list[Any]) -> list[tuple[int, int | None]]:
    """Where tensors stand among values: (place, None), or (place, number in the list there)."""
    found: list[tuple[int, int | None]] = []
    for place, value in enumerate(values):
        if hasattr(value, "_edge"):
            found.append((place, None))
        elif value.__class__ in (list, tuple):
            found += [(place, number) for number, each in enumerate(value) if hasattr(each, "_edge")]
    return found


def _at(values: list[Any], where: tuple[int, int | None]) -> Any:
    place, number = where
    return values[place] if number is None else values[place][number]


def _replaced(values: list[Any], places: list[tuple[int, int | None]], tensors: list[Any]) -> list[Any]:
    """``values`` with other tensors."""
    found = list(values)
    for (place, number), tensor in zip(places, tensors):
        if number is None:
            found[place] = tensor
        else:
            listed = list(found[place])
            listed[number] = tensor
            found[place] = listed if values[place].__class__ is list else tuple(listed)
    return found


class _Bound:
    """A call whose tensors are all DTensors on one mesh."""

    def __init__(self, op: Any, schema: Any, values: list[Any]) -> None:
        self.op, self.schema = op, schema
        self.places = _tensors(values)
        self.arrays = self._arrays(values)
        self.values, self.mesh = values, next(each.mesh for each in self.arrays)

    def _arrays(self, values: list[Any]) -> list[ShardedArray]:
        found = [_at(values, where) for where in self.places]
        mesh = next(each._array.mesh for each in found if is_sharded(each))
        arrays = []
        for each in found:
            if is_sharded(each):
                if each._array.mesh != mesh:
                    message = f"aten.{self.op.name}: DTensor is on the mesh {each._array.mesh}, another on {mesh}"
                    raise RuntimeError(hinted(message, "all operands lie on one mesh"))
                arrays.append(each._array)
            elif _implicit.allowed or not each.dim():
                arrays.append(ShardedArray(each._array, mesh, (R,) * mesh.ndim, each.shape))
            else:
                message = (
                    f"aten.{self._name()} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before "
                    "calling distributed operators!"
                )
                raise RuntimeError(hinted(message, "distribute_tensor(x, mesh, [Replicate()]) makes one"))
        return arrays

    def _name(self) -> str:
        return self.schema.name + (".Tensor" if self.op.kind == table.BINARY else ".default")

    def whole(self) -> bool:
        """Whether every process has all of each operand."""
        return all(isinstance(each, Replicate) for array in self.arrays for each in array.placements)

    def result_shapes(self) -> list[Any] | None:
        """The shapes of the results, found without numbers; None where numbers decide."""
        if self.op.kind == table.INPLACE:
            return [self.arrays[0].shape]
        empty = [functions.empty(each.shape, dtype=wrap(each.values).dtype, device=META) for each in self.arrays]
        with no_grad():
            found = run(self.op, self.schema, _replaced(self.values, self.places, empty))
        return [each._array.shape for each in (found if isinstance(found, tuple) else (found,))]

    def chosen(self, fixed: Placements | None = None) -> tuple[list[Placements], list[Placements], list[Any] | None]:
        """(placements of the operands, of the results, shapes of the results), the results' being ``fixed`` where that is given."""
        rule = rule_of(self.op)
        if fixed is None and (rule is None or self.whole()):
            return [(R,) * self.mesh.ndim] * len(self.arrays), [], None
        shapes = self.result_shapes()
        call = Call(self.op, self.schema, self.values, [each.shape for each in self.arrays], shapes or [])
        call.processes = self.mesh.size()
        columns = [
            self._column(rule, call, mesh_dim, None if fixed is None else fixed[mesh_dim])
            for mesh_dim in range(self.mesh.ndim)
        ]
        return _rows([each.operands for each in columns]), _rows([each.results for each in columns]), shapes

    def _column(self, rule: Any, call: Call, mesh_dim: int, fixed: Placement | None) -> Candidate:
        """The cheapest candidate along a dimension of the mesh."""
        now = [each.placements[mesh_dim] for each in self.arrays]
        call.placements = [_plain_cut(each) for each in now]
        found = () if rule is None else (each for each in rule(call) if call.fits(each))
        candidates = [_as_cut(each, now if fixed is None else [fixed]) for each in (call.all_whole(), *found)]
        if fixed is not None:
            candidates = [each for each in candidates if each.results[0] == fixed]
        if not candidates:
            message = f"{self.op.name}_: in-place operations that require placement changes are not supported"
            raise RuntimeError(hinted(message, f"what is written lies as {fixed}: use the operation without _"))
        return min(candidates, key=lambda each: self._cost(each, mesh_dim))

    def _cost(self, candidate: Candidate, mesh_dim: int) -> float:
        count = self.mesh.size(mesh_dim)
        return sum(
            _cost(array.placements[mesh_dim], wanted, prod(array.shape) * array.itemsize, count)
            for array, wanted in zip(self.arrays, candidate.operands)
        )

    def locals(self, placements: list[Placements]) -> list[Any]:
        """The operands' parts under other placements, as plain tensors."""
        return [
            moved(wrap(each.values), self.mesh, each.shape, each.placements, wanted)
            for each, wanted in zip(self.arrays, placements)
        ]


def _plain_cut(placement: Placement) -> Placement:
    """What rules see of a placement: which dimension is cut, and not in which order."""
    return Shard(placement.dim) if isinstance(placement, _StridedShard) else placement


def _as_cut(candidate: Candidate, given: Sequence[Placement]) -> Candidate:
    """A candidate that cuts in the order in which one of the ``given`` placements does."""
    late = next((each for each in given if isinstance(each, _StridedShard)), None)
    if late is None:
        return candidate
    operands, results = (
        tuple([replace(late, dim=each.dim) if isinstance(each, Shard) else each for each in placements])
        for placements in candidate
    )
    return Candidate(operands, results)


def _rows(columns: list[tuple[Placement, ...]]) -> list[Placements]:
    return [tuple(row) for row in zip(*columns)]


def _cost(old: Placement, new: Placement, size: int, count: int) -> float:
    """What a move takes, in bytes that travel; nothing where no other process is asked."""
    if old == new or isinstance(old, Replicate):
        return 0.0
    if isinstance(old, Partial):
        if isinstance(new, Partial):
            return float("inf")
        return _BEGIN + size * (2 if isinstance(new, Replicate) else 1)
    if isinstance(new, Partial):
        return float("inf")
    return _BEGIN + size / (1 if isinstance(new, Replicate) else count)


def _call(op: Any, values: list[Any]) -> Any:
    """What an operation gives for arguments with a DTensor among them; NotImplemented where there is none."""
    if not holds_sharded(values) or op.__class__ is ShardedOp:
        return NotImplemented
    schema = schema_of(op)
    if op.in_parts and schema.tensor_positions and _tracked(values):
        return NotImplemented  # it runs in its parts, which come here
    bound = _Bound(op, schema, values)
    wanted, placements, shapes = bound.chosen()
    with no_grad():
        found = _run_local(bound, wanted, placements, shapes)
    several = isinstance(found, tuple)
    results = tuple(_results(bound, found if several else (found,), placements, shapes))
    return connect(op, schema, values, results if several else results[0])


def _tracked(values: list[Any]) -> bool:
    return bool(state.recording) and any(_at(values, where)._edge is not None for where in _tensors(values))


def _run_local(bound: _Bound, wanted: list[Placements], placements: list[Placements], shapes: Any) -> Any:
    operands = bound.locals(wanted)
    if bound.op.name == "embedding" and any(each.is_shard(0) for each in wanted[0]):
        return _rows_of_part(bound, operands, wanted[0])
    values = _replaced(bound.values, bound.places, operands)
    size = SIZES.get(bound.op.name)
    if size is not None and shapes is not None:
        values[bound.schema.index[size]] = tuple(local_part(shapes[0], bound.mesh, placements[0])[0])
    if bound.op.name == "view_shape":
        return functions.reshape(values[0], values[1])  # a part may have no such view where the whole has
    return run(bound.op, bound.schema, values)


def _rows_of_part(bound: _Bound, operands: list[Any], placements: Placements) -> Any:
    """Rows of a table of which this process has some: zeros for the others, which it does not have."""
    table_part, indices = operands
    start = local_part(bound.arrays[0].shape, bound.mesh, placements)[1][0]
    own = indices - start
    outside = (own < 0) | (own >= table_part.shape[0])
    if not table_part.shape[0]:
        return table_part.new_zeros((*indices.shape, table_part.shape[1]))
    found = functions.embedding(table_part, own.masked_fill(outside, 0))
    return found.masked_fill(outside.unsqueeze(-1), 0.0)


def _results(bound: _Bound, found: Any, placements: list[Placements], shapes: Any) -> Iterator[Any]:
    whole = (R,) * bound.mesh.ndim
    for number, local in enumerate(found):
        if shapes is None:
            yield sharded(local, bound.mesh, whole, local.shape)
        else:
            yield sharded(local, bound.mesh, placements[number], shapes[number])


def _write(op: Any, name: str, values: list[Any]) -> Any:
    """As `_call`, of an operation that writes into its first argument."""
    if not holds_sharded(values):
        return NotImplemented
    schema = schema_of(op)
    if not is_sharded(values[0]):
        _Bound(op, schema, values)  # refuses what is mixed
    return around_write(op, schema, name, values, lambda values: _write_local(op, schema, values, name))


def _write_local(op: Any, schema: Any, values: list[Any], name: str) -> None:
    bound = _Bound(op, schema, values)
    own = values[0]._array.placements
    alone = len(bound.arrays) == 1 and op.name not in RULES
    wanted = [own] if alone else bound.chosen(own)[0]
    if wanted[0] != own or (alone and any(isinstance(each, Partial) for each in own) and op.name != "zero_"):
        message = f"{name}: in-place operations that require placement changes are not supported"
        raise RuntimeError(hinted(message, f"what is written lies as {own}: use the operation without _"))
    with no_grad():
        run_inplace(op, schema, _replaced(values, bound.places, bound.locals(wanted)), name)


def _refuse_out(op: Any, values: Any, targets: Any) -> bool:
    if holds_sharded([*values, *targets]):
        message = f"{op.name}: out= with a DTensor is not in this version"
        raise NotImplementedError(hinted(message, "use the result that the operation returns"))
    return False


class ShardedOp(table.Op):
    """A record whose forward takes the parts of DTensors itself: the plug lets it pass."""


def _accumulated(present: Any, grad: Any, recording: bool) -> Any:
    """The gradient of a leaf, and one that comes to it."""
    return present + grad if recording or present.placements != grad.placements else present.add_(grad)


def register(tensor_class: type) -> None:
    """Let the waist know of the tensors that hold parts."""
    LAYOUT_PLUGS[ShardedArray] = Layout(
        tensor_class, _call, _write, _refuse_out, lambda grad: wrap(grad._array.copied()), _accumulated
    )
