"""Dual tensors: the level of ``jvp``, and how tangents follow views and writes; forward_levels.py builds on it."""

from __future__ import annotations

from threading import get_ident

from ..autograd.modes import state
from ..autograd.views import Look
from ..base import dtypes
from ..base.contexts import contextmanager
from ..base.errors import hinted
from ..ops import table
from ..ops.table import functions
from ..ops.tensor_math import tensor_math
from ..tensor.base import Tensor
from ..tensor.interposers import INTERPOSERS, below
from .levels import Level, LevelTensor, laid_out, refuse_captured
from .tangents import has_tangent, tangents_of


class DualTensor(LevelTensor):
    """A tensor inside ``jvp``: its value, and beside it a tangent, both of the levels below."""

    def __repr__(self, *, tensor_contents=None):
        return self._nested_text("GradTrackingTensor", f"lvl={self.level.depth}")


class DualLevel(Level):
    """Computes the tangents of what operations give, along with it.

    A tangent lies in memory as its tensor does, so that a view of the tensor has the same view of the tangent as its own:
    what is written through one of them is seen through all.
    """

    tensor_class = DualTensor
    is_outermost = False  # whether no other dual level may be opened inside

    def __init__(self):
        super().__init__()
        self.inference = state.inference
        self.on = True

    def call(self, op, schema, values, again, around, writes=False):
        tangents = [self.tangent(value) for value in values] if self.enabled() else ()
        present = any(map(has_tangent, tangents))
        if present and op.in_parts and not writes:
            return op.element(tensor_math, *values)
        if writes:
            return self._write(op, schema, values, tangents, present, again)
        with below(self):
            inside = self.unwrapped(values)
            found = again(inside)
            parts = tangents_of(op, schema, inside, tangents, found) if present else None
        made = self.wrapped(found)
        results = made if made.__class__ is tuple else (made,)
        if op.kind == table.VIEW:
            self._link(values[0], results)
        if present:
            for result, part in zip(results, parts if parts.__class__ is tuple else (parts,)):
                if part is not None:
                    self.set_tangent(result, part)
        return made

    def variable(self, tensor, connected):
        made = super().variable(tensor, connected)
        tangent = self.tangent(tensor)
        if tangent is not None:
            self.set_tangent(made, tangent)
        return made

    def refuse_out(self, name, out, values):
        targets = list(out) if isinstance(out, (tuple, list)) else [out]
        if self.enabled() and any(has_tangent(self.tangent(value)) for value in (targets, *values)):
            raise NotImplementedError(
                hinted(
                    f"Trying to use forward AD with {name}_out that does not support it because it is an out= function",
                    "leave out= away",
                )
            )
        super().refuse_out(name, out, values)

    def enabled(self):
        """Whether tangents are computed now: not inside ``inference_mode``, nor where forward mode is switched off."""
        return self.on and state.forward_grad and (self.inference or not state.inference)

    @contextmanager
    def switched_off(self):
        """A context in which this level computes no tangents."""
        before = self.on
        try:
            self.on = False
            yield
        finally:
            self.on = before

    def _link(self, source, results):
        for result in results:
            result._base = source if source._base is None else source._base
            if source._tangent_base is not None:
                result._tangent_base = source._tangent_base

    def _write(self, op, schema, values, tangents, present, again):
        target = values[0]
        if not self.accepts(target):
            refuse_captured(op)
        with below(self):
            inside = self.unwrapped(values)
            if not present or not dtypes.is_differentiable(target._array.dtype):
                again(inside)
                return target
            before = [inside[0].clone(), *inside[1:]]
            if tangents[0] is not None:
                tangents[0] = tangents[0].clone()
            found = again(inside)
            self._write_tangent(target, tangents_of(op, schema, before, tangents, found))
        return target

    def accepts(self, target):
        """Whether operations may write into ``target`` here."""
        return self.owns(target)

    def tangent(self, value):
        """The tangent of an argument value at this level: a tensor, None, or a list of them for a list."""
        if value.__class__ is list:
            return [self.tangent(each) for each in value]
        if not (isinstance(value, Tensor) and self.owns(value)):
            return None
        if value._tangent is None:
            base = _base_of(value)
            if base is not None and base._tangent is not None and dtypes.is_differentiable(value._array.dtype):
                with self.lowered():
                    part = self._part_of_base(value, base)
                self.set_tangent(value, part)
        return value._tangent

    def set_tangent(self, value, tangent):
        """Give a tensor of this level its tangent."""
        inside = self.unwrap(value)
        if not batches_of(inside) <= batches_of(tangent):
            with self.lowered():
                tangent = functions.zeros_like(inside, dtype=tangent.dtype).copy_(tangent)
        if tangent.stride() != inside.stride():
            with self.lowered():
                tangent = laid_out(tangent, inside.stride())
        value._tangent = tangent

    def _part_of_base(self, view, base):
        """The tangent of a view: its part of the tangent of the base."""
        inside = self.unwrap(view)
        return Look(inside, self.unwrap(base)).at(base._tangent)

    def _write_tangent(self, target, tangent):
        """Give a tensor that was written in place its new tangent: in the memory of the old one, which views share."""
        if target._tangent is None:
            base = _base_of(target)
            if base is None:
                self.set_tangent(target, self._zeros(target, None) if tangent is None else tangent.clone())
                return
            if base._tangent is None:
                self.set_tangent(base, self._zeros(base, tangent))
            self.set_tangent(target, self._part_of_base(target, base))
        if tangent is None:
            target._tangent.zero_()
        else:
            target._tangent.copy_(tangent)

    def _zeros(self, tensor, like):
        """A tangent of zeros for ``tensor``, into which one as ``like`` can be written: with its batches."""
        inside = self.unwrap(tensor)
        return functions.zeros_like(inside) if like is None else like.new_zeros(inside.shape, dtype=inside.dtype)


