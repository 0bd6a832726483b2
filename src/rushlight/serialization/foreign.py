"""Further kinds of plain data, of Python and NumPy, that are read where the user asks for more than tensors.

PyTorch refuses these names with ``weights_only=True``; here they are read with ``weights_only=False`` or when
``add_safe_globals`` names them. All are rebuilt by code of ours from parts that were checked.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from functools import cache
from math import prod
from types import SimpleNamespace

import numpy as np

from .constructors import take
from .messages import malformed, refused, shorten
from .unpickler import KEY_TYPES, Token, check_key

FACTORIES = {
    "list": list,
    "dict": dict,
    "set": set,
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "tuple": tuple,
}
NUMBER = re.compile(r"(b1|[iu][1248]|f[248]|c(8|16))")

KEY_TYPES.update(np.dtype(code).type for code in ("b1", *"bhilqBHILQefdFD"))


# ---------------------------------------------------------------- Python


def _slice(arguments):
    # The kinds of numbers that a slice may have are many; what is no number is not among its parts.
    parts = take(arguments, (None, None, None), "a slice")
    if not all(part is None or (type(part) in KEY_TYPES and type(part) is not str) for part in parts):
        raise malformed("a slice with parts that are no numbers")
    return slice(*parts)


def _range(arguments):
    parts = take(arguments, (int, int, int), "a range")
    if parts[2] == 0:
        raise malformed("a range with step 0")
    return range(*parts)


def _frozenset(arguments):
    (members,) = take(arguments, (list,), "a frozenset") if arguments else ([],)
    for member in members:
        check_key(member)
    return frozenset(members)


def _deque(arguments):
    if not arguments:
        return deque()
    members, limit = arguments if len(arguments) == 2 else (*take(arguments, (None,), "a deque"), None)
    if not (type(members) is list or members == ()) or not (
        limit is None or (type(limit) is int and 0 <= limit < 1 << 62)
    ):
        raise malformed("a deque with impossible parts")
    return deque(members, limit)


def _defaultdict(arguments):
    (factory,) = take(arguments, (None,), "a defaultdict") if arguments else (None,)
    if factory is None:
        return defaultdict()
    if type(factory) is not Token or factory.name.partition(".")[2] not in FACTORIES:
        raise refused("a defaultdict whose factory is not a basic type of Python", "save dict(the_defaultdict) instead")
    return defaultdict(factory.value)


def _path(kind):
    def build(arguments):
        if not all(type(part) is str and "\0" not in part for part in arguments):
            raise malformed("a path of something else than strings")
        return kind(*arguments)

    return build


def _record(kind):
    """The constructor of an object that is nothing but its attributes."""

    def new(arguments):
        take(arguments, (), f"a {kind.__name__}")
        return kind()

    return new


def set_attributes(target, state):
    """BUILD for objects that are nothing but their attributes."""
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise malformed(f"a {type(target).__name__} with attributes that have no names")
    for name in state:
        if name.startswith("__") and name.endswith("__"):
            raise malformed(f"a {type(target).__name__} with the attribute {shorten(name)}")
    object.__getattribute__(target, "__dict__").update(state)


# ---------------------------------------------------------------- NumPy


def _dtype(arguments):
    code = arguments[0] if arguments else None
    if type(code) is not str or not NUMBER.fullmatch(code):
        raise refused(f"a NumPy dtype {shorten(code)}", "numbers and bools are the dtypes that can be read")
    # A dtype object of its own: its byte order comes later, with BUILD.
    return np.dtype(code, copy=True)


def _dtype_state(dtype, state):
    if type(state) is not tuple or len(state) != 8 or state[2:] != (None, None, None, -1, -1, 0):
        raise malformed("a NumPy dtype with unexpected properties")
    if state[1] not in ("<", ">", "|", "="):
        raise malformed("a NumPy dtype of unknown byte order")
    dtype.__setstate__((3, state[1], None, None, None, -1, -1, 0))


def _scalar(arguments):
    dtype, data = take(arguments, (None, bytes), "a NumPy number")
    _check_dtype(dtype)
    if len(data) != dtype.itemsize:
        raise malformed("a NumPy number whose bytes do not match its dtype")
    return np.frombuffer(data, dtype)[0]


def _check_dtype(dtype):
    if not isinstance(dtype, np.dtype) or dtype.kind not in "biufc":
        raise malformed("a NumPy value without a numeric dtype")


def _empty_array(arguments):
    kind, shape, code = take(arguments, (Token, tuple, bytes), "a NumPy array")
    if kind.name != "numpy.ndarray" or shape != (0,) or code != b"b":
        raise refused(f"an array of the class {kind.name}", "plain NumPy arrays of numbers can be read")
    return np.ndarray((0,), "b")


def _array_state(array, state):
    if type(state) is not tuple or len(state) != 5 or array.shape != (0,):
        raise malformed("a NumPy array with unexpected properties")
    _, shape, dtype, fortran, data = state
    _check_dtype(dtype)
    if type(shape) is not tuple or len(shape) > 64 or not all(type(n) is int and 0 <= n < 1 << 60 for n in shape):
        raise malformed("a NumPy array of an impossible shape")
    if type(data) is not bytes or len(data) != prod(shape) * dtype.itemsize:
        raise malformed("a NumPy array whose bytes do not match its shape")
    array.__setstate__((1, shape, dtype, bool(fortran), data))


def set_state(target, state):
    """BUILD for the types of this file; False when ``target`` is of another type."""
    if isinstance(target, np.dtype):
        _dtype_state(target, state)
    elif type(target) is np.ndarray:
        _array_state(target, state)
    elif (
        type(target) is SimpleNamespace or f"{type(target).__module__}.{type(target).__name__}" == "argparse.Namespace"
    ):
        set_attributes(target, state)
    else:
        return False
    return True


@cache
def table():
    """The names of this file and what each rebuilds; made when first needed, since it loads argparse and pathlib."""
    import argparse
    import pathlib

    tokens = [
        Token("builtins.slice", _slice, value=slice),
        Token("builtins.range", _range, value=range),
        Token("builtins.frozenset", _frozenset, value=frozenset),
        Token("collections.deque", _deque, value=deque),
        Token("collections.defaultdict", _defaultdict, value=defaultdict),
        Token("argparse.Namespace", new=_record(argparse.Namespace), value=argparse.Namespace),
        Token("types.SimpleNamespace", _record(SimpleNamespace), _record(SimpleNamespace), value=SimpleNamespace),
        Token("numpy.ndarray", value=np.ndarray),
        Token("numpy.dtype", _dtype, value=np.dtype),
    ]
    # A path of the other system's kind cannot be opened here, so it is read as a pure path.
    here = type(pathlib.Path())
    for name, pure in (("PosixPath", pathlib.PurePosixPath), ("WindowsPath", pathlib.PureWindowsPath)):
        for module in ("pathlib", "pathlib._local"):  # the second in files of Python 3.13
            tokens.append(Token(f"{module}.{name}", _path(here if here.__name__ == name else pure)))
            tokens.append(Token(f"{module}.Pure{name}", _path(pure)))
    for core in ("numpy.core", "numpy._core"):
        tokens.append(Token(f"{core}.multiarray.scalar", _scalar))
        tokens.append(Token(f"{core}.multiarray._reconstruct", _empty_array))
    names = {token.name: token for token in tokens}
    names.update((f"builtins.{name}", Token(f"builtins.{name}", value=kind)) for name, kind in FACTORIES.items())
    names["builtins.Ellipsis"] = Ellipsis
    return names
