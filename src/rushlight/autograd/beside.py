"""Gradients that belong to the graph of tensors they do not depend on, as PyTorch's backward functions tie them."""

from ..base import dtypes
from ..base.errors import hinted
from ..ops.table import functions
from .node import Node, edge_of, next_sequence, node_class


def beside(gradients, node, op, edges, metas):
    """``gradients`` of a node of ``op``, made to require grad where they do not, on ``edges``.

    Backward through them brings those what ``op.beside_as`` says. ``metas`` are shape and NumPy dtype of the tensors that the
    edges belong to.
    """
    return [g if g is None or edge_of(g) is not None else _placed(g, node, op, edges, metas) for g in gradients]


def _placed(gradient, node, op, edges, metas):
    if op.beside_as.__class__ is tuple:
        made = UnfinishedNode()
        made.error = op.beside_as
    else:
        made = node_class(f"{node.__class__.__name__.removesuffix('0')}Backward0", _Beside)()
        made.metas = None if op.beside_as is None else metas
    made.next_edges, made.sequence = tuple(edges), next_sequence()
    gradient = gradient._alias()
    gradient._edge = (made, 0)
    return gradient


class _Beside(Node):
    __slots__ = ("metas",)
    saved = None

    def apply(self, grad):
        if self.metas is None:
            return [None] * len(self.next_edges)
        return [functions.zeros(shape, dtype=dtypes.from_numpy(dtype)) for shape, dtype in self.metas]


class Unfinished(Node):
    """The node of what has no derivative: ``error`` is what backward raises when it comes here, with a gradient or none."""

    __slots__ = ("error",)
    saved = None
    runs_without_gradient = True

    def apply(self, *grads):
        kind, sentence = self.error
        raise kind(hinted(sentence, "detach() the inputs if no gradient is wanted here"))


UnfinishedNode = node_class("NotImplemented", Unfinished)
