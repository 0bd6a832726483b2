"""Whole calls of functions that are made of several operations, for classes with a ``__torch_function__`` of their own.

The general path of an operation asks `overrides.torch_function` by itself. What is written with other operations does not:
its functions are grafted once a class asks for that, so that other programs pay nothing. Nor do the methods and attributes of
tensors that no table holds (``item``, ``shape``, ...), which everybody reads all the time: such a class gets its own of these.
"""

from __future__ import annotations

from types import FunctionType

from ..base.grafts import graft
from ..ops.table import COMPOSITES, CREATE, TABLE
from . import queries
from .base import Tensor
from .binding import OPERATORS
from .classes import PLAIN_CLASSES
from .names import NAMESPACES, inplace_names, make_all, places
from .overrides import torch_function
from .short_paths import settle

# Public functions that are in no table.
OTHERS: list = [*queries.ASKING, *(vars(Tensor)[name] for name in ("backward", "detach", "__getitem__", "__setitem__"))]
ASKING: list = []  # what all functions ask by now: ``asking(function)`` is the ``around`` of a graft
# What PyTorch does not report, and what the handling itself needs.
UNSEEN = {
    "__class__", "__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__dict__", "__hash__", "__init__", "__init_subclass__",
    "__iter__", "__new__", "__setstate__", "__subclasshook__", "__torch_dispatch__", "__torch_function__", "as_subclass", "is_storage",
    "is_tensor", "typename",
}  # fmt: skip


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
        for function in _functions():
            settle(function)
            graft(function, _asking(function))
    return kind


def intercept_attributes_of(kind):
    """Give a class the methods and attributes of tensors that no table holds, as ones that ask; those of its own stay."""
    own = {name for base in kind.__mro__[: kind.__mro__.index(Tensor)] for name in vars(base)}
    entries = (*TABLE.values(), *COMPOSITES.values())
    asked = {name for entry in entries for where, name in _all_places(entry) if where == "Tensor"}
    for name in vars(Tensor).keys() - own - UNSEEN - asked - set(OPERATORS):
        value = vars(Tensor)[name]
        if name.startswith("_") and not name.startswith("__"):
            continue
        if isinstance(value, property):
            setattr(kind, name, _asking_property(value))
        elif hasattr(value, "__get__") and not isinstance(value, (classmethod, staticmethod)):
            setattr(kind, name, _asking_method(name))


def _asking_method(name):
    """A method that asks first: handlers get that of Tensor, which may be one that is made when somebody looks at it."""

    def call(*args, **kwargs):
        function = getattr(Tensor, name)
        found = torch_function(function, args, kwargs, PLAIN_CLASSES)
        return function(*args, **kwargs) if found is NotImplemented else found

    call.__name__, call.__qualname__ = name, f"Tensor.{name}"
    return call


def _asking_property(attribute):
    """A property that asks first: of its functions, handlers get PyTorch's names, such as ``Tensor.shape.__get__``."""
    get, put, drop = attribute.__get__, attribute.__set__, attribute.__delete__
    ask_get, ask_put, ask_drop = _asking(get)(get), _asking(put)(put), _asking(drop)(drop)
    return property(
        lambda self: ask_get((self,), {}),
        lambda self, value: ask_put((self, value), {}),
        lambda self: ask_drop((self,), {}),
        attribute.__doc__,
    )


def _functions():
    """The public functions whose path does not ask: of what is written with other operations and of creations; each once."""
    make_all()
    found = dict.fromkeys(OTHERS)
    for entry in (*COMPOSITES.values(), *[op for op in TABLE.values() if op.kind == CREATE]):
        for where, name in _all_places(entry):
            found.setdefault(vars(Tensor)[name] if where == "Tensor" else NAMESPACES[where][name])
    return [function for function in found if isinstance(function, FunctionType) and function.__name__ not in UNSEEN]


def _all_places(entry):
    """Where an entry's function, and that of its in-place form, are public, and under which names."""
    inplace = inplace_names(entry.names) if entry.inplace else ()
    return [*places(entry.name, entry.names), *places(entry.name + "_", inplace)]


def _asking(function):
    def around(plain):
        def call(args, kwargs):
            found = torch_function(function, args, kwargs, PLAIN_CLASSES)
            return plain(*args, **kwargs) if found is NotImplemented else found

        return call

    return around
