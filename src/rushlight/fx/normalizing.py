"""Arguments in one form, by the signature of what is called."""

from __future__ import annotations

import inspect

from ..ops.native_calls import lines
from .node import module_of

# Functions of ``torch`` that PyTorch has written in Python, and that take other than a list of tensors.
_IN_PYTHON = frozenset(
    [
        "cdist",
        "lu",
        "meshgrid",
        "norm",
        "pca_lowrank",
        "split",
        "stft",
        "svd_lowrank",
        "tensordot",
        "unique",
        "unique_consecutive",
    ]
)


def _in_python(function):
    """Whether PyTorch's function of that name is written in Python: those see their arguments only after defaults are filled in."""
    module = module_of(function)
    if module != "torch.nn.functional":
        return module == "torch" and function.__name__ in _IN_PYTHON
    forms = lines().get(("functional", function.__name__), ["= python("])
    return "(" in forms[0]


def by_name(function, args, kwargs):
    """``(args, kwargs)``, with what has a default in ``kwargs``, where PyTorch's function does so."""
    if (
        function.__name__ == "einsum"
        and module_of(function) == "torch"
        and len(args) == 2
        and isinstance(args[1], (list, tuple))
    ):
        return (args[0], *args[1]), kwargs
    if not _in_python(function):
        return args, kwargs
    bound = _bound(inspect.signature(function), args, kwargs)
    return (args, kwargs) if bound is None else _parted(bound)


def _bound(signature, args, kwargs):
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound


def _parted(bound, only_names=False):
    """Bound arguments as ``(args, kwargs)``: by position what has no default."""
    args, kwargs = [], {}
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            args.extend(value)
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs.update(value)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY and not only_names:
            args.append(value)
        else:
            kwargs[name] = value
    return tuple(args), kwargs


def normalized(node, root, only_names):
    """What `Node.normalized_arguments` gives."""
    if node.op == "call_function":
        called = node.target
    elif node.op == "call_module":
        called = root.get_submodule(node.target).forward
    else:
        return None
    try:
        signature = inspect.signature(called)
    except ValueError:
        return None
    bound = _bound(signature, node.args, node.kwargs)
    return None if bound is None else _parted(bound, only_names)
