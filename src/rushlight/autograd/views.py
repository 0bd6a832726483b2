"""Views and in-place writes: which tensor a view belongs to, and how the graph follows when memory is written."""

from __future__ import annotations

import functools
import weakref

from ..base.arrays import address_of, aligned_bytes, bounds, element_strides, owner_of, storage_bytes, window_on
from ..base.errors import hinted
from ..base.lazy import bits_of, rebuilt, stored_in
from ..ops.table import functions
from . import modes
from .hints import call_of
from .hooks import leave_hooks
from .names import described
from .node import LEAF, Freed, Node, Nowhere, SavedResult, edge_of, next_sequence, node_class, produced_by

# How a view came to be, where that forbids writing into it.
NO_GRAD, INFERENCE, MULTI_OUTPUT, CUSTOM_FUNCTION = "no_grad", "inference", "multi_output", "custom_function"


class View:
    """The edge of a tensor that looks into the memory of ``base``.

    The real edge is worked out when asked for: if anything wrote into the shared memory since (the version moved on),
    the view's history is now that of the base, seen through the view's geometry. ``edge`` is what is known until then:
    ``(node, output number)`` of a recorded view, LEAF where the view itself was made to require grad, else None.
    """

    __slots__ = ("base", "edge", "made", "version")

    def __init__(self, base, edge, version, made=None):
        self.base, self.edge, self.version, self.made = base, edge, version, made

    @property
    def requires_grad(self):
        """Whether the view or its base requires grad; does not look whether the history can be followed."""
        return self.edge is not None or self.base._edge is not None

    def resolve(self, tensor):
        """The edge of ``tensor``, whose view this is; to `Nowhere` if it requires grad, but no view was recorded."""
        edge = self.edge
        if edge.__class__ is tuple or self.base._edge is not None:
            if tensor._version_counter.value != self.version:
                self._follow_base(tensor)
                return self.edge
            if edge is None:
                return Nowhere(), 0
        return edge if edge is not LEAF else LEAF.resolve(tensor)

    def _follow_base(self, tensor):
        if self.made is not None:
            raise refused_view(self, "the write", "its base or another view of its base has been")
        former, self.version = self.edge, tensor._version_counter.value
        base_edge = edge_of(self.base) or (Nowhere(), 0)
        self.edge = edge_through(self.base, base_edge, Look(tensor, self.base))
        leave_hooks(tensor, former, self.edge)


# A View without its attributes: whoever makes one sets all four.
new_view = functools.partial(object.__new__, View)


def made_now():
    """How a view that is made now came to be, for the edge of the view; None where it is recorded."""
    state = modes.state
    return None if state.recording else INFERENCE if state.inference else NO_GRAD


def known_edge(tensor):
    """``(node, output number)`` of what made ``tensor``, as far as it has been looked: a view's base may have a new history.

    None where no operation did.
    """
    edge = tensor._edge
    if edge.__class__ is View:
        edge = edge.edge
    return edge if edge.__class__ is tuple else None


