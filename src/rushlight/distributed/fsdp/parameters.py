"""The parameters of one `fully_shard`: DTensors of which each process keeps a part, gathered into one buffer where they are used."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from math import prod
from typing import Any, NamedTuple

from ...autograd import Function, no_grad
from ...autograd.graph import saved_tensors_hooks
from ...nn import Module, Parameter
from ...ops.table import functions
from .. import collectives
from ..device_mesh import concatenated
from ..placements import Placement, Replicate, Shard, _StridedShard
from ..tensor import DTensor
from ..tensor.dtensor import from_part, part_of, to_part
from ..tensor.parts import chunk
from .whole import Packing, Saved


class _Place(NamedTuple):
    """A parameter: all modules and names that hold it, itself, the dimension that is cut, where it begins in the buffer, and what
    is there: all of it, or the part of this process where ``before``, a DTensor, was divided among others already."""

    holders: list[tuple[Module, str]]
    sharded: Any
    dim: int
    start: int
    shape: Any
    before: Any

    def seen(self, view: Any) -> Any:
        """What modules see of the parameter, of its place in the buffer."""
        if self.before is None:
            return view
        array = self.before._array
        return from_part(view, array.mesh, array.placements, array.shape, array.steps)


class _SavedPart(NamedTuple):
    """What is kept of a DTensor whose part is a view of the whole: of the part, and how it lies."""

    part: Saved
    lies: tuple[Any, ...]


class _Packing(Packing):
    """Knows parts of DTensors besides."""

    def __call__(self, tensor: Any) -> Any:
        if not isinstance(tensor, DTensor):
            return super().__call__(tensor)
        kept, array = super().__call__(tensor._local_tensor), tensor._array
        lies = (array.mesh, array.placements, array.shape, array.steps)
        return _SavedPart(kept, lies) if isinstance(kept, Saved) else tensor


class _Gathered(Function):
    """Whole parameters; their gradients are averaged, and each process gets its part."""

    @staticmethod
    def forward(ctx, owner, whole, *parts):
        ctx.owner = owner
        ctx.set_materialize_grads(False)
        return tuple(owner.views(whole))

    @staticmethod
    def backward(ctx, *grads):
        return None, None, *ctx.owner.reduce(grads)


class Parameters:
    """The parameters in ``modules`` that nobody else has divided, on a mesh whose last dimension divides them."""

    def __init__(
        self, modules: tuple[Module, ...], parameters: list[Any], mesh: Any, precision: Any, placement_of: Any
    ) -> None:
        self.mesh, self.precision = mesh, precision
        self.group = mesh.get_group(mesh.ndim - 1)
        self.replicas = mesh.get_group(0) if mesh.ndim > 1 else None
        self.syncs = self.all_reduces = True
        self.divide_by: float | None = None
        self.whole: Any = None  # the buffer, while it is there
        self._pending: Any = None  # a gather that was begun
        self._again: Any = None  # the buffer of a backward
        self._unreduced: list[Any] = []  # gradients of whole parameters, while they are not synchronised
        self.shown = False
        self.places, start = [], 0
        for each in parameters:
            wanted = placement_of(each) if placement_of is not None else None
            dim = 0 if wanted is None else wanted.dim % each.dim()
            before: Any = each.detach() if isinstance(each, DTensor) else None
            shape = each.shape if before is None else before._local_tensor.shape
            self.places.append(_Place(_holders(modules, each), self._divided(each, dim), dim, start, shape, before))
            start += shape.numel()
        self.count = start
        self.hide()

    def _divided(self, parameter: Any, dim: int) -> Any:
        whole: Any = parameter.detach()
        mesh = self.mesh
        replicas = (Replicate(),) * (mesh.ndim - 1)
        placements: tuple[Placement, ...] = (*replicas, Shard(dim))
        with no_grad():
            part = part_of(whole._local_tensor if isinstance(whole, DTensor) else whole, mesh, placements)
            if isinstance(whole, DTensor):
                count = prod(
                    size for size, each in zip(whole.device_mesh.shape, whole.placements) if each.is_shard(dim)
                )
                cut = _StridedShard(dim, count) if count > 1 else Shard(dim)
                mesh, placements = concatenated(mesh, whole.device_mesh), (*replicas, cut, *whole.placements)
            made = from_part(part, mesh, placements, tuple(whole.shape), tuple(whole.stride()))
        return Parameter(made, parameter.requires_grad)

    # ---------------------------------------------------------------- gathering

    def _rows(self, place: _Place) -> int:
        """How many entries of the dimension that is cut a part has, padded."""
        return -(-place.shape[place.dim] // self.group.size())

    def _look_again(self) -> None:
        """Take the parameters that the modules have now: `load_state_dict` may have put others in their place."""
        for number, place in enumerate(self.places):
            module, name = place.holders[0]
            held = module._parameters[name]
            if held is not place.sharded and isinstance(held, DTensor):
                self.places[number] = place._replace(sharded=held)
                for other, own in place.holders[1:]:
                    other._parameters[own] = held

    def begin_gather(self) -> None:
        """Begin to get the parts of all processes."""
        if self.whole is not None or self._pending is not None or not self.places:
            return
        self._look_again()
        with no_grad():
            packed = []
            for place in self.places:
                part = place.sharded._local_tensor
                part = part if self.precision.param_dtype is None else part.to(self.precision.param_dtype)
                packed.append(_padded(part.movedim(place.dim, 0), self._rows(place)).reshape(-1))
            own = functions.cat(packed)
            found = own.new_empty(own.numel() * self.group.size())
            work = collectives.all_gather_into_tensor(found, own, self.group, async_op=True)
        self._pending = found, own, work

    def gather(self) -> Any:
        """The buffer of whole parameters."""
        if self.whole is None:
            self.begin_gather()
            self.whole = self._finish_gather()
        return self.whole

    def _finish_gather(self) -> Any:
        found, _, work = self._pending
        work.wait()
        self._pending = None
        with no_grad():
            rows, start = found.view(self.group.size(), -1), 0
            whole = found.new_empty(self.count)
            for place, view in zip(self.places, self.views(whole)):
                shape = view.movedim(place.dim, 0).shape
                length = self._rows(place) * (view.numel() // shape[0] if shape[0] else 0)
                parts = rows[:, start : start + length].reshape(self.group.size() * self._rows(place), *shape[1:])
                view.movedim(place.dim, 0).copy_(parts[: shape[0]])
                start += length
        return whole

    def views(self, whole: Any) -> list[Any]:
        """The parameters in a buffer."""
        return [whole[place.start : place.start + place.shape.numel()].view(place.shape) for place in self.places]

    def release(self) -> None:
        """Let the buffer go."""
        self.whole = None

    # ---------------------------------------------------------------- what modules see

    def use(self, keeps: bool) -> AbstractContextManager[Any]:
        """Let the modules have whole parameters that autograd sees, in the context that comes back; ``keeps``: memory and all."""
        if not self.places:
            return nullcontext()
        if not self.shown:
            self._look_again()
        whole, self._again = self.gather(), None
        parts = [to_part(place.sharded) for place in self.places]
        views = _Gathered.apply(self, whole, *parts)
        self._show([place.seen(view) for place, view in zip(self.places, views)])
        return nullcontext() if keeps else saved_tensors_hooks(_Packing(whole), self._unpacked)

    def show(self) -> None:
        """Let the modules have whole parameters, as parameters."""
        views = self.views(self.gather()) if self.places else []
        self._show(
            [Parameter(place.seen(view), place.sharded.requires_grad) for view, place in zip(views, self.places)]
        )

    def _show(self, tensors: Any) -> None:
        for place, tensor in zip(self.places, tensors):
            for module, name in place.holders:
                module._parameters[name] = tensor
        self.shown = True

    def hide(self) -> None:
        """Let the modules have the divided parameters again."""
        self._show([place.sharded for place in self.places])
        self.shown = False

    def _unpacked(self, kept: Any) -> Any:
        if isinstance(kept, _SavedPart):
            return from_part(self._unpacked(kept.part), *kept.lies)
        if not isinstance(kept, Saved):
            return kept
        if self._again is None:
            if self.whole is None:
                self.begin_gather()
                self._again = self._finish_gather()
            else:
                self._again = self.whole
        return kept.taken_from(self._again)

    # ---------------------------------------------------------------- gradients

    def reduce(self, grads: tuple[Any, ...]) -> list[Any]:
        """This process's parts of the averages of all processes' gradients; None for those without, or that are not synchronised."""
        self._again = None
        with no_grad():
            if self._unreduced:
                grads = tuple(_sum(*pair) for pair in zip(self._unreduced, grads))
                self._unreduced = []
            if not self.syncs:
                self._unreduced = list(grads)
                return [None] * len(grads)
            return self._reduced(grads)

    def _reduced(self, grads: tuple[Any, ...]) -> list[Any]:
        present = [(place, grad) for place, grad in zip(self.places, grads) if grad is not None]
        if not present:
            return [None] * len(grads)
        dtype = self.precision.reduce_dtype or present[0][1].dtype
        count = self.group.size()
        packed = []
        for place, grad in present:
            rows = _padded(grad.to(dtype).movedim(place.dim, 0), self._rows(place) * count)
            packed.append(rows.reshape(count, -1))
        whole = functions.cat(packed, 1).reshape(-1)
        part = whole.new_empty(whole.numel() // count)
        op = collectives.ReduceOp.AVG if self.divide_by is None else collectives.ReduceOp.SUM
        collectives.reduce_scatter_tensor(part, whole, op, self.group)
        if self.replicas is not None and self.all_reduces:
            collectives.all_reduce(part, op, self.replicas)
        if self.divide_by is not None:
            part.div_(self.divide_by)
        return self._parts(part, grads)

    def _parts(self, part: Any, grads: tuple[Any, ...]) -> list[Any]:
        """The parts of gradients that lie behind each other in ``part``, of those that are there."""
        found: list[Any] = []
        start = 0
        for place, grad in zip(self.places, grads):
            if grad is None:
                found.append(None)
                continue
            shape = grad.movedim(place.dim, 0).shape
            length = self._rows(place) * (grad.numel() // shape[0] if shape[0] else 0)
            own = chunk(shape[0], self.group.size(), self.group.rank())[0]
            rows = part[start : start + length].view(self._rows(place), *shape[1:])[:own]
            found.append(rows.movedim(0, place.dim).to(place.sharded.dtype).clone())
            start += length
        return found


def _holders(modules: tuple[Module, ...], parameter: Any) -> list[tuple[Module, str]]:
    every = {id(each): each for module in modules for each in module.modules()}
    return [
        (module, name) for module in every.values() for name, held in module._parameters.items() if held is parameter
    ]


def _padded(part: Any, length: int) -> Any:
    missing = length - part.shape[0]
    return functions.cat([part, part.new_zeros((missing, *part.shape[1:]))]) if missing else part


def _sum(first: Any, second: Any) -> Any:
    return second if first is None else first if second is None else first + second
