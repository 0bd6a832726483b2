"""Tensors that are not one array in memory: what stands in place of the array, and the plug of such a layout at the waist.

What reads a tensor's array without knowing better fails, since NumPy is refused there: nothing takes such a tensor for a dense one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .errors import hinted


class PartedArray:
    """Elements ``values`` (an array) of a tensor whose layout says where they stand; subclasses add what that needs."""

    __slots__ = ("values",)
    strides = float("nan")  # equal to no strides, its own neither: whoever compares layouts finds another one
    base = None
    hint = ""
    divided = False  # whether ``values`` are those that this process has of elements that are spread over processes
    absent = False  # whether the elements are somewhere else, known to the tensor's class alone
    layout: Any
    __array_ufunc__ = None

    dtype = property(lambda self: self.values.dtype)
    itemsize = property(lambda self: self.values.itemsize)

    def __array__(self, dtype=None, copy=None):
        raise self.refused()

    def __array_function__(self, function, types, args, kwargs):
        raise self.refused()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.refused()

    def refused(self):
        """The error where an operation reads such a tensor as an array."""
        message = f"this operation does not take tensors of the layout {self.layout}"
        return NotImplementedError(hinted(message, self.hint))


class Layout(NamedTuple):
    """What the room of a layout does at the waist, and where gradients are accumulated."""

    tensor_class: type  # of tensors that hold such an array
    # (operation, values) -> what it gives, or NotImplemented where no such tensor is among the values
    call: Callable[..., Any]
    write: Callable[..., Any]  # (operation, name, values), the same of an operation that writes into its first argument
    write_out: Callable[
        ..., bool
    ]  # (operation, values, targets): the ``out=`` form where one is among them; whether it wrote
    copied: Callable[..., Any]  # (gradient) -> a copy outside the graph
    accumulated: Callable[..., Any]  # (present gradient, another one, whether that is recorded) -> their sum


# By the class of the array; empty until a room with such a layout is loaded: all that the waist tests.
LAYOUT_PLUGS: dict[type, Layout] = {}
