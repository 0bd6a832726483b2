"""The forms that PyTorch's native functions take, and what does not fit in a call: its parser, in native_signatures.txt's words."""

from __future__ import annotations

import functools
import re
from ast import literal_eval
from pathlib import Path

import numpy as np

from ..base import dtypes
from ..base.device import device, layout, memory_format
from ..base.errors import kind_name

_PAGE = Path(__file__).with_name("native_signatures.txt")
_OPTIONS = (
    "dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False"
)
_WORDS = {
    "index": "int", "dtype": "torch.dtype", "layout": "torch.layout", "device": "torch.device", "memory_format": "torch.memory_format",
    "Generator": "torch.Generator", "int[]": "tuple of ints", "index[]": "tuple of ints", "Tensor[]": "tuple of Tensors",
    "Tensor?[]": "tuple of Tensors", "Number[]": "tuple of Scalars", "float[]": "tuple of floats",
}  # fmt: skip
_NUMPY_NAMES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
# Functions whose tensors may be numbers.
_TAKE_NUMBERS = frozenset(
    name + end
    for name in ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "copy", "to")
    for end in ("", "_")
)  # fmt: skip


def is_tensor(value):
    """Whether a value is a Tensor."""
    return hasattr(value, "_edge")


# ---------------------------------------------------------------- whether a value fits


# Classes of symbols that stand for lengths, as ints do: a room below adds its own.
SYMBOLS: set[type] = set()


def _is_int(value):
    if value.__class__ in SYMBOLS:
        return True
    if isinstance(value, (int, np.integer)):
        return not isinstance(value, bool)
    if is_tensor(value):
        return value.dtype.category in (dtypes.UNSIGNED, dtypes.SIGNED) and value.dim() == 0 and not value.requires_grad
    return False


def _is_index(value):
    if value.__class__ in SYMBOLS:
        return True
    if isinstance(value, (bool, np.bool_, type)) or not hasattr(value, "__index__"):
        return False
    try:
        value.__index__()
    except TypeError:
        return False
    return True


def _is_float(value):
    if is_tensor(value):
        return value.dim() == 0 and not value.requires_grad
    return isinstance(value, (int, float, np.number, np.bool_)) and not isinstance(value, np.complexfloating)


def _is_number(value):
    return isinstance(value, (complex, np.complexfloating)) or _is_float(value)


_FITS = {
    "Tensor": is_tensor,
    "Number": _is_number,
    "float": _is_float,
    "int": _is_int,
    "index": _is_index,
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "dtype": lambda value: isinstance(value, dtypes.DType) or (isinstance(value, type) and value in dtypes.PYTHON),
    "layout": lambda value: isinstance(value, layout),
    "memory_format": lambda value: isinstance(value, memory_format),
    "device": lambda value: isinstance(value, (str, device)) or (_is_int(value) and not is_tensor(value)),
    "Generator": lambda value: kind_name(value) == "torch._C.Generator",
    "object": lambda value: True,
}


class Argument:
    """One argument of a form."""

    def __init__(self, text, keyword_only):
        before, _, self.default = text.partition("=")
        kind, self.name = before.rsplit(" ", 1)
        self.keyword_only = keyword_only
        self.may_be_none = kind.endswith("?") or self.default == "None"
        kind = kind.removesuffix("?")
        size = kind[kind.find("[") + 1 : -1] if kind.endswith("]") else ""
        self.one_may_stand = bool(size) and not kind.startswith("Tensor")
        self.kind = kind.replace(size, "") if size else kind
        self.word = _WORDS.get(self.kind, self.kind)
        self.is_list = self.kind.endswith("[]")
        self.names = (self.name, *_NUMPY_NAMES.get(self.name, ()))

    def fits(self, value, takes_numbers=False):
        """Whether a value is of the right kind, and the place of the first wrong item where it is a list of wrong ones."""
        if not self.is_list:
            return _FITS[self.kind](value) or (takes_numbers and self.kind == "Tensor" and _is_number(value)), None
        item = self.kind.removesuffix("[]")
        if not isinstance(value, (tuple, list)):
            return self.one_may_stand and _FITS[item](value), None
        if self.kind.startswith("Tensor"):
            for place, each in enumerate(value):
                if not is_tensor(each) and not (each is None and item == "Tensor?"):
                    raise _WrongItem(place, each)
            return True, None
        good = not value or _FITS[item](value[0])
        return good, None if good or item not in ("int", "index") else 0

    def __str__(self):
        return f"{self.word} {self.name}" + (f" = {self.default}" if self.default else "")


