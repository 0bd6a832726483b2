"""``trace()``: nodes made inside remember the line of the user's code and the calls of modules that made them."""

from __future__ import annotations

import linecache
import os
import threading
import weakref

from rushlight.autograd.modes import state
from rushlight.base.contexts import Leaving
from rushlight.base.user_code import location_of, user_place
from rushlight.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook


class Call:
    """One call of a module: its name seen from the outermost module that was called, and the call it was made in."""

    __slots__ = ("class_name", "module", "name", "names", "parent")

    def __init__(self, module, parent):
        self.parent, self.class_name, self.module = parent, type(module).__name__, weakref.ref(module)
        if parent is None:
            self.names = {id(each): name for name, each in module.named_modules()}
            self.name = ""
        else:
            self.names = parent.names
            self.name = self.names.get(id(module)) or f"{parent.name}.{self.class_name}".lstrip(".")

    def path(self):
        """The calls around this one and itself, outermost first."""
        calls, call = [], self
        while call is not None:
            calls.append(call)
            call = call.parent
        return tuple(reversed(calls))


class Place:
    """A line of the user's code."""

    __slots__ = ("file", "line")

    def __init__(self, file, line):
        self.file, self.line = file, line

    def __str__(self):
        return f"{os.path.basename(self.file)}:{self.line}"

    @property
    def code(self):
        """What stands there; empty where the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()


class trace(Leaving):
    """A context in which every operation that is recorded remembers its place, and the modules it ran in.

    Drawings of such graphs show file and line of each node and fold each call of a module into a group. The operations
    of this thread take the general path inside, so they are slower; nothing is slower outside.

    >>> import rushlight as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    >>> with torch.draw.trace():
    ...     loss = model(torch.ones(1, 2)).sum()
    >>> print(torch.draw.graph(loss).text(saved=False, places=False).partition("\\n")[2])
    ↑ Sum []
    Sequential
    ↑ Tanh [1, 3] · 1
    ↑ Addmm [1, 3] · 0  ← model.0.weight [3, 2], model.0.bias [3]
    """

    def __enter__(self):
        self._call, self._thread = None, threading.get_ident()
        self._handles, self._observer = [], self._observe
        try:
            self._handles.append(register_module_forward_pre_hook(self._enter_module))
            self._handles.append(register_module_forward_hook(self._leave_module, always_call=True))
            state.observers = (*state.observers, self._observer)
            state.update()
        except BaseException:  # Ctrl-C came in between
            self._leave()
            raise
        return self

    def _leave(self):
        state.observers = tuple(each for each in state.observers if each is not self._observer)
        state.update()
        for handle in self._handles:
            handle.remove()

    def _enter_module(self, module, args):
        if threading.get_ident() == self._thread:
            self._call = Call(module, self._call)

    def _leave_module(self, module, args, output):
        if threading.get_ident() != self._thread:
            return
        call = self._call
        while call is not None and call.module() is not module:  # calls that ended in an error that no hook saw
            call = call.parent
        self._call = None if call is None else call.parent

    def _observe(self, node):
        node.made_at, node.made_in = user_place(), self._call


def calls_of(node):
    """The module calls that `node` was made in, outermost first; None where nothing was traced."""
    kept = _kept_by(node)
    return None if "made_in" not in kept else () if kept["made_in"] is None else kept["made_in"].path()


def place_of(node):
    """Where the user's code made `node`: traced, or remembered by anomaly mode; None where neither was on."""
    place = _kept_by(node).get("made_at")
    return None if place is None else Place(*location_of(place))


def _kept_by(node):
    """What a node remembers; of a write through a view, what the node of the writing operation does."""
    return getattr(node, "inner", node).__dict__
