"""Marks for TorchScript: what PyTorch's compiler would do with a function; here they are noted on it, and it runs as it is."""

from __future__ import annotations

import typing
import warnings

from ..base.errors import hinted
from ..nn import Module

Final = typing.Final


class FunctionModifiers:
    """What a mark says about a function."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def is_scripting():
    """Whether code runs in TorchScript: False."""
    return False


def annotate(the_type, the_value):
    """The value itself; for a compiler, its type."""
    return the_value


def _marked(function, mark):
    function._torchscript_modifier = mark
    return function


def export(fn):
    """Mark a method that is to be compiled though ``forward`` does not call it: the method itself."""
    return _marked(fn, FunctionModifiers.EXPORT)


def unused(fn):
    """Mark a function that a compiled program never calls: the function itself."""
    if isinstance(fn, property):
        for part in (fn.fget, fn.fset):
            if part is not None:
                _marked(part, FunctionModifiers.UNUSED)
        return fn
    return _marked(fn, FunctionModifiers.UNUSED)


def ignore(drop=False, **kwargs):
    """Mark a function that stays Python: the function itself, as a decorator with or without arguments."""
    if callable(drop):
        return _marked(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(
            hinted(
                f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}",
                "write @torch.jit.ignore above the function",
            )
        )
    gone = "drop_on_export=True" if kwargs.pop("drop_on_export", None) else "True" if drop else None
    if gone is not None:
        warnings.warn(
            f"ignore({gone}) has been deprecated. TorchScript will now drop the function call on compilation. Use "
            f"torch.jit.unused now. {kwargs}",
            FutureWarning,
            stacklevel=2,
        )
    mark = FunctionModifiers.UNUSED if gone else FunctionModifiers.IGNORE
    return lambda function: _marked(function, mark)


def _drop(fn):
    """Mark a function whose declaration a compiler may not read: the function itself."""
    return _marked(fn, FunctionModifiers._DROP)


def _copy_to_script_wrapper(fn):
    """Mark a method that a compiled module has too: the method itself."""
    return _marked(fn, FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)


def _overload(func):
    """Mark one of several declarations of a function: the declaration itself; the function that follows is called."""
    return func


_overload_method = _overload


def get_torchscript_modifier(fn):
    """What a mark says about a function; None where a value is no function."""
    if not callable(fn):
        return None
    return getattr(getattr(fn, "__func__", fn), "_torchscript_modifier", FunctionModifiers.DEFAULT)


def is_ignored_fn(fn):
    """Whether a mark keeps a function from being compiled."""
    return get_torchscript_modifier(fn) in (
        FunctionModifiers.UNUSED, FunctionModifiers.IGNORE, FunctionModifiers._DROP
    )  # fmt: skip


def should_drop(fn):
    """Whether a mark says that a function is never called once compiled."""
    return get_torchscript_modifier(fn) in (FunctionModifiers.UNUSED, FunctionModifiers._DROP)


def _unwrap_optional(x):
    """The value, which may not be None."""
    if x is None:
        raise AssertionError(hinted("Unwrapping null optional", "the value is None"))
    return x


def interface(obj):
    """Mark a class as a list of the methods that others have: the class itself."""
    warnings.warn(
        "`torch.jit.interface` is deprecated. Please use `torch.compile` instead.", DeprecationWarning, stacklevel=2
    )
    if not isinstance(obj, type):
        raise RuntimeError(hinted("interface must be applied to a class", f"it was given {obj!r}"))
    obj.__torch_script_interface__ = True
    return obj


class Attribute(typing.NamedTuple):
    """A value and its type, for a module that is compiled: there it is the value alone."""

    value: typing.Any
    type: typing.Any


def unwrapped(value):
    """The value of an `Attribute`, and any other value itself."""
    return value.value if isinstance(value, Attribute) else value


def qualified_name(obj):
    """The name that TorchScript gives a class or function: ``__torch__.module.Class``."""
    name = getattr(obj, "__name__", None)
    module = getattr(obj, "__module__", None)
    if name is None:
        raise RuntimeError(hinted("Could not get name of python class object", f"{obj!r} has no __name__"))
    return f"__torch__.{name}" if module in (None, "__main__") else f"__torch__.{module}.{name}"


def is_module_class(value):
    """Whether it is a class of modules."""
    return isinstance(value, type) and issubclass(value, Module)
