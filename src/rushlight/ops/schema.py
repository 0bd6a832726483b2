"""Schemas: the arguments of an operation, how Python values are bound to them, and PyTorch's words when they do not fit."""

from __future__ import annotations

import numbers
import re
from importlib import import_module

import numpy as np

from ..base import dtypes
from ..base.device import memory_format
from ..base.errors import hinted, kind_name
from ..base.scalars import check_word
from ..base.size import Size

_ARGUMENT = re.compile(r"(?P<type>[A-Za-z]+(?:\[\d*\])?\*?\??)\s+(?P<name>\w+)(?:\s*=\s*(?P<default>.+))?$")
_REQUIRED = object()
# Tensor and the classes that behave exactly as it: the tensor room adds them.
TENSOR_CLASSES: set[type] = set()
OPTIONAL_TENSOR_CLASSES: set[type] = {type(None)}
_NOTHING, _NUMBERS = frozenset(), frozenset((int, float, bool, complex))
_EXACT = {"Tensor": TENSOR_CLASSES, "Operand": TENSOR_CLASSES, "int": {int}, "bool": {bool}, "float": {float}, "str": {str},
          "Scalar": {float}, "Endpoint": {float}, "dtype": {dtypes.DType}, "positions": {tuple}}  # fmt: skip
# The same for calls that look at the integers among their numbers themselves (see `check_word`).
_QUICK = {
    "int[]": {tuple, Size},
    "Tensor[]": None,
    "any": {tuple, memory_format},
    "Scalar": {int, float},
    "Endpoint": {int, float},
}
# Names under which PyTorch's functions also take an argument.
_ALIASES = {
    "axis": "dim",
    "axes": "dim",
    "keepdims": "keepdim",
    "axis0": "dim0",
    "axis1": "dim1",
    "x": "self",
    "x1": "self",
    "x2": "other",
    "input": "self",
    "self": "input",
}
_DEFAULTS = {"None": None, "True": True, "False": False}


class Argument:
    """One argument of a schema: name, type, default, and whether it is a tensor, a list of them or a plain value."""

    __slots__ = ("accepts", "check", "default", "is_list", "is_tensor", "name", "optional", "repeat", "type", "varargs")

    def __init__(self, text):
        match = _ARGUMENT.match(text.strip())
        if match is None:
            raise ValueError(f"cannot read the schema argument {text!r}")
        kind = match["type"]
        self.optional = kind.endswith("?")
        kind = kind.rstrip("?")
        self.varargs = kind.endswith("*")
        self.type = kind.rstrip("*")
        count = self.type[self.type.find("[") + 1 : -1]
        self.repeat = int(count) if count.isdigit() else 1  # `int[2] kernel` takes 3 for (3, 3), `int[0]` rows alone
        self.name = match["name"]
        self.default = _REQUIRED if match["default"] is None else _read_default(match["default"])
        self.is_tensor = self.type in ("Tensor", "Operand")
        self.is_list = self.type == "Tensor[]"
        self.check = _CHECKS.get(re.sub(r"\d+", "", self.type), _any)
        self.accepts = _EXACT.get(self.type, _NOTHING)  # classes whose values need no look

    @property
    def is_required(self):
        """Whether a call must give it."""
        return self.default is _REQUIRED

    @property
    def is_int_list(self):
        """Whether it is a list of ints, for which one may stand where it is repeated at all."""
        return self.type.startswith("int[")

    def quick_classes(self):
        """The exact classes of values that need no check or conversion at all; None where values must be looked into."""
        if self.is_tensor:
            found = OPTIONAL_TENSOR_CLASSES if self.optional else TENSOR_CLASSES
            return found if self.type == "Tensor" else found | _NUMBERS
        found = _QUICK.get(self.type, _EXACT.get(self.type))
        if found is None:
            return None
        return found | {type(None)} if self.optional else found


def _read_default(text):
    if text in _DEFAULTS:
        return _DEFAULTS[text]
    if text[0] in "'\"":
        return text[1:-1]
    if text[0] in "[(":
        return tuple(int(part) for part in text[1:-1].split(",") if part.strip())
    try:
        return int(text)
    except ValueError:
        return float(text)


