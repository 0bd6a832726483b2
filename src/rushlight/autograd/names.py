"""What the user calls a tensor: variables, parameters of modules and items of lists in the frames that called us."""

from __future__ import annotations

import sys

from ..base.user_code import user_frames

LONGEST = 1000  # items of a list that are looked at


def is_tensor(value):
    """Whether ``value`` is a Tensor; asks the class, so that an object with a helpful ``__getattr__`` cannot say yes."""
    return hasattr(type(value), "_edge")


def holds_memory(tensor):
    """Whether a tensor holds its array itself; one inside a transform makes it when asked, and no identity lasts."""
    return getattr(type(tensor), "_array", tensor) is None


def is_module(value):
    """Whether ``value`` is a module, made so far that it can be asked for its parameters."""
    return hasattr(type(value), "named_parameters") and "_parameters" in getattr(value, "__dict__", ())


def names_in_scope():
    """``{id(tensor): name}`` for what the user's code can see now; also ``{id(array): name}`` of a variable's memory.

    The innermost function comes first, the globals of functions last. In each the parameters of modules come before variables,
    and those before the items of lists and dictionaries.
    """
    found, seen = {}, set()
    frames = list(user_frames())
    for frame in frames:
        if frame.f_locals is frame.f_globals:
            _take_globals(found, frame.f_globals, seen)
        else:
            _take(found, frame.f_locals)
            _let_go(frame)
    for frame in frames:
        _take_globals(found, frame.f_globals, seen)
    return found


def modules_in_scope():
    """``(name, module)`` for the modules that the user's code can see now, the largest of each scope first."""
    found = []
    for frame in user_frames():
        modules = [(name, value) for name, value in frame.f_locals.items() if is_module(value)]
        found += sorted(modules, key=lambda each: -sum(1 for _ in each[1].parameters()))
        _let_go(frame)
    return found


def name_of(tensor):
    """What the user calls ``tensor``, in backquotes; None where he has no name for it."""
    name = names_in_scope().get(id(tensor))
    return None if name is None else f"`{name}`"


def described(tensor, names=None):
    """``tensor`` by its name and shape, for a sentence: "`w` (shape [2, 3])" or "a tensor of shape [2, 3]"."""
    name = (names_in_scope() if names is None else names).get(id(tensor))
    shape = list(tensor.shape)
    return f"a tensor of shape {shape}" if name is None else f"`{name}` (shape {shape})"


def _take_globals(found, scope, seen):
    """Add the names of a module, once; what begins with an underscore is not the user's (In, Out and _ of notebooks)."""
    if id(scope) not in seen:
        seen.add(id(scope))
        _take(found, {name: value for name, value in scope.items() if not name.startswith("_")})


def _take(found, scope):
    """Add the names of one scope to ``found``, where they are new."""
    values = [(name, value) for name, value in scope.items() if name.isidentifier()]
    modules = [(name, dict(value.named_parameters())) for name, value in values if is_module(value)]
    for name, parameters in sorted(modules, key=lambda each: -len(each[1])):  # the whole before its parts
        for path, parameter in parameters.items():
            _name(found, parameter, f"{name}.{path}")
    for name, value in values:
        if is_tensor(value):
            _name(found, value, name)
    for name, value in values:
        items = ()
        if type(value) in (list, tuple):
            items = enumerate(value[:LONGEST])
        elif type(value) is dict:
            items = list(value.items())[:LONGEST]
        for key, item in items:
            if is_tensor(item):
                found.setdefault(id(item), f"{name}[{key!r}]")


def _name(found, tensor, name):
    """Note the name of a tensor and of its memory, where that has none yet."""
    found.setdefault(id(tensor), name)
    if holds_memory(tensor):
        found.setdefault(id(tensor._array), name)


# What refers to the locals of a frame while `_let_go` looks at them: the frame, its variable, the argument of getrefcount.
_OWN_REFERENCES = 3


def _let_go(frame):
    """Before Python 3.13 a frame keeps the copy of its locals that it was asked for: empty it, nobody else holds it."""
    if sys.version_info < (3, 13) and frame.f_code.co_flags & 1:
        copy = frame.f_locals
        if sys.getrefcount(copy) <= _OWN_REFERENCES:
            copy.clear()