class _WrongItem(Exception):
    """A list of tensors holds something else: PyTorch says so at once, whatever other forms there are."""

    def __init__(self, place, item):
        self.place, self.item = place, item


class Form:
    """One form of a function: its arguments, and what does not fit in a call."""

    def __init__(self, room, name, text):
        self.room, self.name, self.hidden = room, name, text.startswith("hidden ")
        self.arguments, keyword_only = [], False
        inside = text.removeprefix("hidden ")[1:-1].replace("+options", _OPTIONS)
        for part in inside.split(", ") if inside else ():
            if part == "*":
                keyword_only = True
            else:
                self.arguments.append(Argument(part, keyword_only))
        self.positional = sum(not argument.keyword_only for argument in self.arguments)
        self.required = sum(not argument.default for argument in self.arguments)
        first = self.arguments[0].kind if self.arguments else ""
        self.gathers = self.positional == 1 and first in ("int[]", "index[]")  # view(2, 3) for view((2, 3))

    def __str__(self):
        parts = [str(argument) for argument in self.arguments]
        if self.positional < len(parts):
            parts.insert(self.positional, "*")
        return f"({', '.join(parts)})"

    def complaint(self, args, kwargs):
        """What does not fit in a call: ``(words, argument, value)``; None where all does."""
        if len(args) > self.positional and not self.gathers:
            return self._too_many(args)
        left, position = len(kwargs), 0
        takes_numbers = self.name in _TAKE_NUMBERS
        for number, argument in enumerate(self.arguments):
            key = None
            if position < len(args):
                if argument.keyword_only:
                    return self._too_many(args)
                value = args[position]
            else:
                key = next((name for name in argument.names if name in kwargs), None)
                if key is None:
                    if not argument.default:
                        return self._missing(number)
                    continue
                value, left = kwargs[key], left - 1
            if not (value is None and argument.may_be_none):
                try:
                    good, place = argument.fits(value, takes_numbers)
                except _WrongItem as wrong:
                    return f"expected Tensor as element {wrong.place} in argument {number}, but got {kind_name(wrong.item)}", argument, wrong.item  # fmt: skip
                if not good and self.gathers and position == 0 and key is None:
                    good, _ = argument.fits(args)
                    if good:
                        value, position = args, len(args)
                    elif len(args) > 1:
                        return self._too_many(args)
                if not good:
                    return self._wrong(argument, value, None if key else position, place, args)
            if key is None:
                position += 1
        if left:
            return self._unexpected(args, kwargs)
        return self._unpacked(args, kwargs)

    def in_places(self, args, kwargs):
        """A call that fits with its arguments in their places: ``(args, kwargs)``, where kwargs have this form's names."""
        placed, named = list(args), {}
        for argument in self.arguments[len(args) :]:
            key = next((name for name in argument.names if name in kwargs), None)
            if key is None:
                continue
            if argument.keyword_only:
                named[argument.name] = kwargs[key]
                continue
            skipped = self.arguments[len(placed) : self.arguments.index(argument)]
            placed += [literal_eval(each.default) for each in skipped]
            placed.append(kwargs[key])
        return placed, named

    def _too_many(self, args):
        given, most = len(args), self.positional
        if self.room == "Tensor" and not self.arguments:
            return f"TensorBase.{self.name}() takes no arguments ({given} given)", None, None
        if self.required != most:
            return (
                f"{self.name}() takes from {self.required} to {most} positional arguments but {given} were given",
                None,
                None,
            )
        were = "was" if given == 1 else "were"
        return f"{self.name}() takes {most} positional argument{'s' * (most != 1)} but {given} {were} given", None, None

    def _missing(self, number):
        names = [f'"{argument.name}"' for argument in self.arguments[number:] if not argument.default]
        plural = "s" if len(names) == 1 else ""  # PyTorch's own grammar
        return (
            f"{self.name}() missing {len(names)} required positional argument{plural}: {', '.join(names)}",
            None,
            None,
        )

    def _wrong(self, argument, value, position, place, args):
        where = "" if position is None else f" (position {position + 1})"
        found = f"not {kind_name(value)}"
        if place is not None and position is not None:
            items = value if isinstance(value, (tuple, list)) else args
            found = f"but found element of type {kind_name(items[place])} at pos {place}"
        return f"{self.name}(): argument '{argument.name}'{where} must be {argument.word}, {found}", argument, value

    def _unexpected(self, args, kwargs):
        if self.room == "Tensor" and not self.arguments:
            return f"TensorBase.{self.name}() takes no keyword arguments", None, None
        for key in kwargs:
            place = next((n for n, a in enumerate(self.arguments) if a.name == key), None)
            if place is None:
                return f"{self.name}() got an unexpected keyword argument '{key}'", None, None
            if place < len(args):
                return f"{self.name}() got multiple values for argument '{key}'", None, None
        return f"{self.name}() got invalid keyword arguments", None, None

    def _unpacked(self, args, kwargs):
        """What PyTorch says of wrong items behind the first of a list of ints, which it looks at when it takes them out."""
        for number, argument in enumerate(self.arguments):
            if argument.kind not in ("int[]", "index[]"):
                continue
            value = args[number] if number < len(args) else kwargs.get(argument.name)
            items = args if self.gathers and args and not isinstance(args[0], (tuple, list)) else value
            for place, item in enumerate(items if isinstance(items, (tuple, list)) else ()):
                if not _is_index(item) and not isinstance(item, bool):
                    return (
                        f"{self.name}(): argument '{argument.name}' failed to unpack the object at pos {place + 1} with error "
                        f'"type must be tuple of ints,but got {kind_name(item)}"',
                        argument,
                        item,
                    )
        return None


