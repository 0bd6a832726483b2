"""``torch.autograd.graph``: nodes and hooks on what they save."""

from __future__ import annotations

import functools
from collections import namedtuple

from ..base.errors import hinted
from ..ops.table import functions
from .hooks import RemovableHandle
from .modes import state
from .node import Node as Node
from .node import edge_of


class saved_tensors_hooks:
    """A context in which ``pack_hook`` sees each tensor saved for backward, and ``unpack_hook`` gives it back.

    >>> import rushlight as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy().copy(), torch.from_numpy):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        if not (callable(self.pack_hook) and callable(self.unpack_hook)):
            raise TypeError(
                hinted(
                    "_push_saved_tensors_default_hooks(): incompatible function arguments. The following argument types are "
                    "supported:",
                    f"pack_hook and unpack_hook must be functions, not {self.pack_hook!r} and {self.unpack_hook!r}",
                )
            )
        if state.saved_hooks_disabled is not None:
            raise RuntimeError(hinted(state.saved_hooks_disabled, "saved-tensor hooks are disabled around this call"))
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))
        state.update()

    def __exit__(self, kind, value, trace):
        state.saved_hooks = state.saved_hooks[:-1]
        state.update()


class save_on_cpu(saved_tensors_hooks):
    """Saved tensors are copied to main memory meanwhile; here they already are there, and are copied."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda tensor: tensor.clone(), lambda tensor: tensor)


class disable_saved_tensors_hooks:
    """A context in which using saved-tensor hooks raises RuntimeError with ``error_message``."""

    def __init__(self, error_message):
        self.message = error_message

    def __enter__(self):
        if state.saved_hooks:
            raise RuntimeError(hinted(self.message, "saved-tensor hooks are active: leave their context before"))
        self._before, state.saved_hooks_disabled = state.saved_hooks_disabled, self.message

    def __exit__(self, kind, value, trace):
        state.saved_hooks_disabled = self._before


def increment_version(tensor):
    """Count a write to ``tensor`` (or each of several) that autograd could not see."""
    for each in tensor if isinstance(tensor, (tuple, list)) else (tensor,):
        functions.bump_version(each, "increment_version")


class GradientEdge(namedtuple("GradientEdge", "node output_nr ownership_token", defaults=(None,))):
    """Where a gradient flows: ``node`` and which of its outputs; stands for a tensor in ``grad`` and ``backward``."""

    __slots__ = ()


def get_gradient_edge(tensor):
    """The edge along which the gradient of ``tensor`` flows."""
    edge = edge_of(tensor)
    if edge is None:
        raise RuntimeError(
            hinted(
                "It is not possible to get the gradient edge for a Tensor that does not require gradients",
                f"set requires_grad_() on what this tensor (shape {list(tensor.shape)}) is computed from",
            )
        )
    return GradientEdge(*edge)


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call ``fn`` once in each backward: with the gradients of all ``tensors`` when the last is known, or with the first.

    Args:
        tensors: tensors that require grad.
        fn: gets a list with a gradient for each tensor, None for one that this backward does not reach (mode "all"); or
            the gradient that came first (mode "any").
        mode: "all" or "any".

    Returns:
        A handle; ``remove()`` takes the hook away.
    """
    if mode not in ("all", "any"):
        raise ValueError(
            hinted(
                f"Expects mode to be one of ('all', 'any') but got {mode}",
                "'all' waits for every gradient that will come",
            )
        )
    nodes = [_node_towards(tensor) for tensor in tensors]
    key = object()  # under which a run of the engine keeps what came so far

    def first(grad):
        if key not in state.task.notes:
            state.task.notes[key] = True
            fn(grad)

    def collect(position, grad):
        task = state.task
        if key not in task.notes:
            task.notes[key] = [None] * len(nodes), [sum(task.reaches(node) for node in nodes)]
        grads, missing = task.notes[key]
        grads[position] = grad
        missing[0] -= 1
        if not missing[0]:
            fn(grads)

    hooks = [first if mode == "any" else functools.partial(collect, position) for position in range(len(nodes))]
    return _Handles(tensor.register_hook(hook) for tensor, hook in zip(tensors, hooks))


def _node_towards(tensor):
    edge = edge_of(tensor)
    if edge is None:
        raise AssertionError(
            hinted(
                "Expected gradient function to be set", f"a tensor of shape {list(tensor.shape)} does not require grad"
            )
        )
    return edge[0]


class _Handles(RemovableHandle):
    """Several hooks, removed together."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()
