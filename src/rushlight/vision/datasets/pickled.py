"""Reading the pickle files of CIFAR as plain data: dicts, lists, strings, numbers and NumPy arrays; nothing is run."""

from __future__ import annotations

import os
from math import prod

import numpy as np

from rushlight.serialization.unpickler import Token, Unpickler


class DataError(ValueError):
    """A pickle stream that holds something else than plain data, or contradicts itself."""


def read_pickled_data(path):
    """The object in the pickle file at `path`, Python 2's strings read as latin-1.

    Raises ``DataError`` for anything but plain data and uint8 arrays, and the errors of
    ``rushlight.serialization`` for a damaged or cut stream.
    """
    with open(path, "rb") as file:
        size = os.path.getsize(path)
        return Unpickler(file, size, find, refuse_storage, set_state, encoding="latin1").load()


def find(module, name):
    """The token of a name that a stream of plain data uses."""
    token = TOKENS.get(f"{module}.{name}")
    if token is None:
        raise DataError(f"it asks for {module[:80]}.{name[:80]}, which plain data does not need")
    return token


def refuse_storage(claim):
    """Persistent ids belong to other formats."""
    raise DataError("it refers to data outside the file")


def text(part):
    """A string or bytes as a string."""
    return part.decode("latin1") if isinstance(part, bytes) else part


def new_dtype(arguments):
    """``numpy.dtype('u1', ...)``: bytes are all that an image dataset needs."""
    if not arguments or text(arguments[0]) not in ("u1", "|u1"):
        raise DataError(f"it holds an array of another type than uint8: {str(arguments)[:80]}")
    return np.dtype(np.uint8, copy=True)


def empty_array(arguments):
    """``numpy._reconstruct(numpy.ndarray, (0,), 'b')``: an array whose contents follow as its state."""
    if len(arguments) != 3 or arguments[0] is not ARRAY or arguments[1] != (0,):
        raise DataError("it holds an array of a kind other than numpy.ndarray")
    return np.empty(0, np.uint8)


def encoded(arguments):
    """``codecs.encode(text, 'latin1')``: how Python 3 stores bytes for Python 2."""
    if len(arguments) != 2 or type(arguments[0]) is not str or arguments[1] != "latin1":
        raise DataError("it encodes text in another way than bytes are stored")
    return arguments[0].encode("latin1")


def array_from_buffer(arguments):
    """``numpy._frombuffer(bytes, dtype, shape, order)``: an array as pickle protocol 5 stores it."""
    if len(arguments) != 4 or not isinstance(arguments[1], np.dtype):
        raise DataError("it holds an array without a type or shape")
    data, _, shape, order = arguments
    return checked_array(data, shape, order)


def checked_array(data, shape, order):
    """The uint8 array of `shape` with the bytes `data`, which have to be as many as it needs."""
    if isinstance(data, str):
        data = data.encode("latin1")
    if not isinstance(data, bytes | bytearray) or type(shape) is not tuple or len(shape) > 4:
        raise DataError("it holds an array without bytes or shape")
    if not all(type(length) is int and length >= 0 for length in shape) or prod(shape) != len(data):
        raise DataError(f"it holds an array of shape {str(shape)[:80]} with {len(data)} bytes")
    return np.frombuffer(bytearray(data), np.uint8).reshape(shape, order="F" if order == "F" else "C")


def set_state(target, state):
    """BUILD: a dtype's byte order, which bytes do not have, or an array's contents."""
    if isinstance(target, np.dtype):
        return
    if not isinstance(target, np.ndarray) or type(state) is not tuple or len(state) != 5:
        raise DataError(f"it gives a state to a {type(target).__name__}")
    _, shape, dtype, fortran, data = state
    if not isinstance(dtype, np.dtype) or target.size:
        raise DataError("it holds an array with an unexpected state")
    filled = checked_array(data, shape, "F" if fortran else "C")
    target.resize(filled.shape, refcheck=False)
    target[...] = filled


ARRAY = Token("numpy.ndarray")
TOKENS = {"numpy.ndarray": ARRAY, "numpy.dtype": Token("numpy.dtype", new_dtype)}
TOKENS["_codecs.encode"] = Token("_codecs.encode", encoded)
for _core in ("numpy.core", "numpy._core"):
    for _name, _make in (("multiarray._reconstruct", empty_array), ("numeric._frombuffer", array_from_buffer)):
        TOKENS[f"{_core}.{_name}"] = Token(f"{_core}.{_name}", _make)
