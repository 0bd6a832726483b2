"""Hooks: functions of the user's that see or change gradients on their way."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from typing import Any

from ..base.errors import hinted
from ..base.scalars import type_name
from .modes import state


class RemovableHandle:
    """What registering a hook returns: ``handle.remove()`` takes the hook away; also a context manager.

    Args:
        hooks_dict: the dictionary of hooks, by the ids of their handles, that the hook is entered in.
        extra_dict: a dictionary, or several in a list, whose entry under the same id goes with the hook.
    """

    next_id = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        extras = extra_dict if isinstance(extra_dict, (list, tuple)) else () if extra_dict is None else (extra_dict,)
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.extra_dict_ref = tuple(weakref.ref(extra) for extra in extras)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self) -> None:
        """Take the hook away; where that is done already, nothing happens."""
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        try:
            self.remove()
        except BaseException:  # Ctrl-C came before it was done
            self.remove()
            raise

    def __getstate__(self):
        return self.hooks_dict_ref(), self.id, tuple(reference() for reference in self.extra_dict_ref)

    def __setstate__(self, state):
        hooks, self.id, *extras = state
        self.hooks_dict_ref = weakref.ref(HookDict() if hooks is None else hooks)
        self.extra_dict_ref = tuple(weakref.ref(HookDict() if each is None else each) for each in (extras or ((),))[0])
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)


RemovableHandle.__module__ = "rushlight.utils.hooks"  # where users find it, and pickle


# Hooks by the id of their handle, in the order of registration; can be referred to weakly.
HookDict = OrderedDict
CAST = "grad_dtype"  # in place of an id: what casts a leaf's gradient, before all other hooks


def add_hook(hooks, hook):
    """Put ``hook`` last into a HookDict and return the handle that removes it."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def unserializable_hook(hook):
    """Mark a tensor hook as one that is not meant to be saved: pickling its tensor warns no more."""
    hook.__torch_unserializable__ = True
    return hook


def warn_if_has_hooks(tensor):
    """Warn that the hooks of ``tensor`` will not be part of a pickle of it."""
    for hook in tuple((tensor._backward_hooks or {}).values()):
        if not getattr(hook, "__torch_unserializable__", False):
            warnings.warn(
                hinted(
                    f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function with "
                    "@torch.utils.hooks.unserializable_hook to suppress this warning",
                    "register the hook again after loading",
                ),
                stacklevel=3,
            )


class NodeHooks:
    """All that is registered on one node, in the order in which the engine runs it."""

    __slots__ = ("after", "before", "forms", "on_tensors", "retained")

    def __init__(self):
        self.forms = {}  # output number -> (shape, NumPy dtype) that its gradients have, where that tensor has another form by now
        self.on_tensors = {}  # output number -> the HookDicts of tensors that were that output: Tensor.register_hook
        self.retained = {}  # output number -> weak reference to the tensor that retains its grad
        self.before = HookDict()  # Node.register_prehook: sees all output gradients
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
    for key, hook in tuple(hooks.items()):
        replaced = hook(grad)
        if replaced is not None:
            if key is not CAST:
                _check_value(hook, grad, replaced)
            grad = replaced
    return grad


def run_post_accumulate_hooks(variable):
    """Call the hooks of a leaf that want to know when its gradient was accumulated."""
    for hook in tuple(variable._post_accumulate_hooks.values()):
        replaced = hook(variable)
        if replaced is not None:
            _check_value(hook, variable, replaced)
            if replaced is not variable:
                raise RuntimeError(
                    hinted(
                        "Tensor post accumulate grad hooks should return None.",
                        "such a hook may assign to tensor.grad; what it returns goes nowhere",
                    )
                )


