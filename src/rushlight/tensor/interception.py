"""Whole calls of functions that are made of several operations, for classes with a ``__torch_function__`` of their own.

The general path of an operation asks `overrides.torch_function` by itself. What is written with other operations does not:
its functions are grafted once a class asks for that, so that other programs pay nothing.
"""

from __future__ import annotations

from types import FunctionType

from ..base.grafts import graft
from ..ops.table import COMPOSITES
from .base import Tensor
from .classes import PLAIN_CLASSES
from .names import NAMESPACES, inplace_names, make_all, places
from .overrides import torch_function

# Public functions that are in no table.
OTHERS: list = [vars(Tensor)[name] for name in ("backward", "detach", "__getitem__", "__setitem__")]
ASKING: list = []  # what all functions ask by now: ``asking(function)`` is the ``around`` of a graft


def seen_whole(function):
    """Let a public function that the table does not hold be intercepted, too. Returns it."""
    OTHERS.append(function)
    for asking in ASKING:
        graft(function, asking(function))
    return function


def intercept_for(kind):
    """Let objects of a class that has ``__torch_function__`` see whole calls of every public function. Returns the class."""
    if _asking not in ASKING:
        ASKING.append(_asking)
        for function in _composites():
            graft(function, _asking(function))
    return kind


def _composites():
    """The public functions of what is written with other operations, each once."""
    make_all()
    found = dict.fromkeys(OTHERS)
    for entry in COMPOSITES.values():
        names = [*places(entry.name, entry.names)]
        if entry.inplace:
            names += places(entry.name + "_", inplace_names(entry.names))
        for where, name in names:
            found.setdefault(vars(Tensor)[name] if where == "Tensor" else NAMESPACES[where][name])
    return [function for function in found if isinstance(function, FunctionType)]


def _asking(function):
    def around(plain):
        def call(args, kwargs):
            found = torch_function(function, args, kwargs, PLAIN_CLASSES)
            return plain(*args, **kwargs) if found is NotImplemented else found

        return call

    return around
