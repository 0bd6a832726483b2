"""``once_differentiable``: a backward of the user's that refuses to be differentiated itself."""

from __future__ import annotations

import functools

from ..base.errors import hinted
from .modes import no_grad, state
from .node import Node, edge_of, next_sequence, node_class


class _Refusing(Node):
    """The node behind gradients that ``once_differentiable`` made: it passes nothing on."""

    __slots__ = ()
    saved = None

    def apply(self, *grads):
        raise RuntimeError(
            hinted(
                "trying to differentiate twice a function that was marked with @once_differentiable",
                "its backward computes with no record: write it with differentiable operations and take the mark away, or do not ask "
                "for second derivatives",
            )
        )


Error = node_class("Error", _Refusing)


def once_differentiable(function):
    """Mark a ``backward`` that itself cannot be differentiated: a second derivative through it is a clear error."""

    @functools.wraps(function)
    def wrapper(ctx, *args, **kwargs):
        with no_grad():
            found = function(ctx, *args, **kwargs)
        if not state.grad or not any(hasattr(g, "_edge") and g.requires_grad for g in args):
            return found
        many = isinstance(found, tuple)
        results = _behind_error(found if many else (found,))
        return results if many else results[0]

    return wrapper


def _behind_error(results):
    """Aliases of ``results`` that require grad, each from a node that refuses to be run."""
    node = Error()
    node.sequence = next_sequence()
    node.next_edges = tuple(None if r is None else edge_of(r.detach().requires_grad_()) for r in results)
    node.set_outputs(len(results))
    made = tuple(None if r is None else r.detach() for r in results)
    for number, each in enumerate(made):
        if each is not None:
            each._edge = (node, number)
    return made
