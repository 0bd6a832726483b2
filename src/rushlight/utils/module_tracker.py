"""``torch.utils.module_tracker``: which modules are running, forward or backward, at every moment of a block."""

from __future__ import annotations

import logging
import weakref

from ..autograd.graph import register_multi_grad_hook
from ..autograd.modes import state
from ..base.contexts import Leaving
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ..tensor import Tensor
from ._pytree import tree_flatten

_log = logging.getLogger(__name__)


class ModuleTracker(Leaving):
    """A context that knows the modules that are running: ``parents``, a set of their names, "Global" always among them.

    A module is named after its class and the names by which its parents hold it. Backward counts a module as running from
    the gradient of its output to that of its input.

    >>> import rushlight as torch
    >>> from rushlight.utils.module_tracker import ModuleTracker
    >>> class Telling(torch.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return x
    >>> with ModuleTracker() as tracker:
    ...     y = torch.nn.Sequential(Telling())(torch.ones(1, 2))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self):
        self._parents = {"Global"}
        self._in_backward = False  # whether a module was entered by backward since all were left
        self._known_modules = weakref.WeakKeyDictionary()  # module -> name
        self._seen_modules = weakref.WeakSet()  # whose children are known
        self._hooks, self._handles = [], []

    @property
    def parents(self):
        """The names of the modules that are running, and "Global"."""
        if self._in_backward and state.task is None:
            self._parents, self._in_backward = {"Global"}, False
        return self._parents

    @property
    def is_bw(self):
        """Whether backward runs."""
        return state.task is not None

    def _name_of(self, module):
        name = self._known_modules.setdefault(module, type(module).__name__)
        if module not in self._seen_modules:
            for own, child in module.named_children():
                self._known_modules[child] = f"{name}.{own}"
                self._name_of(child)
            self._seen_modules.add(module)
        return name

    def _enter_module(self, name, backward):
        if name in self.parents:
            _log.info("the module %s was entered already, during %s", name, "backward" if backward else "forward")
        self.parents.add(name)
        self._in_backward |= backward

    def _leave_module(self, name, backward):
        if name not in self.parents:
            _log.info("the module %s was left, but not entered, during %s", name, "backward" if backward else "forward")
        self.parents.discard(name)

    def _at_gradients(self, values, function):
        tensors = [each for each in tree_flatten(values)[0] if isinstance(each, Tensor) and each.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, function))

    def _before_forward(self, module, input):
        name = self._name_of(module)
        self._enter_module(name, False)
        self._at_gradients(input, lambda grads: self._leave_module(name, True))

    def _after_forward(self, module, input, output):
        name = self._name_of(module)
        self._leave_module(name, False)
        self._at_gradients(output, lambda grads: self._enter_module(name, True))

    def __enter__(self):
        try:
            self._handles.append(register_module_forward_pre_hook(self._before_forward))
            self._handles.append(register_module_forward_hook(self._after_forward))
        except BaseException:  # Ctrl-C came in between
            self._leave()
            raise
        return self

    def _leave(self):
        for handle in (*self._handles, *self._hooks):
            handle.remove()
        self._hooks, self._handles = [], []
