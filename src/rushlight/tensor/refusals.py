"""Calls that failed: where their arguments fit no form of the function, PyTorch's parser has the word, whatever went wrong here.

Of operations nothing is looked at before: a call that works pays nothing for its errors. Functions that are made of several
look at kinds of arguments that they have not met (`kinds`).
"""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib import import_module
from inspect import CO_VARKEYWORDS
from types import FunctionType, MappingProxyType

from ..base.limits import refusal_of
from ..base.user_code import PACKAGE
from ..ops.table import TABLE, functions
from .base import Tensor
from .classes import MISSING, PLAIN_CLASSES, as_given
from .kinds import looking
from .names import NAMESPACES

MARK = ":"  # between room and name in the code of functions that are known by another name than their operation's
_OPERATOR = "operator "  # before the name in the code of operators
_WITHIN = (PACKAGE + "tensor", PACKAGE + "<", PACKAGE + os.path.join("compat", "modes."))
_PACKAGE = __package__.partition(".")[0]


def refusal(*call):
    """`ops.native_refusals.refusal`, which programs without a mistake never load."""
    return import_module("rushlight.ops.native_refusals").refusal(*call)


def known_as(function, room, name):
    """A function like ``function``, an operation's, that errors call by its place: ``Tensor`` and ``clip``, say."""
    code = function.__code__.replace(co_qualname=f"{room}{MARK}{name}")
    own = function.__name__ if name.startswith("__") else name
    made = FunctionType(code, function.__globals__, own, function.__defaults__, function.__closure__)
    made.__kwdefaults__, made.__doc__ = function.__kwdefaults__, function.__doc__
    made.__dict__.update(function.__dict__)
    _at_home(made, room, name)
    function.__dict__.setdefault("copies", []).append(made)
    return made


def handed_as(function, name):
    """An operator's function, of whose calls ``__torch_function__`` gets the method ``name`` of Tensor. Returns it."""
    function.__code__, function.__name__ = function.__code__.replace(co_qualname=_OPERATOR + name), name
    return function


def refuse(name, args, kwargs):
    """Raise PyTorch's error for a call of the operation ``name`` whose arguments do not fit, in an except clause; else nothing."""
    function = getattr(functions, name)
    room, public = _place(None, name)
    if room is None:
        if name in TABLE and not TABLE[name].names:
            return  # PyTorch's function of this name, if there is one, is another
        room = "torch"
    name = public
    found = refusal(room, name, args[1:] if room == "Tensor" else args, kwargs, function)
    if found is not None:
        raise found from None


functions.refuse = refuse


def refuse_failed(name, given, rest, options):
    """`refuse` for a short path, in an except clause; what NumPy refuses is told in PyTorch's words, too."""
    error, args = sys.exc_info()[1], (*given, *rest)
    own = all(
        type(each) in PLAIN_CLASSES or not hasattr(each, "__torch_function__") for each in (*args, *options.values())
    )
    if own:  # other classes had their say on the general path
        refuse(name, args, options)
    if isinstance(error, (MemoryError, ValueError, OverflowError)):
        raise refusal_of(error) from None


def refuse_method(name, *args, **kwargs):
    """Raise PyTorch's error for a call of a method of Tensor with these arguments, if they do not fit."""
    found = refusal("Tensor", name, args, kwargs)
    if found is not None:
        raise found


functions.refuse_method = refuse_method


def _place(room, name):
    """Under which name an operation was called: told by the code of the function that the caller outside of this room called."""
    for code in _codes(sys._getframe(2)):
        if MARK in code.co_qualname:
            return code.co_qualname.split(MARK)
    return room, name


def _codes(frame):
    """The codes of the functions through which a call came to ``frame``: those of this room and of modes, from the inside, and the
    next."""
    while frame is not None:
        yield frame.f_code
        within = frame.f_code.co_filename.startswith(_WITHIN)
        frame = frame.f_back if within else None


def place_of_call(name):
    """The room and the name by which the user called an operation: told by the outermost function of ours that says it."""
    frame, found = sys._getframe(1), ("torch", name)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        if MARK in frame.f_code.co_qualname:
            found = tuple(frame.f_code.co_qualname.split(MARK))
        frame = frame.f_back
    return found


functions.place_of_call = place_of_call


def called_function(name):
    """The public function by which the caller's caller, the operation ``name``, was called: what ``__torch_function__`` gets."""
    room, public = "torch", name
    for code in _codes(sys._getframe(2)):
        if code.co_qualname.startswith(_OPERATOR):
            return getattr(Tensor, code.co_qualname.removeprefix(_OPERATOR))
        if MARK in code.co_qualname:
            room, public = code.co_qualname.split(MARK)
            public = name if public.startswith("__") else public
            break
    found = vars(Tensor).get(public) if room == "Tensor" else NAMESPACES.get(room, {}).get(public)
    return getattr(functions, name) if found is None else found


