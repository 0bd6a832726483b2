"""Calls in an order of arguments that PyTorch still takes: numbers before the tensors that they multiply, ``add_(-lr, grad)``."""

from __future__ import annotations

import warnings
from numbers import Number

from ..base.settings import is_warn_always_enabled
from ..base.user_code import to_user
from .native_calls import forms_of
from .table import functions

_FACTORS = {
    **dict.fromkeys(("add", "sub"), ("alpha",)),
    **dict.fromkeys(("addcmul", "addcdiv"), ("value",)),
    **dict.fromkeys(("addmm", "addmv", "addr", "addbmm", "baddbmm"), ("beta", "alpha")),
}
# Which arguments are numbers (n) and tensors (t), by how many factors and tensors there are; functions first, then methods.
_ORDERS = {(1, 2): ("tnt",), (1, 3): ("tntt",), (2, 3): ("ntntt", "nttt", "tnntt", "tntt")}
_told = []


def in_old_order(name, args):
    """The arguments of such a call in today's order, and its factors by name; None where it is none. The first is warned of."""
    factors = _FACTORS.get(name)
    if factors is None:
        return None
    order = "".join("t" if hasattr(value, "_edge") else "n" if isinstance(value, Number) else "?" for value in args)
    if order not in _ORDERS.get((len(factors), order.count("t")), ()):
        return None
    if len(factors) == 2 and (order[0] == "t") != (functions.place_of_call(name)[0] == "Tensor"):
        return None
    tensors = tuple(value for value in args if hasattr(value, "_edge"))
    numbers = [value for value in args if not hasattr(value, "_edge")]
    if not _told or is_warn_always_enabled():
        _told.append(name)
        _warn(name, len(numbers))
    return tensors, dict(zip(factors, numbers))


def _warn(name, count):
    room, name = functions.place_of_call(name)
    forms = [str(form) for form in forms_of(room, name)]
    numbers = [form.split(", *")[0].count("Number") for form in forms]
    old = next(form for form, found in zip(forms, numbers) if found == count)
    new = "".join(f"\n\t{name}{form}" for form, found in zip(forms, numbers) if not found)
    warnings.warn(
        f"This overload of {name} is deprecated:\n\t{name}{old}\nConsider using one of the following signatures instead:{new}",
        UserWarning,
        stacklevel=to_user(),
    )