class Look:
    """How a view looks into its base: where its elements lie, of what kind they are, and which lazy bits tell the two apart.

    ``end`` is how many bytes from the base's first element on they reach, where that may be beyond the base's memory, else 0.
    """

    __slots__ = ("bits", "end", "is_complex", "of_pairs", "offset", "shape", "strides", "whole_bits")

    def __init__(self, tensor, base):
        array, whole = stored_in(tensor._array), stored_in(base._array)
        if owner_of(array) is owner_of(whole):
            distance, self.end = address_of(array) - address_of(whole), 0
        else:  # one of them was given other memory, by set_(), resize_() or its data
            distance = storage_bytes(array)[1] - storage_bytes(whole)[1]
            self.end = bounds(array.shape, array.strides, array.itemsize, distance)[1] if array.size else 0
        self.shape, self.strides, self.offset = array.shape, element_strides(array), distance // array.itemsize
        self.is_complex, self.bits, self.whole_bits = (
            array.dtype.kind == "c",
            bits_of(tensor._array),
            bits_of(base._array),
        )
        # Complex numbers in real memory: those of a window on it, or a window on those of all of it.
        made_by = known_edge(tensor)
        self.of_pairs = not _holds_pairs(whole) or (made_by and made_by[0].name() == "ViewAsComplexBackward0")

    def at(self, base):
        """The same view of ``base``, which is a tensor like the one that was looked into, or one of the same form: a gradient."""
        (conj, neg), (whole_conj, whole_neg) = self.bits, self.whole_bits
        if base.is_complex() and not self.is_complex:  # parts of what lies in memory
            base = functions.view_as_real(base.conj() if whole_conj else base)
            if neg != whole_neg:
                base = functions._neg_view(base)
            return base if self._shows_all_of(base) else self._window_on(base)
        if self.is_complex and not base.is_complex():
            if self.of_pairs:
                start = base.storage_offset() + 2 * self.offset
                base = base.as_strided((*self.shape, 2), (*[2 * stride for stride in self.strides], 1), start)
            found = functions.view_as_complex(base)
            found = found if self.of_pairs or self._shows_all_of(found) else self._window_on(found)
            return _with_bits(found, conj, neg != whole_neg)
        if self.bits == self.whole_bits:
            return self._window_on(base)
        base = _with_bits(base, conj != whole_conj, neg != whole_neg)
        return base if self._shows_all_of(base) else self._window_on(base)

    def _shows_all_of(self, base):
        return base.shape == self.shape and base.stride() == self.strides and not self.offset

    def _window_on(self, base):
        return base.as_strided(self.shape, self.strides, base.storage_offset() + self.offset)


def _holds_pairs(array):
    """Whether the elements of a real array are pairs of neighbours, so that all of it can be seen as complex numbers."""
    *others, last = element_strides(array) or (0,)
    even = not any(stride % 2 for stride in others) and not storage_bytes(array)[1] % (2 * array.itemsize)
    return array.shape[-1:] == (2,) and last == 1 and even


def _with_bits(tensor, conj, neg):
    """A view of ``tensor`` with lazy bits turned over."""
    tensor = tensor.conj() if conj else tensor
    return functions._neg_view(tensor) if neg else tensor


def edge_through(base, base_edge, look):
    """The edge of a view of ``base``, made by this `Look`, whose gradient goes on along ``base_edge``."""
    alias = base._alias()
    if look.end:
        _let_reach(alias, look.end)
    alias._edge = base_edge
    state = modes.state
    before = state.grad, state.recording
    try:
        state.grad = True
        state.update()
        view = look.at(alias)
    finally:
        state.grad, state.recording = before
    return view._edge.edge


def _let_reach(alias, end):
    """Give ``alias``, of which only the form counts, memory as far as a view goes that was given memory of its own."""
    array = stored_in(alias._array)
    raw, start = storage_bytes(array)
    if start + end > raw.size:
        memory = aligned_bytes(start + end)
        alias._array = rebuilt(
            window_on(memory, array.shape, array.dtype, start, array.strides), *bits_of(alias._array)
        )


def check_inplace(tensor, name, operands=()):
    """Refuse a write that autograd cannot follow, in PyTorch's words.

    ``name`` is the operation, such as ``add_``, and ``operands`` all that it is given: a write that records nothing is
    free.
    """
    edge = tensor._edge
    if edge is None or edge.__class__ is tuple or not modes.state.recording:
        return
    if edge.__class__ is View:
        required = edge.requires_grad
        if not required and not _any_requires_grad(operands):
            return
        if edge.made is not None:
            raise refused_view(edge, call_of(name))
        if required and edge.base._edge.__class__ is not tuple:
            raise RuntimeError(
                hinted(
                    "a view of a leaf Variable that requires grad is being used in an in-place operation.",
                    f"{call_of(name)} would write through this view into {described(edge.base)}, which gradients are computed for: do it "
                    "inside torch.no_grad(), or on a clone()",
                )
            )
        if not required or edge.edge.__class__ is tuple:
            return
    raise RuntimeError(
        hinted(
            "a leaf Variable that requires grad is being used in an in-place operation.",
            f"{call_of(name)} would change {described(tensor)}, which gradients are computed for: do it inside torch.no_grad(), or on a "
            "clone()",
        )
    )


