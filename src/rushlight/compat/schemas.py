"""Schemas of operations from the annotations of functions: ``torch.library.infer_schema``."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import operator
import typing

from ..base.device import device
from ..base.dtypes import DType
from ..base.errors import hinted
from ..tensor import Tensor

_NUMBER = int | float | bool
_SINGLE = {
    Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", DType: "ScalarType", device: "Device",
    _NUMBER: "Scalar",
}  # fmt: skip
_IN_LISTS = (Tensor, Tensor | None, int, float, bool, _NUMBER)
_RETURNED = (Tensor, int, float, bool, _NUMBER)
_LISTS = (list, collections.abc.Sequence)


def _text(annotation):
    """The schema's name of an argument's type; None for others."""
    if annotation in _SINGLE:
        return _SINGLE[annotation]
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in _LISTS and len(parts) == 1 and parts[0] in _IN_LISTS:
        return f"{_text(parts[0])}[]"
    rest = tuple(part for part in parts if part is not type(None))
    if len(rest) < len(parts) and origin not in _LISTS and origin is not tuple:
        inner = _text(functools.reduce(operator.or_, rest))
        return inner and f"{inner}?"
    return None


def _returned(annotation):
    """The schema's text of a result's type; None for others."""
    if annotation is None or annotation is type(None):
        return "()"
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple:
        texts = [_returned(part) for part in parts]
        return None if None in texts else f"(({texts[0]}))" if len(texts) == 1 else f"({', '.join(texts)})"
    if origin is list:
        return "Tensor[]" if parts == (Tensor,) else None
    return _SINGLE[annotation] if annotation in _RETURNED else None


def _mutated(text, index):
    """The type of an argument that is written to."""
    return text.replace("Tensor", f"Tensor(a{index}!)", 1)


def _default(value):
    """The text of a default; None for what has none."""
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, DType):
        return str(value).partition(".")[2]
    return f'"{value}"' if isinstance(value, device) else None


def infer_schema(prototype_function, /, *, mutates_args, op_name=None, tags=()):
    """The schema of an operation, from a function's annotations.

    Args:
        mutates_args: the names of the arguments that are written to, or "unknown" for all tensors.
        op_name: a name before the schema.
        tags: accepted.

    Raises:
        ValueError: an annotation is missing, or is none that a schema has.

    >>> import rushlight as torch
    >>> def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
    ...     return x * factor
    >>> torch.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def refuse(what, hint="annotate every argument and the result, such as `x: torch.Tensor`"):
        raise ValueError(hinted(f"infer_schema(func): {what} Got func with signature {signature})", hint))

    def known(annotation):
        if not isinstance(annotation, str):
            return annotation
        try:
            return eval(annotation, getattr(prototype_function, "__globals__", {}))
        except NameError as error:
            refuse(
                f"Unsupported type annotation {annotation}. It is not a type. ({error}). If you are using 'from __future__ import "
                "annotations', note that annotations are evaluated lazily as strings; make sure all types referenced in "
                "annotations are importable at module scope, not only inside a local function."
            )
        except Exception as error:  # whatever the program's own text raises
            refuse(f"Unsupported type annotation {annotation}. It is not a type. ({type(error).__name__}: {error})")

    missing = set() if isinstance(mutates_args, str) else set(mutates_args) - set(signature.parameters)
    parts, keyword_only = [], False
    for index, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            refuse("We do not support positional-only args, varargs, or varkwargs.", "give each argument a name")
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
            keyword_only = True
        if parameter.annotation is parameter.empty:
            refuse(f"Parameter {name} must have a type annotation.")
        annotation = known(parameter.annotation)
        text = _text(annotation)
        if text is None:
            refuse(f"Parameter {name} has unsupported type {annotation}.", "tensors, numbers, text, and lists of them")
        if mutates_args == "unknown":
            text = _mutated(text, index)
        elif not isinstance(mutates_args, str) and name in mutates_args:
            if not text.startswith("Tensor"):
                refuse(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            text = _mutated(text, index)
        if parameter.default is parameter.empty:
            parts.append(f"{text} {name}")
            continue
        default = _default(parameter.default)
        if default is None:
            refuse(
                f"Parameter {name} has an unsupported default value type {type(parameter.default)}. Please file an issue on "
                "GitHub so we can prioritize this.",
                "numbers, text and None can be defaults",
            )
        parts.append(f"{text} {name}={default}")
    if missing:
        refuse(
            f"{missing} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of "
            "all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    if signature.return_annotation is signature.empty:
        refuse("No return type annotation was provided. Please add one.")
    annotation = known(signature.return_annotation)
    result = _returned(annotation)
    if result is None:
        refuse(
            f"Return has unsupported type {annotation}.", "a tensor, a number, a list of tensors, or a tuple of those"
        )
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"
