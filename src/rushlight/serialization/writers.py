"""How each type of plain data is written: the opcodes and names that PyTorch's files have for it."""

from __future__ import annotations

import copyreg
import functools
import struct
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from enum import Enum
from pickle import PicklingError, UnpicklingError
from types import FunctionType, MethodType, SimpleNamespace

import numpy as np

from ..base.device import device, layout, strided
from ..base.dtypes import DType
from ..base.errors import hinted
from ..base.size import Size
from ..nn.parameter import Parameter
from ..tensor import Tensor
from .foreign import FACTORIES, NUMBER
from .program import file_name, is_found
from .unpickler import check_key

_DOUBLE = struct.Struct(">d")


def cannot_pickle(
    value, reason, hint="save tensors, numbers, strings and containers of them; turn other objects into those"
):
    """The PicklingError for an object that is more than data."""
    kind = type(value)
    return PicklingError(hinted(f"Can't pickle {kind.__module__}.{kind.__qualname__} object: {reason}", hint))


def check_member(key):
    """``PicklingError`` for a dictionary key or set member that could not be read back."""
    try:
        check_key(key)
    except UnpicklingError:
        raise cannot_pickle(
            key, "it is a dictionary key or set member", "use strings, numbers, or tuples of them as keys and members"
        ) from None


# ---------------------------------------------------------------- scalars: value to opcodes


def _int(value):
    if 0 <= value < 1 << 8:
        return b"K" + bytes((value,))
    if 0 <= value < 1 << 16:
        return b"M" + value.to_bytes(2, "little")
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + value.to_bytes(4, "little", signed=True)
    size = value.bit_length() // 8 + 1
    digits = value.to_bytes(size, "little", signed=True)
    return (b"\x8a" + bytes((size,)) if size < 256 else b"\x8b" + size.to_bytes(4, "little")) + digits


SCALARS = {
    type(None): lambda value: b"N",
    bool: lambda value: b"\x88" if value else b"\x89",
    int: _int,
    float: lambda value: b"G" + _DOUBLE.pack(value),
}


# ---------------------------------------------------------------- the rest: (pickler, value)


def _str(pickler, value):
    data = value.encode("utf-8", "surrogatepass")
    if len(data) >= 1 << 32:
        raise cannot_pickle(value, "4 GiB of text do not fit into pickle protocol 2", "split it")
    pickler.parts.append(b"X" + len(data).to_bytes(4, "little") + data)
    pickler.remember(value)


def _bytes(pickler, value):
    # Protocol 2 has no bytes; PyTorch's reader knows this spelling (for empty ones, too).
    pickler.call("_codecs", "encode", value.decode("latin1"), "latin1")
    pickler.remember(value)


def _bytearray(pickler, value):
    pickler.call("__builtin__", "bytearray", bytes(value))
    pickler.remember(value)


def _tuple(pickler, value):
    pickler.save_items(value)
    if id(value) in pickler.memo:  # it holds itself, and was written and remembered on the way
        pickler.parts.append(b"0")
        pickler.get(pickler.memo[id(value)])
    elif value:
        pickler.remember(value)


def _list(pickler, value):
    pickler.parts.append(b"]")
    pickler.remember(value)
    pickler.fill_list(value)


def _dict(pickler, value):
    pickler.parts.append(b"}")
    pickler.remember(value)
    pickler.fill_dict(value)


def _ordered_dict(pickler, value):
    pickler.call("collections", "OrderedDict")
    pickler.remember(value)
    pickler.fill_dict(value)
    if value.__dict__:
        pickler.save(dict(value.__dict__))
        pickler.parts.append(b"b")


def _counter(pickler, value):
    # PyTorch's reader fills in a Counter that it got whole, not one that is empty.
    pickler.call("collections", "Counter", dict(value))
    pickler.remember(value)