def _any_requires_grad(operands):
    for operand in operands:
        if operand.__class__ is list:
            if _any_requires_grad(operand):
                return True
        elif hasattr(operand, "_edge") and operand.requires_grad:
            return True
    return False


_MIXED = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view "
    "and the inplace either both inside the {mode} block (if you don't want the inplace to be tracked) or both outside (if you "
    "want the inplace to be tracked)."
)
# What follows the description of a view that must not be written, by how it was made.
_REASONS = {
    MULTI_OUTPUT: " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    NO_GRAD: _MIXED.format(mode="no_grad"),
    INFERENCE: _MIXED.format(mode="inference_mode"),
    CUSTOM_FUNCTION: " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
    "to handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.",
}


def refused_view(view, writer, change="is being"):
    """The error for ``writer`` changing a view whose history cannot follow."""
    recorded = view.edge.__class__ is tuple
    what = f"O{produced_by(view.edge)[1:]} is a view" if recorded else "A view"
    if not recorded or view.made in (NO_GRAD, INFERENCE):
        what += " of a view which was created in" if recorded else " was created in"
        in_inference = view.made is INFERENCE
        what += " inference mode" if in_inference else " no_grad mode"
        change += " modified inplace in normal mode." if in_inference else " modified inplace with grad mode enabled."
    else:
        change += " modified inplace."
    return RuntimeError(
        hinted(
            f"{what} and {change}{_REASONS[view.made]}",
            f"the view shares the memory of {described(view.base)}: let {writer} work on a clone() of the view",
        )
    )


def rebase(tensor, edge):
    """After an in-place operation recorded as ``edge``: give ``tensor`` its new history, and its base too if it is a view."""
    view = tensor._edge
    if view.__class__ is not View:
        leave_hooks(tensor, view, edge)
        tensor._edge = edge
        return
    base = view.base
    node = _new_copy_slices(CopySlices)
    inner = edge[0]
    if inner.outputs != 1:
        raise RuntimeError(
            hinted(
                "Functions which modify views in-place must return a single Variable",
                f"{inner.name()} has {inner.outputs} outputs: write into a clone(), or return the others from another Function",
            )
        )
    node.inner = inner
    node.look = Look(tensor, base)
    array = base._array
    node.base_shape, node.base_strides = array.shape, element_strides(array)
    node.next_edges = (edge_of(base), *inner.next_edges[1:])
    node.sequence = next_sequence()
    if any(entry.__class__ is SavedResult for entry in inner.saved or ()):
        inner.written_through = _WrittenThrough(node, base, node.look)
    leave_hooks(base, base._edge, (node, 0))
    base._edge = (node, 0)
    view.version = -1
    if view.edge.__class__ is not tuple:  # it is no leaf from now on
        view.resolve(tensor)


class _WrittenThrough:
    """What an operation that wrote through a view knows of it, for the second derivative: the edge of its result.

    The CopySlices node holds the operation's, which must not hold it in turn.
    """

    __slots__ = ("base", "look", "node")

    def __init__(self, node, base, look):
        self.node, self.base, self.look = weakref.ref(node), base._alias(), look

    def edge(self):
        return edge_through(self.base, (self.node(), 0), self.look)


class _CopySlices(Node):
    """A write through a view, seen from the base: the written part's gradient goes through the operation."""

    __slots__ = ("base_shape", "base_strides", "inner", "look")

    @property
    def next_functions(self):
        return (*super().next_functions[:1], *self.inner.next_functions[1:])

    @property
    def saved(self):
        return self.inner.saved

    @saved.setter
    def saved(self, value):
        self.inner.saved = value

    def apply(self, grad):
        kept = self.inner.saved
        if kept.__class__ is Freed:
            iter(kept)  # raises: such a node runs once, also where its operation keeps nothing
        full = functions.in_layout(grad, self.base_strides)
        part = self.look.at(full)
        found = self.inner.apply(part.clone())
        if found[0] is None or self.inner.next_edges[0] is None:
            part.zero_()
        else:
            part.copy_(found[0])
        return (full if self.next_edges[0] is not None else None, *found[1:])


CopySlices = node_class("CopySlices", _CopySlices)
_new_copy_slices = CopySlices.__new__
