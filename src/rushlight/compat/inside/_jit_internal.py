"""``torch._jit_internal``: marks for TorchScript and questions about types, where PyTorch keeps them."""

import inspect as _inspect
import typing as _typing

from ...futures import Future as Future
from ...jit.annotations import (
    BroadcastingList1,
    BroadcastingList2,
    BroadcastingList3,
    BroadcastingList4,
    BroadcastingList5,
    BroadcastingList6,
    BroadcastingListCls,
)
from ...jit.marks import (
    Final,
    FunctionModifiers,
    _copy_to_script_wrapper,
    _drop,
    _overload,
    _overload_method,
    export,
    get_torchscript_modifier,
    ignore,
    is_ignored_fn,
    is_scripting,
    should_drop,
    unused,
)

Any, Callable, Optional, Union = _typing.Any, _typing.Callable, _typing.Optional, _typing.Union
Dict, List, Tuple = (getattr(_typing, _name) for _name in ("Dict", "List", "Tuple"))


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls one of two others, by the value of one of its arguments."""

    def fn(*args, **kwargs):
        chosen = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    if module_name is not None:
        fn.__module__ = module_name
    if func_name is not None:
        fn.__name__ = func_name
    return fn


def is_list(ann):
    """Whether an annotation is a list of something."""
    return _typing.get_origin(ann) is list


def is_tuple(ann):
    """Whether an annotation is a tuple of something."""
    return _typing.get_origin(ann) is tuple


def is_dict(ann):
    """Whether an annotation is a dictionary of something."""
    return _typing.get_origin(ann) is dict


def is_final(ann):
    """Whether an annotation says that a value stays."""
    return ann is Final or _typing.get_origin(ann) is Final


def is_optional(ann):
    """Whether an annotation allows None."""
    return type(None) in _typing.get_args(ann)


def can_compile_class(cls):
    """Whether a class is written in Python throughout."""
    return all(_inspect.isfunction(getattr(cls, name)) for name in ("__init__", "__new__") if name in vars(cls))


def _qualified_name(obj, mangle_name=True):
    """The name of a class or function with its module."""
    name = getattr(obj, "_jit_override_qualname", None)
    if name is not None:
        return name
    module = obj.__module__
    return f"__torch__.{obj.__name__}" if module == "__main__" else f"__torch__.{module}.{obj.__name__}"