def guarded(function, room, name, aliases=MappingProxyType({}), named=None):
    """``function``, one of several operations, as it is public: what does not fit is refused in PyTorch's words.

    ``aliases`` are other names of arguments, which are looked at where the function itself does not take a call. ``named`` is
    called in its place where arguments have names; it knows the others itself.
    """

    known, look = looking(function, partial(refused, function, room, name, aliases))
    renamed = MappingProxyType({}) if named else aliases
    named = named or function

    def call(first=MISSING, second=MISSING, third=MISSING, fourth=MISSING, /, *rest, **options):
        try:  # the usual calls, without a row of their arguments
            if options or rest or first is MISSING:
                pass
            elif second is MISSING:
                if (first.__class__,) in known:
                    return function(first)
            elif third is MISSING:
                if (first.__class__, second.__class__) in known:
                    return function(first, second)
            elif fourth is MISSING:
                if (first.__class__, second.__class__, third.__class__) in known:
                    return function(first, second, third)
            elif (first.__class__, second.__class__, third.__class__, fourth.__class__) in known:
                return function(first, second, third, fourth)
        except Exception:
            refuse_call(function, room, name, as_given(first, second, third, fourth), {})
            raise
        if third is MISSING:
            return any_call(as_given(first, second) if second is MISSING else (first, second), options)
        return any_call(
            (first, second, third, *rest) if fourth is MISSING else (first, second, third, fourth, *rest), options
        )

    def any_call(args, kwargs):
        looked_up = not kwargs and len(args) < 5
        if looked_up or (*map(type, args), *map(type, kwargs.values()), *kwargs) not in known:
            look(args, kwargs)
        try:
            return named(*args, **kwargs) if kwargs else function(*args)
        except Exception:
            if not renamed.keys().isdisjoint(kwargs):
                options = {renamed.get(key, key): value for key, value in kwargs.items()}
                if len(options) == len(kwargs):
                    return any_call(args, options)
            refuse_call(function, room, name, args, kwargs)
            placed = _in_our_names(function, room, name, args, kwargs)
            if placed is None:
                raise
        return named(*placed[0], **placed[1])

    return as_public(call, function, room, name)


def _in_our_names(function, room, name, args, kwargs):
    """A call with names of arguments that only PyTorch's function has, as ours takes it, in an except clause; None for any other."""
    code = function.__code__
    own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if code.co_flags & CO_VARKEYWORDS or not (kwargs.keys() - own - {"out"}):
        return None
    own_arguments = args[1:] if room == "Tensor" else args
    found = import_module("rushlight.ops.native_refusals").in_places(room, name, own_arguments, kwargs)
    if found is None or found[1].keys() - own - {"out"}:
        return None
    return (*args[: room == "Tensor"], *found[0]), found[1]


def judged(function, room, name):
    """``function`` as it is public, which takes what it takes: a call that fails is judged by PyTorch's parser, at 50 ns a call."""

    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception:
            refuse_call(function, room, name, args, kwargs)
            raise

    return as_public(call, function, room, name)


def refused(function, room, name, aliases, args, kwargs):
    """The error of PyTorch's parser for such a call, None where it takes it."""
    if not aliases.keys().isdisjoint(kwargs):
        kwargs = {aliases.get(key, key): value for key, value in kwargs.items()}
    return refusal(room, name, args[1:] if room == "Tensor" else args, kwargs, function)


def as_public(call, function, room, name):
    """``call``, which stands around ``function``, as the function ``name`` of a room."""
    call.__name__ = name
    call.__doc__, call.__wrapped__ = function.__doc__, function
    _at_home(call, room, name)
    return call


def _at_home(function, room, name):
    """Let a function say where it is found, as pickles ask."""
    function.__module__ = _PACKAGE if room in ("torch", "Tensor") else f"{_PACKAGE}.{room}"
    function.__qualname__ = f"Tensor.{name}" if room == "Tensor" else name


def guard(holder, room, *names, how=guarded):
    """Make attributes of ``holder``, a class or a dictionary of functions, `guarded`, or `judged`."""
    for name in names:
        if isinstance(holder, dict):
            holder[name] = how(holder[name], room, name)
        else:
            setattr(holder, name, how(getattr(holder, name), room, name))


def refuse_call(function, room, name, args, kwargs):
    """`refuse` for a function that knows under which name it was called; too little memory is told in PyTorch's words, too."""
    error = sys.exc_info()[1]
    if isinstance(error, MemoryError):
        raise refusal_of(error) from None
    found = refusal(room, name, args[1:] if room == "Tensor" else args, kwargs, function)
    if found is not None:
        raise found from None
