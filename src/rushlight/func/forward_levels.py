"""The level of ``torch.autograd.forward_ad``: tangents that lie on the tensors themselves while it is open.

Functions registered as ``functions.NAME`` are those that autograd/forward_ad.py, in a room above, is written with.
"""

from __future__ import annotations

import weakref

from ..autograd.node import SavedInput, SavedResult, node_class
from ..autograd.views import View
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor
from ..tensor.interposers import INTERPOSERS
from .dual import DualLevel, check_dtypes, check_size, dual_levels, in_memory_like, refuse_nesting


class ForwardLevel(DualLevel):
    """Any tensor may have a tangent here; closing the level takes them all away."""

    is_outermost = True

    def __init__(self):
        super().__init__()
        self.carriers = {}  # id -> weak reference, of the tensors with a tangent

    def wrap(self, value):
        return value

    def unwrap(self, value):
        return value

    def owns(self, value):
        return True

    def set_tangent(self, value, tangent):
        super().set_tangent(value, tangent)
        self._note(value)
        self._reach_saved(value)

    def _write(self, op, schema, values, tangents, present, again):
        target = super()._write(op, schema, values, tangents, present, again)
        self._reach_saved(target, values, tangents[0] if present else None)
        return target

    def _reach_saved(self, value, given=None, before=None):
        """Give tangents to what the node of ``value`` saved as aliases and copies: backward computes with tangents, too.

        These are its results, and, where it wrote into the first of the arguments ``given``, what that was before.
        """
        edge = value._edge
        if edge.__class__ is View:
            edge = edge.edge if given is None else edge.base._edge
        if edge.__class__ is not tuple:
            return
        node, number = edge
        saved = getattr(getattr(node, "inner", node), "saved", None)
        for entry in saved if saved.__class__ in (list, tuple) else ():  # else it is freed, or there is nothing
            kind = entry.__class__
            if kind not in (SavedInput, SavedResult) or entry.unpacker is not None:
                continue
            if kind is SavedInput:
                if before is not None and all(entry.tensor is not each for each in given):
                    self.set_tangent(entry.tensor, before)
            elif entry.number == number and value._tangent is not None:
                entry.alias._tangent = value._tangent
                self._note(entry.alias)

    def _note(self, value):
        name, carriers = id(value), self.carriers
        carriers[name] = weakref.ref(value, lambda _: carriers.pop(name, None))

    def close(self):
        """Take all tangents away."""
        self.alive = False
        for reference in list(self.carriers.values()):
            carrier = reference()
            if carrier is not None:
                carrier._tangent = None
        self.carriers.clear()
        INTERPOSERS.remove(self)  # the last step: whoever was interrupted before it can begin again


def internal(function):
    setattr(functions, function.__name__, function)
    return function


@internal
def enter_dual_level():
    """Open the level of forward mode and return its number, 0."""
    refuse_nesting(dual_levels())
    level, interposers = ForwardLevel(), INTERPOSERS
    interposers += [level]  # the last step, and no call: after one Ctrl-C may come, and the level would stay
    return 0


@internal
def exit_dual_level():
    """Close the level of forward mode."""
    levels = dual_levels(ForwardLevel)
    if not levels:
        raise RuntimeError(
            hinted("Dual level must be a positive number.", "no dual level is open: enter_dual_level() opens one")
        )
    levels[0].close()


@internal
def current_dual_level():
    """The number of the level that is open in this thread: 0, or -1 where none is."""
    return 0 if dual_levels() else -1


@internal
def make_dual(tensor, tangent, level):
    """A view of ``tensor`` with a tangent, in dual level number ``level``."""
    check_dtypes(tensor, tangent)
    if level:
        raise RuntimeError(hinted("Invalid level given to _make_dual", "levels are not nested: leave level away"))
    here = dual_levels()[-1]
    if here.tangent(tangent) is not None:
        raise RuntimeError(
            hinted(
                f"Setting a forward grad that itself has a forward gradient at the same level{level} is not supported.",
                "the tangent is a dual tensor itself: pass unpack_dual(tangent).primal",
            )
        )
    if here.tangent(tensor) is not None:
        raise RuntimeError(
            hinted(
                "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
                f"{level} is not supported.",
                "the tensor is dual already: pass unpack_dual(tensor).primal",
            )
        )
    check_size(tensor, tangent)
    with here.lowered():
        dual = here.wrap(functions.view_as(here.unwrap(tensor), here.unwrap(tensor)))
    dual._tangent_base = dual
    if here.enabled():
        here.set_tangent(dual, in_memory_like(tangent, tensor))
    return dual


@internal
def unpack_dual(dual, level):
    """``(primal, tangent)`` of a tensor; the tangent is None where it has none in dual level number ``level``."""
    if not isinstance(dual, Tensor):
        raise TypeError(
            hinted(
                f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(dual).__name__}",
                "unpack what an operation on dual tensors returned",
            )
        )
    here = dual_levels()[-1]
    tangent = None if level else tangent_of(dual)
    with here.lowered():
        primal = here.unwrap(dual)
        primal = functions.view_as(primal, primal)
    node = primal.grad_fn
    if node is not None:
        kind = node.__class__
        if kind not in _identities:
            _identities[kind] = node_class("Identity", kind)
        node.__class__ = _identities[kind]
    primal = here.wrap(primal)
    primal._tangent_base = primal
    return primal, tangent


@internal
def tangent_of(tensor):
    """The tangent of a tensor at the innermost dual level; None where there is none, or none is open."""
    levels = dual_levels()
    return levels[-1].tangent(tensor) if levels and levels[-1].enabled() else None


_identities = {}  # class of a view's node -> the same under the name of the node of a primal
