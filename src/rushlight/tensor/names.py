"""Names whose functions are made when somebody first asks for one: a program uses few of the table's, and all together take a while."""

from __future__ import annotations

from importlib import import_module
from threading import RLock

from ..ops.table import BOTH, EXPECTED, functions
from .base import Tensor


class _Namespace(dict):
    """The functions of a module that are made; ``[name]`` makes one that is pending."""

    def __init__(self, where):
        super().__init__()
        self.where = where

    def __missing__(self, name):
        found = function_at(self.where, name)
        if found is None:
            raise KeyError(name)
        return found


# What each public module holds, by the name that records write for the module.
NAMESPACES: dict[str, _Namespace] = {
    where: _Namespace(where) for where in ("torch", "nn.functional", "special", "linalg", "fft", "masked")
}

# Where a name is expected, in a module, in ``functions`` or in Tensor: name -> Pending.
_PENDING: dict[str, dict] = {"functions": EXPECTED, "Tensor": {}, **{where: {} for where in NAMESPACES}}

_LOCK = RLock()  # threads that ask for a name at once get the same function


class Pending:
    """What is asked for by several names: ``bind(pending)`` makes the functions of ``entry`` and hands them to `give`.

    The module that is told holds the entry. It is imported before the lock is taken: another thread may be importing it, and
    wait for the lock.
    """

    __slots__ = ("bind", "entry", "module")

    def __init__(self, bind, entry, module=None):
        self.bind, self.entry, self.module = bind, entry, module

    def make(self):
        """Make the functions, unless another thread has by now."""
        if self.module is not None:
            import_module(self.module)
        with _LOCK:
            if self.bind is not None:
                self.bind(self)
                self.bind = None


class _Method:
    """An attribute of Tensor whose function is pending: the first look at it makes the function, which takes its place."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __get__(self, tensor, owner=None):
        pending = _PENDING["Tensor"].get(self.name)
        if pending is not None:
            pending.make()
        return vars(Tensor)[self.name].__get__(tensor, owner)


def places(name, names):
    """Where the function of a record is public, and under which name: ``names`` are those that the record writes."""
    for place in names:
        where, _, alias = place.partition(":")
        yield where, alias or name


def inplace_names(names):
    """The places of an entry's in-place form, as records write them, by those of the entry."""
    parts = [place.partition(":") for place in names]
    return [
        f"{where}:{alias}_" if alias else where
        for where, _, alias in parts
        if where in BOTH and not alias.startswith("__")
    ]


def expect(where, name, pending):
    """Let ``name`` be found in a place, where it replaces what is there."""
    _PENDING[where][name] = pending
    if where == "Tensor":
        setattr(Tensor, name, _Method(name))
    else:
        _held(where).pop(name, None)


def expect_alias(name, pending):
    """Let ``functions`` have ``name``, too, unless it knows another function by it."""
    if name not in vars(functions):
        EXPECTED.setdefault(name, pending)


def give(where, name, pending, function):
    """Put a function into its place, if it is what is expected there."""
    if _PENDING[where].get(name) is not pending:
        return
    if where != "Tensor":
        _held(where)[name] = function
    elif isinstance(vars(Tensor).get(name), _Method):
        setattr(Tensor, name, function)
    del _PENDING[where][name]


def _held(where):
    return vars(functions) if where == "functions" else NAMESPACES[where]


def function_at(where, name):
    """The function that a module has under a name; None where it has none."""
    pending = _PENDING[where].get(name)
    if pending is not None:
        pending.make()
    return NAMESPACES[where].get(name)


def make_all():
    """Make every function that is pending, for those who go through all of them."""
    for pending in _PENDING.values():
        for each in [*pending.values()]:
            each.make()


def names_at(where):
    """The names of a module's functions."""
    return {*_PENDING[where], *NAMESPACES[where]}


def names_of(where, module):
    """``__getattr__`` and ``__dir__`` for a module, given by its globals, that has the functions of a place."""

    def __getattr__(name):
        if name == "__all__":
            return public_names(__dir__())
        function = function_at(where, name)
        if function is None:
            raise AttributeError(f"module '{module['__name__']}' has no attribute '{name}'")
        module[name] = function
        return function

    def __dir__():
        return sorted({*module, *names_at(where)})

    return __getattr__, __dir__


def public_names(names):
    """What ``from module import *`` takes, of the names that a module has."""
    return [name for name in names if not name.startswith("_")]