def _defaultdict(pickler, value):
    factory = value.default_factory
    pickler.name("collections", "defaultdict")
    if factory is None:
        pickler.parts.append(b")R")
    elif FACTORIES.get(getattr(factory, "__name__", "")) is factory:
        pickler.name("__builtin__", factory.__name__)
        pickler.parts.append(b"\x85R")
    else:
        raise cannot_pickle(value, "its factory is not a basic type of Python", "save dict(the_defaultdict)")
    pickler.remember(value)
    pickler.fill_dict(value)


def _deque(pickler, value):
    pickler.call("collections", "deque", (), *(() if value.maxlen is None else (value.maxlen,)))
    pickler.remember(value)
    pickler.fill_list(value)


def _set(pickler, value):
    for member in value:
        check_member(member)
    pickler.call("__builtin__", type(value).__name__, list(value))
    pickler.remember(value)


def _rebuilt(module, name, parts):
    """The writer of a value that a global makes out of its parts."""

    def write(pickler, value):
        pickler.call(module, name, *parts(value))
        pickler.remember(value)

    return write


def _namespace(module):
    def write(pickler, value):
        pickler.name(module, type(value).__name__)
        pickler.parts.append(b")R" if module == "types" else b")\x81")
        pickler.remember(value)
        pickler.save(dict(vars(value)))
        pickler.parts.append(b"b")

    return write


def _path(pickler, value):
    pickler.call("pathlib", type(value).__name__, *value.parts)
    pickler.remember(value)


def _dtype(pickler, value):
    pickler.name("torch", value.name)


def _numpy_dtype(pickler, value):
    if not NUMBER.fullmatch(value.str[1:]):
        raise cannot_pickle(value, f"{value} is not a NumPy dtype of numbers", "convert it with .astype first")
    order = value.str[0]
    pickler.call("numpy", "dtype", value.str[1:], False, True)
    pickler.save((3, order, None, None, None, -1, -1, 0))
    pickler.parts.append(b"b")


def _numpy_scalar(pickler, value):
    pickler.name("numpy._core.multiarray", "scalar")
    _numpy_dtype(pickler, value.dtype)
    pickler.save(value.tobytes())
    pickler.parts.append(b"\x86R")
    pickler.remember(value)


def _numpy_array(pickler, value):
    pickler.name("numpy._core.multiarray", "_reconstruct")
    pickler.name("numpy", "ndarray")
    pickler.save((0,))
    pickler.save(b"b")
    pickler.parts.append(b"\x87R")
    pickler.remember(value)
    pickler.parts.append(b"(")
    pickler.save(1)
    pickler.save(value.shape)
    _numpy_dtype(pickler, value.dtype)
    fortran = value.flags.f_contiguous and not value.flags.c_contiguous
    pickler.save(fortran)
    pickler.save(value.tobytes("F" if fortran else "C"))
    pickler.parts.append(b"tb")


CONTAINERS = {
    str: _str,
    bytes: _bytes,
    bytearray: _bytearray,
    tuple: _tuple,
    list: _list,
    dict: _dict,
    OrderedDict: _ordered_dict,
    Counter: _counter,
    defaultdict: _defaultdict,
    deque: _deque,
    set: _set,
    frozenset: _set,
    complex: _rebuilt("__builtin__", "complex", lambda value: (value.real, value.imag)),
    slice: _rebuilt("__builtin__", "slice", lambda value: (value.start, value.stop, value.step)),
    range: _rebuilt("__builtin__", "xrange", lambda value: (value.start, value.stop, value.step)),
    type(Ellipsis): lambda pickler, value: pickler.name("__builtin__", "Ellipsis"),
    SimpleNamespace: _namespace("types"),
    Size: _rebuilt("torch", "Size", lambda value: (tuple(value),)),
    device: _rebuilt(
        "torch", "device", lambda value: (value.type,) if value.index is None else (value.type, value.index)
    ),
    layout: _rebuilt("torch.serialization", "_get_layout", lambda value: (str(value),)),
    DType: _dtype,
    np.ndarray: _numpy_array,
}


