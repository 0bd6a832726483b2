"""What tensors have in place of an array in memory where their elements are elsewhere, and the plugs that run operations on them.

No such array is NumPy's, and NumPy is refused: whatever was not written for it fails, and never takes a part for the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Plug(NamedTuple):
    """How a room runs operations on its arrays; each gives NotImplemented where none of them is among the values."""

    call: Callable[..., Any]  # (op, schema, values): what the operation gives
    write: Callable[..., Any]  # (op, schema, values, name): writes into the first value, which it returns
    refuse_out: Callable[..., None]  # (op, values, targets): raises where the ``out=`` form has one of them


# Not empty once a room with arrays of its own is loaded: all that the waist tests.
PLUGS: list[Plug] = []

HOLDERS: dict[type, type] = {}  # class of such an array -> that of the tensors that hold one


class OtherArray:
    """What all of them have: they are no NumPy array. ``copied()`` has elements of its own; ``refused()`` is the error."""

    __slots__ = ()
    strides = float("nan")  # equal to no strides, its own neither: whoever compares layouts finds another one
    base = None
    __array_ufunc__ = None

    def copied(self) -> Any:
        raise NotImplementedError

    def refused(self) -> Exception:
        raise NotImplementedError

    def __array__(self, dtype=None, copy=None):
        raise self.refused()

    def __array_function__(self, function, types, args, kwargs):
        raise self.refused()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.refused()


class PartArray(OtherArray):
    """One whose elements are divided among processes: ``local`` is the array of those that this one has."""

    __slots__ = ("local",)

    def __init__(self, local):
        self.local = local