class Schema:
    """The parsed form of ``"name(Tensor self, int dim, *, bool flag=False) -> Tensor"``."""

    def __init__(self, text):
        self.name, rest = text.split("(", 1)
        inside, _, self.returns = rest.rpartition("->")
        inside = inside.rstrip().rstrip(")")
        self.arguments, self.positional = [], None
        for part in re.split(r",\s*(?![^\[(]*[\])])", inside):
            if part.strip() == "*":
                self.positional = len(self.arguments)
            elif part.strip():
                self.arguments.append(Argument(part))
        self.count = len(self.arguments)
        if self.positional is None:
            self.positional = self.count
        self.index = {argument.name: i for i, argument in enumerate(self.arguments)}
        self.tensor_positions = tuple(i for i, a in enumerate(self.arguments) if a.is_tensor or a.is_list)
        self.defaults = tuple(a.default for a in self.arguments)
        self.required = sum(a.default is _REQUIRED for a in self.arguments[: self.positional])
        self.has_lists = any(a.is_list for a in self.arguments)
        self.untyped_positions = tuple(i for i, a in enumerate(self.arguments) if a.type == "any")
        self.varargs = next((i for i, a in enumerate(self.arguments) if a.varargs), None)

    def place_of(self, name):
        """The position of the argument that a call means by ``name``; None where there is none."""
        return self.index.get(name, self.index.get(_ALIASES.get(name)))

    def bind(self, args, kwargs):
        """The values of all arguments, in schema order, checked and converted; TypeError in PyTorch's words."""
        if self.varargs is not None:
            args = self._gather(args)
        if len(args) > self.positional:
            args, kwargs = self._in_old_order(args, kwargs)
        values = list(args)
        arguments = self.arguments
        for position in range(len(args), self.count):
            argument = arguments[position]
            name = argument.name
            if name in kwargs:
                values.append(kwargs.pop(name))
            else:
                values.append(self._alias(argument, kwargs) if kwargs else argument.default)
        for position, argument in enumerate(arguments):
            value = values[position]
            if value.__class__ in argument.accepts:
                continue
            if value is _REQUIRED:
                self._missing(values)
            if value is not argument.default and not (value is None and argument.optional):
                # An argument given by name has no position in messages, but for lists of tensors.
                shown = position if position < len(args) or argument.is_list else self.count
                values[position] = argument.check(value, argument, self, shown)
        if kwargs:
            self._unexpected(args, kwargs)
        return values

    def _in_old_order(self, args, kwargs):
        """The arguments of a call in an order that PyTorch takes, too, its factors by name; TypeError where it is none."""
        found = import_module("rushlight.ops.old_order").in_old_order(self.name, args)
        if found is not None and found[1].keys().isdisjoint(kwargs):
            return found[0], {**kwargs, **found[1]}
        raise TypeError(
            hinted(
                f"{self.name}() takes {self.positional} positional argument{'s' * (self.positional != 1)} but {len(args)} "
                f"{'was' if len(args) == 1 else 'were'} given",
                f"the call takes {self.describe()}",
            )
        )

    def _alias(self, argument, kwargs):
        for key in kwargs:
            if _ALIASES.get(key) == argument.name:
                return kwargs.pop(key)
        return argument.default

    def _gather(self, args):
        at = self.varargs
        if len(args) > at and not isinstance(args[at], (tuple, list)):
            end = at
            while end < len(args) and not isinstance(args[end], bool) and hasattr(args[end], "__index__"):
                end += 1
            if end > at:
                return (*args[:at], tuple(args[at:end]), *args[end:])
        return args

    def _missing(self, values):
        names = [f'"{self._public(a)}"' for a, v in zip(self.arguments, values) if v is _REQUIRED]
        raise TypeError(
            hinted(
                f"{self.name}() missing {len(names)} required positional arguments: {', '.join(names)}",
                f"the call takes {self.describe()}",
            )
        )

    def _unexpected(self, args, kwargs):
        key = next(iter(kwargs))
        target = _ALIASES.get(key, key)
        if target in self.index and self.index[target] < len(args):
            raise TypeError(f"{self.name}() got multiple values for argument '{key}'")
        raise TypeError(
            hinted(f"{self.name}() got an unexpected keyword argument '{key}'", f"the call takes {self.describe()}")
        )

    @staticmethod
    def _public(argument):
        return "input" if argument.name == "self" else argument.name

    def describe(self):
        """The arguments as one would write them in a call: ``(Tensor input, int dim, *, bool flag=False)``."""
        parts = []
        for position, argument in enumerate(self.arguments):
            if position == self.positional:
                parts.append("*")
            text = f"{argument.type}{'?' * argument.optional} {self._public(argument)}"
            parts.append(text if argument.default is _REQUIRED else f"{text}={argument.default}")
        return f"({', '.join(parts)})"