# ---------------------------------------------------------------- the forms of a function


@functools.cache
def lines():
    """The page with the forms: ``(room, name) -> ["(Tensor input)", ...]``, or ``["= ..."]`` for functions written in Python."""
    found = {}
    for line in _PAGE.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            room, name, forms = line.split(" ", 2)
            found[room, name] = forms.split(" | ")
    return found


def derived(name, page):
    """The forms of a method as they follow from those of the function of its name."""
    found = page.get(("torch", name)) or page.get(("torch", name.removesuffix("_")), ())
    return [_as_method(form) for form in found if not form.startswith("=")]


def _as_method(form):
    inside = re.sub(r"Tensor (?:input|self)(?:, |(?=\)))", "", form, count=1)
    parts = [
        part for part in inside.replace("hidden (", "(")[1:-1].split(", ") if part and not part.endswith(" out=None")
    ]
    if parts and parts[-1] == "*":
        parts.pop()
    return ("hidden " if form.startswith("hidden ") else "") + f"({', '.join(parts)})"


@functools.cache
def forms_of(room, name):
    """The forms of a function of ``torch``, of a method (room "Tensor"), ...; none where PyTorch's is written in Python."""
    if room in ("fft", "linalg", "special"):
        name = f"{room}_{name.removeprefix(room + '_')}"
    page = lines()
    found = page.get((room, name)) or (derived(name, page) if room == "Tensor" else ())
    return tuple(Form(room, name, text) for text in found)
