"""The operations that a layout has: a table of functions, for the plug of the layout at the waist and for composites."""

from __future__ import annotations

import copy

from ..autograd.node import LEAF
from ..base.grafts import graft
from ..base.layouts import LAYOUT_PLUGS
from ..ops.schema import Schema
from ..ops.table import COMPOSITES, FUNCTION, functions
from .base import Tensor
from .dispatch import run


def recorded(kind, schema, node=None):
    """Make a class an operation, a ``kind`` of Op, that is not in the table; gives its function, of arguments by place."""

    def register(body):
        entry = kind(schema, body, FUNCTION, None, False, (), node, ())
        entry.parsed = parsed = Schema(schema)
        entry.name = parsed.name
        setattr(functions, parsed.name, lambda *values: run(entry, parsed, list(values)))
        return getattr(functions, parsed.name)

    return register


def deep_copied(tensor, memo):
    """A deep copy of a leaf of another layout, with its gradient; what is no leaf is refused as it is in dense form."""
    if id(tensor) in memo:
        return memo[id(tensor)]
    if not tensor.is_leaf:
        return Tensor.__deepcopy__(tensor, memo)  # it refuses
    made = memo[id(tensor)] = LAYOUT_PLUGS[tensor._array.__class__].copied(tensor)
    if tensor.requires_grad:
        made._edge = LEAF
    if tensor._grad is not None:
        made._grad = copy.deepcopy(tensor._grad, memo)
    return made


class LayoutCalls:
    """Which function runs an operation where a tensor of ``tensor_class`` is among the arguments."""

    def __init__(self, tensor_class):
        self.tensor_class = tensor_class
        self.calls = {}  # name of an operation -> the function that runs it, with the arguments of its record
        self.in_place = {}  # name of an in-place form -> the function that writes into its first argument

    def takes(self, *names):
        """Let the decorated function run operations or composites of these names where such a tensor is among the arguments.

        It gets all arguments of the record's schema; that of a composite gets what the call gave.
        """

        def register(function):
            for name in names:
                if name in COMPOSITES:
                    self.graft(getattr(functions, name), function)
                else:
                    self.calls[name] = function
            return function

        return register

    def graft(self, plain, function):
        """Let a function ask for such tensors first, in all the forms that it has: they are made before."""
        for each in (plain, *getattr(plain, "copies", ())):
            graft(each, lambda plain: self._asking(plain, function))

    def writes(self, *names):
        """Let the decorated function be the in-place form of these names where such a tensor is among the arguments."""

        def register(function):
            for name in names:
                self.in_place[name] = function
            return function

        return register

    def _asking(self, plain, function):
        def call(args, kwargs):
            return (function if self.among(args) or self.among(kwargs.values()) else plain)(*args, **kwargs)

        return call

    def among(self, values):
        """Whether such a tensor is among the values, or in a list among them."""
        for value in values:
            if value.__class__ is self.tensor_class or (value.__class__ in (list, tuple) and self.among(value)):
                return True
        return False