def _check_value(hook, grad, replaced):
    """Refuse what a hook returned in place of ``grad`` if it is not a tensor like it."""
    name = getattr(hook, "__name__", type(hook).__name__)
    if not hasattr(replaced, "_edge"):
        raise TypeError(
            hinted(
                f"expected Variable, but hook returned '{type(replaced).__name__}'",
                f"hook '{name}' must return None, or a tensor that replaces the gradient",
            )
        )
    if grad is None:
        raise RuntimeError(
            hinted(
                "can't replace a None gradient with a non-None value",
                f"no gradient flows there: hook '{name}' must return None in this place",
            )
        )
    if replaced.dtype is not grad.dtype:
        raise RuntimeError(
            hinted(
                f"hook '{name}' has changed the type of value (was {type_name(grad.dtype)} got {type_name(replaced.dtype)})",
                f"return a tensor of the gradient's dtype: .to({grad.dtype!r})",
            )
        )
    if replaced._array.shape != grad._array.shape:
        raise RuntimeError(
            hinted(
                f"hook '{name}' has changed the size of value",
                f"the gradient has shape {list(grad.shape)}, what the hook returned {list(replaced.shape)}",
            )
        )


def _replacement(hook, grads, replaced):
    """What a node's hook returned in place of ``grads``, checked."""
    if not isinstance(replaced, tuple):
        raise TypeError(
            hinted(
                f"expected tuple, but hook returned '{type(replaced).__name__}'",
                "hooks of nodes see tuples of gradients and return None or a tuple of the same length",
            )
        )
    if len(replaced) != len(grads):
        name = getattr(hook, "__name__", type(hook).__name__)
        raise RuntimeError(
            hinted(
                f"hook '{name}' has returned an incorrect number of values (got {len(replaced)}, but expected {len(grads)})",
                "return one value for each gradient that the hook was given",
            )
        )
    for before, after in zip(grads, replaced):
        if after is not None:
            _check_value(hook, before, after)
    return replaced


def at_tensors(hooks, grads):
    """The gradients of a node's outputs after the hooks of those tensors; ``retain_grad`` keeps what they left."""
    grads = list(grads)
    for number, dictionaries in hooks.on_tensors.items():
        for registered in dictionaries:
            grads[number] = run_tensor_hooks(registered, grads[number])
    for number, reference in hooks.retained.items():
        tensor, grad = reference(), grads[number]
        if tensor is not None and grad is not None:
            tensor._grad = grad.clone() if tensor._grad is None else tensor._grad + grad
    return grads


def before_node(hooks, grads):
    """The gradients of a node's outputs after its pre-hooks."""
    for hook in tuple(hooks.before.values()):
        replaced = hook(tuple(grads))
        if replaced is not None:
            grads = list(_replacement(hook, grads, replaced))
    return grads


def after_node(node, inputs, outputs):
    """The gradients of a node's inputs after its hooks, which see None for one that leads nowhere in this run, and for a number."""
    found, places, following, task = [*inputs], [*node.shown_places()], node.next_functions, state.task
    reached = [target is not None and (task.whole or task.reaches(target)) for target, _ in following]
    if node.gives_all or (node.gives_together and any(reached)):
        reached = [node.gives_all or target is not None for target, _ in following]
    shown = [found[place] if seen else None for place, seen in zip(places, reached)]
    inputs = (*shown, *[None] * (len(following) - len(shown)))
    for hook in tuple(node.hooks.after.values()):
        replaced = hook(inputs, tuple(outputs))
        if replaced is not None:
            inputs = _replacement(hook, inputs, replaced)
    for place, gradient in zip(places, inputs):
        found[place] = gradient
    return found


def leave_hooks(tensor, old, new):
    """A write gave ``tensor`` the edge ``new`` in the place of ``old``: its hooks stay behind, its ``retain_grad`` follows."""
    tensor._hooks = None
    hooks = old[0].hooks if old.__class__ is tuple else None
    if hooks is not None and old[1] in hooks.retained:
        hooks_of(new[0]).retained[new[1]] = hooks.retained.pop(old[1])
