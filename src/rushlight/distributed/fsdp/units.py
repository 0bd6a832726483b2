"""Units: the parameters of some modules in one flat tensor, of which each process keeps a part.

Forward gathers the whole, and the modules' parameters are views of it. What autograd saves of it for backward is kept as a place and a
shape only; backward gathers the whole again when it first asks for one of them. The gradient of the whole is reduced, and each process
keeps its part.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from ...autograd import Function, no_grad
from ...autograd.graph import saved_tensors_hooks
from ...base.errors import hinted
from ...nn import Module, Parameter
from ...ops.table import functions
from .. import collectives
from .whole import Packing, Saved


class _Place(NamedTuple):
    """A parameter in a unit: all modules and names that hold it, its shape, and where it begins."""

    holders: list[tuple[Module, str]]
    shape: Any
    start: int
    elements: int
    outline: Any  # what modules have while the unit is not gathered: shape and dtype without numbers


class _Gathered(Function):
    """The whole of a unit's parameters; its gradient is the average of the processes' parts."""

    @staticmethod
    def forward(ctx, unit, part):
        ctx.unit = unit
        return unit.gather(part, unit.precision.param_dtype)

    @staticmethod
    def backward(ctx, grad):
        return None, ctx.unit.reduce(grad)


class Unit:
    """The parameters of the modules in ``root`` that no other unit has."""

    def __init__(
        self,
        root: Module,
        parameters: list[Parameter],
        group: Any,
        keeps_whole: bool,
        precision: Any,
        replicas: Any = None,
    ) -> None:
        self.group, self.keeps_whole, self.precision, self.replicas = group, keeps_whole, precision, replicas
        self._again: Any = None
        self.summoned = False
        for what, values in (
            ("dtype", {p.dtype for p in parameters}),
            ("requires_grad", {p.requires_grad for p in parameters}),
        ):
            if len(values) > 1:
                names = " and ".join(sorted(map(str, values)))
                message = f"Must flatten tensors with uniform {what} but got {names}"
                raise ValueError(hinted(message, "wrap those that differ as units of their own"))
        self.places, start = [], 0
        for each in parameters:
            holders = [
                (module, name) for module in root.modules() for name, held in module._parameters.items() if held is each
            ]
            outline = functions.empty_like(each, device="meta", requires_grad=False)
            self.places.append(_Place(holders, each.shape, start, each.numel(), outline))
            start += each.numel()
        self.count = start
        self.size = -(-start // group.size())
        self.part = Parameter(self.flattened(parameters), requires_grad=parameters[0].requires_grad)
        for place in self.places:
            for module, name in place.holders:
                del module._parameters[name]
        self.hide()

    def _padded(self, whole: Any) -> Any:
        missing = self.size * self.group.size() - whole.numel()
        return functions.cat([whole, whole.new_zeros(missing)]) if missing else whole

    def _own(self, whole: Any) -> Any:
        """This process's part of a whole."""
        start = self.group.rank() * self.size
        return self._padded(whole)[start : start + self.size].clone()

    def flattened(self, tensors: list[Any]) -> Any:
        """This process's part of whole parameters, or of what has their shapes."""
        with no_grad():
            return self._own(functions.cat([each.detach().reshape(-1) for each in tensors]))

    def gather(self, part: Any, dtype: Any) -> Any:
        """The whole, from the parts of all processes, in a dtype where one is given."""
        own = part.detach() if dtype is None else part.detach().to(dtype)
        whole = own.new_empty(self.size * self.group.size())
        collectives.all_gather_into_tensor(whole, own, self.group)
        return whole[: self.count]

    def reduce(self, grad: Any) -> Any:
        """This process's part of the average of all processes' gradients."""
        self._again = None
        dtype = self.precision.reduce_dtype or self.precision.param_dtype
        whole = self._padded(grad if dtype is None else grad.to(dtype)).contiguous()
        part = whole.new_empty(self.size)
        collectives.reduce_scatter_tensor(part, whole, collectives.ReduceOp.AVG, self.group)
        if self.replicas is not None:
            collectives.all_reduce(part, collectives.ReduceOp.AVG, self.replicas)
        return part.to(self.part.dtype)

    def show(self, whole: Any) -> None:
        """Let the modules' parameters be views of the whole."""
        for place in self.places:
            view = whole[place.start : place.start + place.elements].view(place.shape)
            for module, name in place.holders:
                module.__dict__[name] = view

    def hide(self) -> None:
        """Take the views away."""
        for place in self.places:
            for module, name in place.holders:
                module.__dict__[name] = place.outline

    def gathered(self) -> tuple[Any, AbstractContextManager[Any]]:
        """The whole, and the context in which it is used."""
        self._again = None
        whole = _Gathered.apply(self, self.part)
        return whole, nullcontext() if self.keeps_whole else saved_tensors_hooks(Packing(whole), self._unpacked)

    def _unpacked(self, kept: Any) -> Any:
        if not isinstance(kept, Saved):
            return kept
        if self._again is None:
            self._again = self.gather(self.part, self.precision.param_dtype)
        return kept.taken_from(self._again)

    def summon(self) -> Any:
        """Let the modules have their whole parameters, as parameters; returns them in one."""
        whole = self.gather(self.part, None)
        self.summoned = True
        for place in self.places:
            made = Parameter(
                whole[place.start : place.start + place.elements].view(place.shape), self.part.requires_grad
            )
            for module, name in place.holders:
                del module.__dict__[name]
                module._parameters[name] = made
        return whole

    def dismiss(self, whole: Any, keep: bool) -> None:
        """Undo `summon`; ``keep``: the own part becomes that of the whole."""
        self.summoned = False
        for place in self.places:
            for module, name in place.holders:
                del module._parameters[name]
        self.hide()
        if keep:
            with no_grad():
                self.part.copy_(self._own(whole))
