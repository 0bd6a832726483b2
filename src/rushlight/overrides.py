"""``torch.overrides``: helpers for classes that define ``__torch_function__``."""

from __future__ import annotations

import functools as _functools
import importlib as _importlib
import inspect as _inspect
from contextlib import suppress as _suppress

from .autograd import enable_grad as _enable_grad
from .base.contexts import contextmanager as _contextmanager
from .base.errors import hinted as _hinted
from .compat import modes as _modes
from .compat.modes import TorchFunctionMode
from .ops.native_calls import lines as _forms
from .tensor import NAMESPACES as _NAMESPACES
from .tensor import Tensor as _Tensor
from .tensor.names import make_all as _make_all
from .tensor.overrides import DISPATCH as _DISPATCH
from .tensor.overrides import disabled_torch_function as _disabled
from .tensor.overrides import overloaded_arguments as _overloaded

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]
_PLAIN = (_Tensor,)


def is_tensor_like(inp):
    """Whether it is a tensor, or its class defines ``__torch_function__``.

    >>> import rushlight as torch
    >>> from rushlight.overrides import is_tensor_like
    >>> is_tensor_like(torch.ones(1)), is_tensor_like(3)
    (True, False)
    """
    return type(inp) is _Tensor or hasattr(inp, "__torch_function__")


def has_torch_function(relevant_args):
    """Whether one of the arguments has a ``__torch_function__`` of its own."""
    return any(_asks(value) for value in relevant_args)


def has_torch_function_unary(obj):
    """`has_torch_function` for one argument."""
    return _asks(obj)


def has_torch_function_variadic(*args):
    """`has_torch_function` for arguments given one by one."""
    return any(_asks(value) for value in args)


def _asks(value):
    kind = value.__class__
    found = getattr(kind, "__torch_function__", None)
    if found in (None, _disabled) or kind is _Tensor:
        return False
    return getattr(found, "__func__", found) is not getattr(_Tensor.__torch_function__, "__func__", None) or not (
        kind.__module__.startswith(("rushlight.nn", "torch.nn"))  # the latter under the shim
    )


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Let the ``__torch_function__`` of the arguments make a call of ``public_api``."""
    overloaded = _overloaded(tuple(relevant_args), {}, _PLAIN)
    types = tuple(map(type, overloaded))
    for value in overloaded:
        result = type(value).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        _hinted(
            f"no implementation found for '{name}' on types that implement __torch_function__: {[type(v) for v in overloaded]}",
            "each of their __torch_function__ has returned NotImplemented",
        )
    )


def wrap_torch_function(dispatcher):
    """A decorator: ``dispatcher(*args, **kwargs)`` gives the arguments whose ``__torch_function__`` is asked first."""

    def decorate(function):
        @_functools.wraps(function)
        def call(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def is_tensor_method_or_property(func):
    """Whether a function belongs to the class of tensors."""
    return func in _tensor_functions() or getattr(func, "__name__", None) == "__get__"


@_functools.cache
def _tensor_functions():
    found = set()
    for value in vars(_Tensor).values():
        if callable(value) and not isinstance(value, staticmethod):
            found.add(value)
    return found


@_functools.cache
def get_overridable_functions():
    """The functions that ask ``__torch_function__``, a list for each place that has them."""
    root = _importlib.import_module("rushlight")
    found = {}
    _make_all()
    for place, names in _NAMESPACES.items():
        if place == "Tensor":
            continue
        owner = root if place == "torch" else _importlib.import_module(f"rushlight.{place}")
        found[owner] = [function for function in names.values() if callable(function)]
    found[_Tensor] = list(_tensor_functions())
    return found


@_functools.cache
def _names():
    found = {}
    for owner, functions in get_overridable_functions().items():
        prefix = "torch.Tensor" if owner is _Tensor else owner.__name__.replace("rushlight", "torch", 1)
        for function in functions:
            found.setdefault(function, f"{prefix}.{function.__name__}")
    return found


def resolve_name(f):
    """The name of a function that asks ``__torch_function__``, such as ``torch.nn.functional.relu``, or of a native operation; None for
    others."""
    return str(f) if hasattr(f, "_qualified_op_name") or hasattr(f, "_overloadname") else _names().get(f)


@_contextmanager
def enable_reentrant_dispatch():
    """A block within a ``__torch_dispatch__`` in which operations are recorded, and handlers asked, as outside of it."""
    off, _DISPATCH.off = _DISPATCH.off, 0
    try:
        with _enable_grad():
            yield
    finally:
        _DISPATCH.off = off


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that calls each function as it is."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    """The innermost mode of this thread; None outside of all."""
    active = _modes.active_modes()
    return active[-1] if active else None


def _get_current_function_mode_stack():
    """The modes of this thread, the innermost last."""
    return list(_modes.active_modes())


@_functools.cache
def get_ignored_functions():
    """The public functions of ``torch`` and of tensors that ask no ``__torch_function__``: those that take no tensor.

    >>> import rushlight as torch
    >>> from rushlight.overrides import get_ignored_functions
    >>> torch.arange in get_ignored_functions(), torch.add in get_ignored_functions()
    (True, False)
    """
    root = _importlib.import_module("rushlight")
    names = [name for room, name in _forms() if room == "torch" and _takes_none(name)]
    return frozenset(getattr(root, name) for name in names if hasattr(root, name))


def _takes_none(name):
    """Whether no form of a function takes a tensor, ``out`` aside."""
    forms = _forms().get(("torch", name), ())
    return bool(forms) and not any(form[0] == "=" or "Tensor" in form.replace("Tensor out", "") for form in forms)


@_functools.cache
def get_testing_overrides():
    """A function of the same arguments for each that asks ``__torch_function__``; it returns -1."""
    found = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            found[function] = _minus_one(function)
    return found


def _minus_one(function):
    def override(*args, **kwargs):
        return -1

    with _suppress(TypeError, ValueError):  # a descriptor without one
        override.__signature__ = _inspect.signature(function)
    return override


def get_default_nowrap_functions():
    """The functions whose results the default ``__torch_function__`` leaves as they are: that which reads ``grad``."""
    return {vars(_Tensor)["grad"].__get__}
