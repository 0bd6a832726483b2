"""``torch.autograd.graph``: nodes and hooks on what they save."""

from __future__ import annotations

from collections import namedtuple

from ..base.errors import hinted
from ..ops.table import functions
from .hooks import HookDict, RemovableHandle
from .modes import state
from .node import Node, edge_of


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
        if state.saved_hooks_disabled is not None:
            raise RuntimeError(state.saved_hooks_disabled)
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
        self._before = state.saved_hooks_disabled
        if state.saved_hooks:
            raise RuntimeError(self.message)
        state.saved_hooks_disabled = self.message

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
    """Call ``fn`` with the gradients of several tensors: when all are there, or ("any") with the first."""
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    count = len(tensors)
    found, calls = [None] * count, [0]

    def collect(position):
        def hook(grad):
            if mode == "any":
                if calls[0] == 0:
                    fn(grad)
                calls[0] = (calls[0] + 1) % count
                return
            found[position] = grad
            calls[0] += 1
            if calls[0] == count:
                calls[0] = 0
                grads, found[:] = list(found), [None] * count
                fn(grads)

        return hook

    handles = [tensor.register_hook(collect(i)) for i, tensor in enumerate(tensors)]
    holder = HookDict()
    handle = RemovableHandle(holder)
    holder[handle.id] = fn
    remove_own = handle.remove

    def remove():
        remove_own()
        for each in handles:
            each.remove()

    handle.remove = remove
    handle.keep = holder
    return handle

