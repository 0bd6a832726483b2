"""Views and in-place writes: which tensor a view belongs to, and how the graph follows when memory is written."""

from __future__ import annotations

from ..base.arrays import address_of, element_strides
from ..base.errors import hinted
from ..ops.table import functions
from . import modes
from .hooks import move_retained
from .node import LEAF, Node, edge_of, next_sequence, node_class, produced_by

# How a view came to be, where that forbids writing into it.
NO_GRAD, MULTI_OUTPUT, CUSTOM_FUNCTION = "no_grad", "multi_output", "custom_function"


class View:
    """The edge of a tensor that looks into the memory of ``base``.

    The real edge is worked out when asked for: if anything wrote into the shared memory since (the version moved on),
    the view's history is now that of the base, seen through the view's geometry.
    """

    __slots__ = ("base", "edge", "made", "version")

    def __init__(self, base, edge, version, made=None):
        self.base, self.edge, self.version, self.made = base, edge, version, made

    def resolve(self, tensor):
        version = tensor._version_counter.value
        if version != self.version:
            base_edge = edge_of(self.base)
            if base_edge is not None and self.made is not None:
                raise refused_view(self, "the write", "its base or another view of its base has been")
            self.version = version
            if base_edge is not None:
                former = self.edge
                self.edge = edge_through(self.base, base_edge, geometry(tensor, self.base), tensor._array.dtype.kind)
                if former is not None:
                    move_retained(former, self.edge)
        return self.edge


def geometry(tensor, base):
    """Shape, element strides of ``tensor`` and the offset, in its elements, of its first one from that of ``base``."""
    array = tensor._array
    offset = (address_of(array) - address_of(base._array)) // array.itemsize
    return array.shape, element_strides(array), offset


def seen_through(base, geometry, kind):
    """The view of ``base`` with this geometry; ``kind`` "c" or not says whether its elements are complex numbers."""
    shape, strides, offset = geometry
    if base.is_complex() and kind != "c":
        base = functions.view_as_real(base)
    elif kind == "c" and not base.is_complex():
        start = base.storage_offset() + 2 * offset
        pairs = base.as_strided((*shape, 2), (*[2 * stride for stride in strides], 1), start)
        return functions.view_as_complex(pairs)
    return base.as_strided(shape, strides, base.storage_offset() + offset)


def edge_through(base, base_edge, geometry, kind):
    """The edge of a view of ``base`` with this geometry, whose gradient goes on along ``base_edge``."""
    alias = base._alias()
    alias._edge = base_edge
    state = modes.state
    before, state.grad = state.grad, True
    state.update()
    try:
        view = seen_through(alias, geometry, kind)
    finally:
        state.grad = before
        state.update()
    return view._edge.edge


def check_inplace(tensor, name, operands=()):
    """Refuse a write that autograd cannot follow, in PyTorch's words.

    ``name`` is the operation, such as ``add_``, and ``operands`` all that it is given: a write that records nothing is
    free.
    """
    edge = tensor._edge
    if edge is None or not modes.state.grad:
        return
    if edge.__class__ is View:
        _check_view(tensor, edge, name, operands)
    elif edge is LEAF:
        raise RuntimeError(
            hinted(
                "a leaf Variable that requires grad is being used in an in-place operation.",
                f"{name}() would change a tensor that gradients are computed for: do it inside torch.no_grad(), or on a clone()",
            )
        )


def _check_view(tensor, view, name, operands):
    if view.made is None and view.base._edge is not LEAF:
        return
    if view.made is not None and (view.base.requires_grad or _any_requires_grad(operands)):
        raise refused_view(view, f"{name}()")
    if view.base._edge is LEAF:
        raise RuntimeError(
            hinted(
                "a view of a leaf Variable that requires grad is being used in an in-place operation.",
                f"{name}() would write through this view into a tensor that gradients are computed for: do it inside "
                "torch.no_grad(), or on a clone()",
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


# What follows the description of a view that must not be written, by how it was made.
_REASONS = {
    MULTI_OUTPUT: " This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    NO_GRAD: " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if "
    "you want the inplace to be tracked).",
    CUSTOM_FUNCTION: " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
    "to handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.",
}


def refused_view(view, writer, change="is being"):
    """The error for ``writer`` changing a view whose history cannot follow."""
    if view.edge is not None:
        what = f"O{produced_by(view.edge)[1:]} is a view and {change} modified inplace."
    else:
        what = "A view was created in no_grad mode and is being modified inplace with grad mode enabled."
    return RuntimeError(hinted(what + _REASONS[view.made], f"let {writer} work on a clone() instead of the view"))


def rebase(tensor, edge):
    """After an in-place operation recorded as ``edge``: give ``tensor`` its new history, and its base too if it is a view."""
    view = tensor._edge
    if view.__class__ is not View:
        if view.__class__ is tuple:
            move_retained(view, edge)
        tensor._edge = edge
        return
    base = view.base
    node = _new_copy_slices(CopySlices)
    inner = edge[0]
    node.inner, node.number = inner, edge[1]
    node.view_geometry, node.kind = geometry(tensor, base), tensor._array.dtype.kind
    array = base._array
    node.base_shape, node.base_strides = array.shape, element_strides(array)
    node.next_edges = (edge_of(base), *inner.next_edges[1:])
    node.sequence = next_sequence()
    if base._edge.__class__ is tuple:
        move_retained(base._edge, (node, 0))
    base._edge = (node, 0)
    view.version = -1


class _CopySlices(Node):
    """A write through a view, seen from the base: the written part's gradient goes through the operation."""

    __slots__ = ("base_shape", "base_strides", "inner", "kind", "number", "view_geometry")

    @property
    def saved(self):
        return self.inner.saved

    @saved.setter
    def saved(self, value):
        self.inner.saved = value

    def apply(self, grad):
        full = grad.new_empty_strided(self.base_shape, self.base_strides).copy_(grad)
        part = seen_through(full, self.view_geometry, self.kind)
        found = self.inner.apply(part.clone())
        if found[0] is None or self.inner.next_edges[0] is None:
            part.zero_()
        else:
            part.copy_(found[0])
        return (full if self.next_edges[0] is not None else None, *found[1:])


CopySlices = node_class("CopySlices", _CopySlices)
_new_copy_slices = CopySlices.__new__
