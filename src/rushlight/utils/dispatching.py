"""Who sees operations below autograd: the ``__torch_dispatch__`` of modes (`_python_dispatch`) and of classes (`dispatch_classes`)."""

from __future__ import annotations

import threading
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any

from ..autograd import no_grad
from ..base.errors import hinted, kind_name
from ..base.grafts import graft
from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.interposers import Interposer, below, innermost
from ..tensor.overrides import DISPATCH, overloaded_arguments
from .native_operations import in_parts, native_call

CLASSES: set[type] = set()  # subclasses of Tensor with a ``__torch_dispatch__``


class _Waiting(threading.local):
    calls = ()  # (operation of torch.ops, what it does) of this thread, the innermost last; assigned as a whole


_waiting = _Waiting()


class waiting:
    """A block in which calling ``operation``, one of ``torch.ops``, does ``run(*arguments, **keywords)``: how a handler goes on."""

    def __init__(self, operation, run):
        self.entry = (operation, run)

    def __enter__(self):
        _waiting.calls = (*_waiting.calls, self.entry)

    def __exit__(self, *error):
        _waiting.calls = _waiting.calls[:-1]


def what_waits(operation):
    """What the innermost `waiting` block has for an operation; None where it has nothing."""
    calls = _waiting.calls
    return calls[-1][1] if calls and calls[-1][0] is operation else None


def handlers_of_classes(values):
    """The ``__torch_dispatch__`` of the classes among the values, subclasses first; none where dispatch is off."""
    found: list[Any] = []
    if DISPATCH.off:
        return found
    for value in values:
        for each in value if value.__class__ in (list, tuple) else (value,):
            if each.__class__ in CLASSES and each.__class__ not in found:
                place = next((i for i, other in enumerate(found) if issubclass(each.__class__, other)), len(found))
                found.insert(place, each.__class__)
    return [cls.__torch_dispatch__ for cls in found]


class Dispatching(Interposer):
    """Gives a mode the calls of its thread."""

    sees_creation = True

    def __init__(self, mode):
        super().__init__()
        self.mode = mode

    def call(self, op, schema, values, again, around, writes=False):
        if DISPATCH.off:
            with below(self):
                return again(values)
        found = NotImplemented if writes else in_parts(op, values)
        if found is not NotImplemented:
            return found

        def calculate(values):
            with below(self), no_grad():
                return dispatched([self.mode.__torch_dispatch__], op, schema, values, again, writes)

        return around(values, calculate)


def dispatched(handlers, op, schema, values, again, writes):
    """What the first handler that takes it makes of a call, which ``again(values)`` would make as it is."""
    native = native_call(op, schema, values, writes)
    path = f"{native.namespace}.{native.name}.{native.overload}"
    goes_on = lambda *args, **kwargs: again(native.values_of(args, kwargs))
    found = handed(handlers, path, native.arguments, native.keywords, goes_on)
    if schema.returns.strip() == "Tensor[]" or isinstance(found, (tuple, list)):
        results = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        return tuple(_apart(each, values, path, writes) for each in results)
    return _apart(found, values, path, writes)


def handed(handlers, path, arguments, keywords, goes_on):
    """What the first handler that takes it makes of a call of ``torch.ops.<path>``, which does ``goes_on(*args, **kwargs)``."""
    operation = attrgetter(path)(import_module("rushlight.compat.inside.ops"))
    types = tuple(map(type, overloaded_arguments(arguments, keywords, (Tensor,))))
    with waiting(operation, goes_on):
        for handler in handlers:
            found = handler(operation, types, arguments, keywords)
            if found is not NotImplemented:
                return found
    message = (
        f"Multiple dispatch failed for 'torch.ops.{path}'; all __torch_dispatch__ handlers returned NotImplemented:"
    )
    raise TypeError(hinted(message, "return func(*args, **kwargs) for what the handler leaves as it is"))


def _apart(result, values, path, writes):
    """A result as the waist takes it: a tensor that is no operand."""
    if not isinstance(result, Tensor):
        message = f"Unable to cast Python instance of type {type(result)} to C++ type 'at::Tensor'"
        raise RuntimeError(
            hinted(message, f"__torch_dispatch__ returned {kind_name(result)} for {path}, which gives a tensor")
        )
    return result._alias() if not writes and any(result is each for each in values) else result


# ---------------------------------------------------------------- what is no call at the waist, and one of PyTorch's dispatcher

_LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like")
_METHODS = {"detach": "detach", "item": "_local_scalar_dense"}
_grafted: set[Any] = set()
_lock = threading.Lock()


def see_beside_the_waist():
    """Let ``detach``, ``item`` and the functions that make tensors like others ask for handlers, from the first mode or class on."""
    calls = [(function, f"aten.{name}.default", {"pin_memory": False}) for name in _LIKE for function in _forms(name)]
    calls += [(getattr(Tensor, name), f"aten.{native}.default", {}) for name, native in _METHODS.items()]
    with _lock:
        for function, path, more in calls:
            if function not in _grafted:
                graft(function, partial(_asking, path, more))
                _grafted.add(function)


def _forms(name):
    function = getattr(functions, name)
    return (function, *getattr(function, "copies", ()))


def _asking(path, more, plain):
    """A function that asks the innermost mode, then the classes of its arguments."""

    def call(args, kwargs):
        mode = innermost()
        if isinstance(mode, Dispatching) and not DISPATCH.off:
            with below(mode), no_grad():
                return handed([mode.mode.__torch_dispatch__], path, args, {**kwargs, **more}, plain)
        handlers = handlers_of_classes(args)
        if not handlers:
            return plain(*args, **kwargs)
        with no_grad():
            return handed(handlers, path, args, {**kwargs, **more}, plain)

    return call