def batches_of(value):
    """The levels of ``vmap`` at which a tensor is a batch."""
    found = set()
    while isinstance(value, LevelTensor):
        if value.is_batch:
            found.add(value.level)
        value = value.value
    return found


def _base_of(value):
    """The tensor whose tangent ``value`` has a part of; None where it has a tangent of its own."""
    base = value._tangent_base
    base = value._base if base is None else base
    return None if base is value else base


def dual_levels(kind=DualLevel):
    """The dual levels of this thread that are of class ``kind``, from the outside in."""
    me = get_ident()
    return [level for level in INTERPOSERS if isinstance(level, kind) and level.thread == me]


def refuse_nesting(levels):
    """PyTorch's error where forward mode is switched on while ``levels`` are open."""
    if levels:
        raise RuntimeError(
            hinted(
                "Nested forward mode AD is not supported at the moment",
                "forward_ad has one level; torch.func.jvp nests in itself for derivatives of higher order",
            )
        )


def in_memory_like(tangent, tensor):
    """``tangent``, or a copy at the same place of as large a memory as that of ``tensor``: views may reach beyond the tensor."""
    if type(tensor) is not Tensor or type(tangent) is not Tensor:
        return tangent
    size, start = tensor.untyped_storage().nbytes() // tensor.element_size(), tensor.storage_offset()
    same_size = size == tangent.untyped_storage().nbytes() // tangent.element_size()
    if tangent.storage_offset() == start and (same_size or size <= tensor.numel()):
        return tangent
    return tangent.new_zeros(size).as_strided(tensor.shape, tensor.stride(), start).copy_(tangent)


def check_dual(tensor, tangent):
    """PyTorch's errors for a tensor and a tangent that do not make a dual tensor."""
    check_dtypes(tensor, tangent)
    check_size(tensor, tangent)


def check_dtypes(tensor, tangent):
    """PyTorch's error for a tensor, or a tangent, of a dtype that has no derivatives."""
    for name, given in (("primal", tensor), ("tangent", tangent)):
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(
                hinted(f"Expected {name} to be floating point or complex, but got: {given.dtype}", "convert it first")
            )


def check_size(tensor, tangent):
    """PyTorch's error for a tangent of another shape than its tensor."""
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            hinted(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
                f"{list(tangent.shape)}.",
                "a tangent has one element for each element of its tensor",
            )
        )
