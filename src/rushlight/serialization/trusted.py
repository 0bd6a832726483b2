"""Objects of the program's own classes, rebuilt as data: made without ``__init__``, attributes filled in."""

from __future__ import annotations

import enum
import functools
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType

from ..nn.modules.module import Module
from ..tensor import Tensor
from .foreign import set_attributes
from .messages import malformed, printable, refused, shorten, unsupported_global
from .program import operation, own_member, why_not
from .unpickler import Token

_MEMBERS: dict[str, type] = {"_parameters": Tensor, "_buffers": Tensor, "_modules": Module}


def token_for(name, found, listed):
    """What a class or function of the program means in a stream; ``listed``: the user has put it on the safe list."""
    if isinstance(found, FunctionType):
        return found
    if not isinstance(found, type):
        if callable(found):
            return found
        raise refused(f"GLOBAL {name} is neither a class nor a function", "add the class itself to the safe list")
    if isinstance(found, enum.EnumMeta):
        return Token(name, _member_of(found), value=found)
    if not listed and (reason := why_not(found)) is not None and reason.startswith("belongs"):
        raise refused(f"GLOBAL {name} {reason}", way_out(found.__module__, found.__qualname__))
    return Token(name, new=_maker(found, listed), value=found)


def way_out(module, name):
    """The hint with the line that lets a class or function be read."""
    outer = name.partition(".")[0]
    return (
        "if you trust what it does: "
        f"from {printable(module)} import {printable(outer)}; torch.serialization.add_safe_globals([{printable(name)}])"
    )


def _member_of(kind):
    def build(arguments):
        for member in kind:
            if arguments == (member.value,):
                return member
        raise refused(
            f"a {kind.__name__} of a value it does not have", "the class has changed since the file was saved"
        )

    return build


def _maker(kind, listed):
    def new(arguments):
        if issubclass(kind, tuple):
            return tuple.__new__(kind, arguments)
        reason = None if listed else why_not(kind)
        if reason is not None:
            raise refused(f"a {kind.__name__}, which {reason}", way_out(kind.__module__, kind.__qualname__))
        taken_apart = any(own_member(kind, method) for method in ("__reduce__", "__reduce_ex__"))
        if arguments or taken_apart or issubclass(kind, Tensor):
            raise refused(
                f"a {kind.__name__}, which is rebuilt by code of its own", "save its plain attributes: vars(the_object)"
            )
        try:
            return object.__new__(kind)
        except TypeError:
            raise refused(
                f"a {kind.__name__}, which is more than its attributes", "save it as a dict, list or tuple"
            ) from None

    return new


# ---------------------------------------------------------------- state


def set_state(target, state):
    """BUILD for an instance that this file has made."""
    kind = type(target)
    if issubclass(kind, Module):
        _check_module_state(target, state)
    restoring = own_member(kind, "__setstate__")
    if restoring is not None:
        try:
            restoring(target, state)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise malformed(f"a {kind.__name__} whose state it does not take ({error})") from error
        return
    attributes, slots = state if type(state) is tuple and len(state) == 2 else (state, None)
    if attributes is not None:
        if type(own_member(kind, "__dict__")) is not GetSetDescriptorType:
            raise malformed(f"a {kind.__name__} with attributes, for which it has no place")
        set_attributes(target, attributes)
    if slots is not None:
        _set_slots(target, slots)


def _set_slots(target, slots):
    if type(slots) is not dict or not all(type(name) is str for name in slots):
        raise malformed(f"a {type(target).__name__} with slots that have no names")
    for name, value in slots.items():
        slot = own_member(type(target), name)
        if type(slot) is not MemberDescriptorType:
            raise malformed(f"a {type(target).__name__} with a slot {shorten(name)} that its class does not have")
        slot.__set__(target, value)


def _check_module_state(target, state):
    """A module's members have the types that its methods rely on, and no attribute hides one of Python's."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise malformed(f"a {type(target).__name__} with attributes that have no names")
    for name in state:
        if name.startswith("__") and name.endswith("__"):
            raise malformed(f"a {type(target).__name__} with the attribute {shorten(name)}")
    for name, kind in _MEMBERS.items():
        members = state.get(name, {})
        if not isinstance(members, dict) or not all(
            type(key) is str and (value is None or issubclass(type(value), kind)) for key, value in members.items()
        ):
            raise malformed(f"a {type(target).__name__} with {name} that are none")
    for name, value in state.items():
        if name.endswith("_hooks") and not isinstance(value, dict):
            raise malformed(f"a {type(target).__name__} with {name} that are no hooks")


# ---------------------------------------------------------------- callables that are made, not called


def _partial(arguments):
    if len(arguments) != 1:
        raise malformed("a functools.partial of something else than one function")
    return functools.partial(_callable(arguments[0]))


def _callable(item):
    found = item.value if type(item) is Token else item
    if not isinstance(found, (type, FunctionType, functools.partial)):
        raise refused(
            "a functools.partial of what is no function or class", "save the values, and make it after loading"
        )
    return found


def set_partial(target, state):
    """BUILD for ``functools.partial``: (function, arguments, keywords, attributes)."""
    if type(state) is not tuple or len(state) != 4:
        raise malformed("a functools.partial with unexpected properties")
    function, arguments, keywords, attributes = state
    if type(arguments) is not tuple or type(keywords) is not dict or not all(type(name) is str for name in keywords):
        raise malformed("a functools.partial with unexpected arguments")
    if attributes:
        raise refused("a functools.partial with attributes", "save the values, and make it after loading")
    target.__setstate__((_callable(function), arguments, keywords, None))


def _attribute(is_made):
    """``getattr`` as files use it: functions of PyTorch's own classes, and methods of objects that the file has made."""

    def build(arguments):
        if len(arguments) != 2 or type(arguments[1]) is not str:
            raise malformed("an attribute without a name")
        owner, name = arguments
        if type(owner) is Token:
            found = operation(owner.name, name)
            if found is not None:
                return found
        elif is_made(owner):
            method = own_member(type(owner), name)
            if isinstance(method, FunctionType):
                return MethodType(method, owner)
        raise unsupported_global(
            f"builtins.getattr of {shorten(name)}", "a checkpoint may name methods and functions only", False
        )

    return build


def tokens(is_made):
    """The names that stand for callables which are made of others."""
    made = [
        Token("functools.partial", _partial, value=functools.partial),
        Token("builtins.getattr", _attribute(is_made)),
        *map(Token, ("torch._C._VariableFunctionsClass", "torch._C._VariableFunctions", "torch._C.TensorBase")),
    ]
    return {token.name: token for token in made}
