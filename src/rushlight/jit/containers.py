"""``torch.jit.isinstance``: whether a value is of a type such as ``list[int]``, with what is in it."""

from __future__ import annotations

import builtins
import types
import typing
import warnings

from ..base.errors import hinted

_OLD = {"List": "List[int]", "Dict": "Dict[int, int]", "Tuple": "Tuple[int]", "Optional": "Optional[int]"}
_BARE = {getattr(typing, name): example for name, example in _OLD.items()}
_BARE.update({list: "list[int]", dict: "dict[int, int]", tuple: "tuple[int]"})
_EMPTY = (
    "The inner type of a container is lost when calling torch.jit.isinstance in eager mode. For example, List[int] would "
    "become list and therefore falsely return True for List[float] or List[str]."
)


def isinstance(obj, target_type):
    """Whether ``obj`` is of a type, or of one in a tuple of types; the elements of containers count.

    >>> from typing import Dict, List
    >>> import rushlight as torch
    >>> torch.jit.isinstance([1, 2], List[int]), torch.jit.isinstance({"a": 1}, Dict[str, float])
    (True, False)
    """
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, one) for one in target_type)
    _refuse_bare(target_type)
    return _is(obj, target_type)


def _refuse_bare(target):
    try:
        example = _BARE.get(target)
    except TypeError:  # not hashable: no type
        return
    if example is not None:
        name = example.partition("[")[0]
        missing, wanted = ("contained types", "contained type") if "," in example else ("a contained type",) * 2
        raise RuntimeError(
            hinted(
                f"Attempted to use {name} without {missing}. Please add {wanted}, e.g. {example}",
                "what is in it is looked at too",
            )
        )


def _is(obj, target):
    origin, inner = typing.get_origin(target), typing.get_args(target)
    if origin in (typing.Union, types.UnionType):
        return any(obj is None if one in (None, type(None)) else _is(obj, one) for one in inner)
    if origin is None:
        return builtins.isinstance(obj, target)
    _refuse_bare(target)
    if not builtins.isinstance(obj, origin):
        return False
    if not obj:
        warnings.warn(_EMPTY, stacklevel=3)
        return True
    if origin is list:
        return all(_is(one, inner[0]) for one in obj)
    if origin is dict:
        return all(_is(key, inner[0]) and _is(value, inner[1]) for key, value in obj.items())
    if origin is tuple:
        return len(obj) == len(inner) and all(map(_is, obj, inner))
    return True
