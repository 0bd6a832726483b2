"""``torch._tensor``: the class of tensors, and what pickles of its subclasses call."""

from ...tensor import Tensor

__all__ = ["Tensor"]


def _rebuild_from_type(func, type, args, dict):
    """A tensor of a subclass, with its attributes."""
    made = func(*args)
    if made.__class__ is not type:
        made = made.as_subclass(type)
    made.__dict__.update(dict)
    return made


def _rebuild_from_type_v2(func, new_type, args, state):
    """A tensor of a subclass, with its state."""
    made = func(*args)
    if made.__class__ is not new_type:
        made = made.as_subclass(new_type)
    if hasattr(new_type, "__setstate__") and new_type.__setstate__ is not Tensor.__setstate__:
        made.__setstate__(state)
    else:
        parts = state if isinstance(state, tuple) else (state, None)
        for part in parts:
            for name, value in (part or {}).items():
                setattr(made, name, value)
    return made