# ---------------------------------------------------------------- what has no entry above


def save_other(pickler, value):
    """Write NumPy numbers, paths, tensor subclasses, Enum members, named tuples, objects of attributes."""
    kind = type(value)
    module = kind.__module__
    if isinstance(value, Tensor) and value.is_nested:
        pickler.save_nested(value)
    elif isinstance(value, Tensor) and value.layout is not strided:
        pickler.save_sparse(value)
    elif isinstance(value, Tensor):
        _check_tensor_class(value)
        pickler.save_tensor(value)
    elif value is Tensor:
        pickler.name("torch", "Tensor")
    elif isinstance(value, np.generic):
        _numpy_scalar(pickler, value)
    elif isinstance(value, np.dtype):
        _numpy_dtype(pickler, value)
    elif module.partition(".")[0] == "pathlib":
        _path(pickler, value)
    elif module == "argparse" and kind.__name__ == "Namespace":
        _namespace("argparse")(pickler, value)
    else:
        _save_instance(pickler, value)


def _check_tensor_class(tensor):
    if hasattr(tensor, "cls_to_become"):
        raise cannot_pickle(tensor, "it has no values yet", "run the lazy module once before saving its state_dict()")
    if not isinstance(tensor, Parameter):
        raise cannot_pickle(
            tensor,
            "only tensors and parameters are saved, no other classes of them",
            "save tensor.as_subclass(torch.Tensor)",
        )


def _save_instance(pickler, value):
    kind = type(value)
    if isinstance(value, (type, FunctionType)):
        _save_reference(pickler, value)
        return
    if kind is functools.partial:
        _save_partial(pickler, value)
        return
    if kind is MethodType:
        pickler.call("__builtin__", "getattr", value.__self__, value.__func__.__name__)
        pickler.remember(value)
        return
    _refuse_code(value)
    if isinstance(value, Enum):
        pickler.call(*file_name(kind), value.value)
    elif isinstance(value, tuple) and hasattr(kind, "_fields"):
        pickler.name(*file_name(kind))
        pickler.save_items(tuple(value))
        pickler.parts.append(b"\x81")
    else:
        state = _state_of(value)
        pickler.name(*file_name(kind))
        pickler.parts.append(b")\x81")
        pickler.remember(value)
        if state is not None:
            pickler.save(state)
            pickler.parts.append(b"b")
        return
    pickler.remember(value)


def _save_reference(pickler, value):
    if not is_found(value):
        raise cannot_pickle(
            value, f"{value.__qualname__} is code, not data, and not found as {'.'.join(file_name(value))}"
        )
    pickler.name(*file_name(value))


def _save_partial(pickler, value):
    pickler.name("functools", "partial")
    pickler.save_items((value.func,))
    pickler.parts.append(b"R")
    pickler.remember(value)
    pickler.save((value.func, value.args, value.keywords, vars(value) or None))
    pickler.parts.append(b"b")


def _refuse_code(value):
    kind = type(value)
    if kind.__module__ == "builtins":
        name = getattr(value, "__qualname__", None) or repr(value)[:60]
        raise cannot_pickle(value, f"{name} is code, not data")
    if is_found(kind):
        return
    if kind.__module__.partition(".")[0] == "torch":
        raise cannot_pickle(
            value, "it belongs to PyTorch itself", "convert its tensors first: rushlight.from_numpy(tensor.numpy())"
        )
    found = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is not kind:
        raise cannot_pickle(value, f"its class is not found as {kind.__module__}.{kind.__qualname__}")


def _state_of(value):
    """The state of an object that is made of its class and state alone."""
    kind = type(value)
    made = value.__reduce_ex__(2)
    if (
        type(made) is not tuple
        or made[0] is not copyreg.__newobj__
        or made[1] != (kind,)
        or any(part is not None for part in made[3:])
    ):
        raise cannot_pickle(value, "it is more than its attributes")
    return made[2]
