"""Instances of classes that the user put on the safe list, rebuilt as data: attributes filled in, no code run."""

from __future__ import annotations

import enum

from .foreign import set_attributes
from .messages import refused
from .unpickler import Token


def token_for(name, trusted):
    """The Token of a trusted class; ``UnpicklingError`` where rebuilding it would mean running code."""
    if not isinstance(trusted, type):
        raise refused(
            f"GLOBAL {name} is a function",
            "a checkpoint never makes Rushlight call anything; only classes can be rebuilt, as data",
        )
    if isinstance(trusted, enum.EnumMeta):
        return Token(name, _member(trusted), value=trusted)
    if hasattr(trusted, "load_state_dict"):
        raise refused(
            f"GLOBAL {name} is a whole {trusted.__name__}, not its data",
            "save its state_dict() and load that with load_state_dict()",
        )
    return Token(name, new=_instance(trusted), value=trusted)


def _member(kind):
    def build(arguments):
        for member in kind:
            if arguments == (member.value,):
                return member
        raise refused(
            f"a {kind.__name__} of a value it does not have", "the class has changed since the file was saved"
        )

    return build


def _instance(kind):
    def new(arguments):
        if issubclass(kind, tuple):
            return tuple.__new__(kind, arguments)
        if arguments or hasattr(kind, "__setstate__"):
            raise refused(
                f"a {kind.__name__}, which is rebuilt by code of its own", "save its plain attributes: vars(the_object)"
            )
        try:
            instance = object.__new__(kind)
            instance.__dict__  # noqa: B018 (classes without one cannot be filled in)
        except (TypeError, AttributeError):
            raise refused(
                f"a {kind.__name__}, which is more than its attributes", "save it as a dict, list or tuple"
            ) from None
        return instance

    return new


def set_state(target, state):
    """BUILD for an instance that this file has made."""
    set_attributes(target, state)
