"""Views and in-place writes: which tensor a view belongs to, and how the graph follows when memory is written."""

from __future__ import annotations

from ..base.arrays import address_of, element_strides
from ..base.errors import hinted
from ..ops.table import functions
from . import modes
from .hooks import move_retained
from .node import LEAF, Node, edge_of, next_sequence, node_class

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
            self.version = version
            if base_edge is not None and self.made is None:
                former = self.edge
                self.edge = functions.as_strided_edge(self.base, base_edge, geometry(tensor, self.base))
                if former is not None:
                    move_retained(former, self.edge)
        return self.edge


def geometry(tensor, base):
    """Shape, element strides of ``tensor`` and the offset, in elements, of its first element from that of ``base``."""
    array = tensor._array
    offset = (address_of(array) - address_of(base._array)) // array.itemsize
    return array.shape, element_strides(array), offset


def check_inplace(tensor, name):
    """Refuse a write that autograd cannot follow, in PyTorch's words; ``name`` is the operation, such as ``add_``."""
    edge = tensor._edge
    if edge is None or not modes.state.grad:
        return
    if edge is LEAF:
        raise RuntimeError(
            hinted(
                "a leaf Variable that requires grad is being used in an in-place operation.",
                f"{name}() would change a tensor that gradients are computed for: do it inside torch.no_grad(), or on a clone()",
            )
        )
    if edge.__class__ is View:
        _check_view(tensor, edge, name)


def _check_view(tensor, view, name):
    if edge_of(view.base) is None and view.resolve(tensor) is None:
        return
    if view.base._edge is LEAF:
        raise RuntimeError(
            hinted(
                "a view of a leaf Variable that requires grad is being used in an in-place operation.",
                f"{name}() would write through this view into a tensor that gradients are computed for: do it inside "
                "torch.no_grad(), or on a clone()",
            )
        )
    if view.made is None:
        return
    made_by = view.edge[0].name() if view.edge is not None else "a view operation"
    reason = {
        MULTI_OUTPUT: f"Output {view.edge[1] if view.edge else 0} of {made_by} is a view and is being modified inplace. This view is "
        "the output of a function that returns multiple views. Such functions do not allow the output views to be modified "
        "inplace. You should replace the inplace operation by an out-of-place one.",
        NO_GRAD: "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use "
        "case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the inplace "
        "either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if you want the "
        "inplace to be tracked).",
        CUSTOM_FUNCTION: f"Output {view.edge[1] if view.edge else 0} of {made_by} is a view and is being modified inplace. This view "
        "was created inside a custom Function (or because an input was returned as-is) and the autograd logic to handle "
        "view+inplace would override the custom backward associated with the custom Function, leading to incorrect gradients. "
        "This behavior is forbidden. You can fix this by cloning the output of the custom Function.",
    }[view.made]
    raise RuntimeError(hinted(reason, f"write into a clone() instead of calling {name}() on the view"))


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
    node.view_geometry = geometry(tensor, base)
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

    __slots__ = ("base_shape", "base_strides", "inner", "number", "view_geometry")

    @property
    def saved(self):
        return self.inner.saved

    @saved.setter
    def saved(self, value):
        self.inner.saved = value

    def name(self):
        return "torch::autograd::CopySlices"

    def apply(self, grad):
        full = grad.new_empty_strided(self.base_shape, self.base_strides).copy_(grad)
        part = full.as_strided(*self.view_geometry)
        found = self.inner.apply(part.clone())
        if found[0] is None or self.inner.next_edges[0] is None:
            part.zero_()
        else:
            part.copy_(found[0])
        return (full if self.next_edges[0] is not None else None, *found[1:])


CopySlices = node_class("CopySlices", _CopySlices)
_new_copy_slices = CopySlices.__new__