def _mismatch(value, argument, schema, position, expected):
    where = f" (position {position + 1})" if position < schema.positional else ""
    raise TypeError(
        hinted(
            f"{schema.name}(): argument '{Schema._public(argument)}'{where} must be {expected}, not {kind_name(value)}",
            f"the call takes {schema.describe()}",
        )
    )


def _is_tensor(value):
    return hasattr(value, "_edge")


def _tensor(value, argument, schema, position):
    if not _is_tensor(value):
        _mismatch(value, argument, schema, position, "Tensor")
    return value


def _tensors(value, argument, schema, position):
    if _is_tensor(value) or not isinstance(value, (tuple, list)):
        if hasattr(value, "__iter__") and not _is_tensor(value):
            value = list(value)
        else:
            _mismatch(value, argument, schema, position, "tuple of Tensors")
    for i, item in enumerate(value):
        if not _is_tensor(item) and item is not None:
            raise TypeError(f"expected Tensor as element {i} in argument {position}, but got {kind_name(item)}")
    return list(value)


def is_number(value):
    """Whether a value counts as a Python number beside tensors: also NumPy's scalars."""
    return isinstance(value, (int, float, complex, np.generic))


def _of_numpy(value):
    """NumPy's scalar as a Python number; its bools are floats, as in PyTorch."""
    return float(value) if isinstance(value, np.bool_) else value.item()


def _operand(value, argument, schema, position):
    if value.__class__ is float:
        return value
    if isinstance(value, int):
        check_word(value)
        return value
    if _is_tensor(value) or isinstance(value, (float, complex)):
        return value
    if isinstance(value, np.generic):
        return _of_numpy(value)
    return _mismatch(value, argument, schema, position, "Tensor")


def _int(value, argument, schema, position):
    if value.__class__ is int:
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        _mismatch(value, argument, schema, position, "int")
    return value.__index__()


def _ints(value, argument, schema, position):
    if isinstance(value, (tuple, list)):
        if all(v.__class__ is int for v in value):
            return tuple(value)
        if isinstance(value[0], bool) or any(isinstance(v, (float, str)) or not hasattr(v, "__index__") for v in value):
            _mismatch(value, argument, schema, position, "tuple of ints")
        return tuple(v.__index__() for v in value)
    if value is None and argument.default == ():
        return ()
    if isinstance(value, (bool, float, str)) or not hasattr(value, "__index__") or not argument.repeat:
        _mismatch(value, argument, schema, position, "tuple of ints")
    return (value.__index__(),) * argument.repeat


def _float(value, argument, schema, position):
    if value.__class__ is float:
        return value
    if _is_tensor(value):
        return float(value.item())
    if not isinstance(value, (numbers.Real, np.bool_)):
        _mismatch(value, argument, schema, position, "float")
    return float(value)


def _bool(value, argument, schema, position):
    if value.__class__ is not bool:
        _mismatch(value, argument, schema, position, "bool")
    return value


def _scalar(value, argument, schema, position):
    found = number_of(value)
    return _mismatch(value, argument, schema, position, "Number") if found is None else found


def _endpoint(value, argument, schema, position):
    """A number, or a tensor that holds one, of which no graph is told; other tensors are left to the operation's refusal."""
    if _is_tensor(value):
        return value if value.ndim else value.item()
    return _scalar(value, argument, schema, position)


def number_of(value):
    """The Python number that a value stands for: its own, of NumPy's scalar or of an untracked 0-dim tensor; else None."""
    if isinstance(value, int):
        check_word(value)
        return value
    if isinstance(value, (float, complex)):
        return value
    if isinstance(value, np.generic):
        return _of_numpy(value)
    if _is_tensor(value) and not value.ndim and not value.requires_grad:
        return value.item()
    return None


def _str(value, argument, schema, position):
    if not isinstance(value, str):
        _mismatch(value, argument, schema, position, "str")
    return value


def _dtype(value, argument, schema, position):
    if not isinstance(value, dtypes.DType):
        python = dtypes.PYTHON.get(value) if isinstance(value, type) else None
        if python is None:
            _mismatch(value, argument, schema, position, "torch.dtype")
        return python
    return value


def _any(value, argument, schema, position):
    return value


_CHECKS = {"Tensor": _tensor, "Tensor[]": _tensors, "int": _int, "int[]": _ints, "float": _float, "bool": _bool,
           "Operand": _operand, "Scalar": _scalar, "Endpoint": _endpoint, "str": _str, "dtype": _dtype}  # fmt: skip
