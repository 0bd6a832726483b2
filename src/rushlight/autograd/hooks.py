"""Hooks: functions of the user's that see or change gradients on their way."""

from __future__ import annotations

import itertools
import weakref

_next_id = itertools.count().__next__


class RemovableHandle:
    """What registering a hook returns: ``handle.remove()`` takes the hook away; also a context manager."""

    def __init__(self, hooks, *, extra_dict=None):
        self.id = _next_id()
        self._hooks = weakref.ref(hooks)
        self._extra = extra_dict

    def remove(self):
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)
        if self._extra is not None:
            for extra in self._extra if isinstance(self._extra, (list, tuple)) else (self._extra,):
                extra.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.remove()


class HookDict(dict):
    """Hooks by the id of their handle, in the order of registration; a dict that can be referred to weakly."""

    __slots__ = ("__weakref__",)


def add_hook(hooks, hook):
    """Put ``hook`` last into a HookDict and return the handle that removes it."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


class NodeHooks:
    """All that is registered on one node, in the order in which the engine runs it."""

    __slots__ = ("after", "before", "on_tensors", "retained")

    def __init__(self):
        self.on_tensors = {}  # output number -> HookDict: Tensor.register_hook
        self.before = HookDict()  # Node.register_prehook: sees all output gradients
        self.retained = {}  # output number -> weak reference to the tensor that retains its grad
        self.after = HookDict()  # Node.register_hook: sees input and output gradients


def hooks_of(node):
    """The node's hooks, made on first use."""
    if node.hooks is None:
        node.hooks, node.special = NodeHooks(), True
    return node.hooks


def register_prehook(node, hook):
    """Run ``hook(grad_outputs)`` before the node; a returned tuple replaces them."""
    return add_hook(hooks_of(node).before, hook)


def register_hook(node, hook):
    """Run ``hook(grad_inputs, grad_outputs)`` after the node; a returned tuple replaces the input gradients."""
    return add_hook(hooks_of(node).after, hook)


def run_tensor_hooks(hooks, grad):
    """Pass ``grad`` through the hooks of one tensor; what a hook returns, unless None, goes on."""
    for hook in tuple(hooks.values()):
        replaced = hook(grad)
        if replaced is not None:
            if not hasattr(replaced, "_edge"):
                raise TypeError(f"hooks must return None or a Tensor, but {getattr(hook, '__name__', hook)} returned {type(replaced).__name__}")
            if replaced.shape != grad.shape:
                raise RuntimeError(f"hook '{getattr(hook, '__name__', hook)}' has changed the size of value")
            grad = replaced
    return grad


def before_node(node, grads):
    """Output gradients of ``node`` after tensor hooks, pre-hooks and ``retain_grad``, in PyTorch's order."""
    hooks = node.hooks
    grads = list(grads)
    for number, registered in hooks.on_tensors.items():
        if grads[number] is not None:
            grads[number] = run_tensor_hooks(registered, grads[number])
    for hook in tuple(hooks.before.values()):
        replaced = hook(tuple(grads))
        if replaced is not None:
            grads = [replaced] if hasattr(replaced, "_edge") else list(replaced)
    return grads


def retain(node, grads):
    """Store output gradients on the tensors that asked for them with ``retain_grad``."""
    for number, reference in node.hooks.retained.items():
        tensor, grad = reference(), grads[number]
        if tensor is not None and grad is not None:
            tensor._grad = grad.clone() if tensor._grad is None else tensor._grad + grad


def after_node(node, inputs, outputs):
    """Input gradients of ``node`` after its hooks."""
    for hook in tuple(node.hooks.after.values()):
        replaced = hook(tuple(inputs), tuple(outputs))
        if replaced is not None:
            inputs = (replaced,) if hasattr(replaced, "_edge") else tuple(replaced)
    return inputs
