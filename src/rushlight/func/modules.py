"""Modules as functions of their parameters: ``functional_call``, and stacks of models for ``vmap``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..base.contexts import contextmanager
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor.base import Tensor

if TYPE_CHECKING:
    from ..nn.modules.container import ModuleList
    from ..nn.modules.module import Module

_ABSENT = object()


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Any,
    args: Any | tuple[Any, ...] | None = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call ``module`` with the given tensors in place of its parameters and buffers. Follows ``torch.func.functional_call``.

    Args:
        module: a Module; it is as before afterwards.
        parameter_and_buffer_dicts: tensors by name, as in ``named_parameters()``; or a tuple or list of such dictionaries.
            What the call assigns to them is found in the dictionary afterwards, where there is one.
        args: the argument of the call, or a tuple of them.
        kwargs: its keyword arguments.
        tie_weights: parameters that are one tensor in the module are one here too, if one of their names is given.
        strict: refuse missing and unknown names.

    >>> import rushlight as torch
    >>> layer = torch.nn.Linear(2, 1)
    >>> state = {"weight": torch.ones(1, 2), "bias": torch.zeros(1)}
    >>> torch.func.functional_call(layer, state, torch.tensor([3.0, 4.0]))
    tensor([7.])
    """
    tensors = _one_dictionary(parameter_and_buffer_dicts)
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with replaced(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def _one_dictionary(given):
    if isinstance(given, dict):
        return given
    if not isinstance(given, (list, tuple)):
        raise ValueError(
            hinted(
                f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}",
                "dict(module.named_parameters()) gives one",
            )
        )
    if not all(isinstance(each, dict) for each in given):
        raise ValueError(
            hinted(
                "Expected all elements of parameter_and_buffer_dicts to be dictionaries",
                "give the parameters and the buffers as dictionaries: (params, buffers)",
            )
        )
    names = [name for each in given for name in each]
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if repeated:
        raise ValueError(
            hinted(
                f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous",
                "every name may be given once",
            )
        )
    return {name: value for each in given for name, value in each.items()}


@contextmanager
def replaced(module: Module, tensors: Any, tie_weights: bool = False, strict: bool = False) -> Iterator[Any]:
    """A context in which ``module`` holds ``tensors`` (by name) in place of its own; what it holds at the end goes into them."""
    given = _tied(module, tensors) if tie_weights else tensors
    if strict:
        _check_names(module, given)
    before = []
    try:
        for name, value in given.items():
            owner, last = _owner(module, name)
            before.append((name, owner, last, _swap(owner, last, value)))
        yield
    finally:
        try:
            _put_back(before, tensors)
        except BaseException:  # Ctrl-C came before all was done
            _put_back(before, tensors)
            raise


def _put_back(before, tensors):
    """Let the owners hold what they held, the last first; what they hold now goes into ``tensors``. Empties ``before``."""
    while before:
        name, owner, last, value = before[-1]
        now = _swap(owner, last, value)
        if name in tensors and now is not _ABSENT and now is not value:
            tensors[name] = now
        before.pop()


def _named(module):
    """All parameters and buffers by name, those that occur twice under both names."""
    found = dict(module.named_parameters(remove_duplicate=False))
    found.update(module.named_buffers(remove_duplicate=False))
    return found


def _tied(module, tensors):
    """``tensors``, and each of them under the other names that its place has in the module."""
    names_of = {}
    for name, tensor in _named(module).items():
        names_of.setdefault(id(tensor), []).append(name)
    found = dict(tensors)
    for names in names_of.values():
        given = [name for name in names if name in tensors]
        if len(names) == 1 or not given:
            continue
        if len(given) > 1 and len({id(tensors[name]) if name in tensors else None for name in names}) > 1:
            raise ValueError(
                hinted(
                    f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using "
                    "tie_weights=False",
                    "these names are one tensor in the module: give one of them",
                )
            )
        found.update(dict.fromkeys(names, tensors[given[0]]))
    return found


def _check_names(module, given):
    present = _named(module)
    messages = []
    for what, names in (
        ("Unexpected", [name for name in given if name not in present]),
        ("Missing", [name for name in present if name not in given]),
    ):
        if names:
            messages.append(f"{what} key(s): {', '.join(map(repr, sorted(names)))}.")
    if messages:
        raise RuntimeError(
            hinted(
                f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(messages),
                "strict=False leaves the module's own tensors where none is given",
            )
        )


def _owner(module, name):
    """The submodule that holds the tensor of a dotted name, and the last part of the name."""
    *path, last = name.split(".")
    for part in path:
        try:
            module = getattr(module, part)
        except AttributeError as error:
            raise AttributeError(f"{type(module).__name__} has no attribute `{part}`") from error
    return module, last


def _swap(owner, name, value):
    """Let ``owner`` hold ``value`` under ``name``; returns what it held."""
    if value is not None and value is not _ABSENT and not isinstance(value, Tensor):
        raise TypeError(
            hinted(f"{value} is not an instance of torch.Tensor", "parameters and buffers are replaced by tensors")
        )
    for members in (owner._parameters, owner._buffers):
        if name in members:
            if value is _ABSENT:  # it was no member before: a Parameter becomes one when it is assigned
                return members.pop(name)
            held, members[name] = members[name], value
            return held
    held = getattr(owner, name, _ABSENT)
    if held is not None and held is not _ABSENT and not isinstance(held, Tensor):
        raise TypeError(
            hinted(f"attribute `{name}`: {held} is not an instance of torch.Tensor", "only tensors can be replaced")
        )
    if value is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, value)
    return held


def stack_module_state(models: Sequence[Module] | ModuleList) -> tuple[dict[str, Any], dict[str, Any]]:
    """``(parameters, buffers)`` of several models of one class, stacked by name, for a ``vmap`` over the models.

    Follows ``torch.func.stack_module_state``: the stacked parameters are new leaves. RuntimeError where there is no model,
    or where they differ in class, mode, or what requires grad.

    >>> import rushlight as torch
    >>> models = [torch.nn.Linear(2, 1) for _ in range(3)]
    >>> params, buffers = torch.func.stack_module_state(models)
    >>> call = lambda params, x: torch.func.functional_call(models[0], params, x)
    >>> torch.func.vmap(call, (0, None))(params, torch.ones(2)).shape
    torch.Size([3, 1])
    """
    if not len(models):
        raise RuntimeError(
            hinted("stack_module_state: Expected at least one model, got 0.", "give a list of models of one class")
        )
    if len({model.training for model in models}) > 1:
        raise RuntimeError(
            hinted(
                "stack_module_state: Expected all models to have the same training/eval mode.",
                "call train() or eval() on all of them",
            )
        )
    if len({type(model) for model in models}) > 1:
        raise RuntimeError(
            hinted(
                "stack_module_state: Expected all models to be of the same class.",
                "one function is called with the state of each",
            )
        )
    return _stacked([dict(m.named_parameters()) for m in models]), _stacked([dict(m.named_buffers()) for m in models])


def _stacked(states):
    return {name: _stacked_leaf(name, [state[name] for state in states]) for name in states[0]}


def _stacked_leaf(name, tensors):
    tracked = [tensor.requires_grad for tensor in tensors]
    if any(tracked) and not all(tracked):
        raise RuntimeError(
            hinted(
                f"Expected {name} from each model to have the same .requires_grad",
                "freeze a parameter in all of the models or in none",
            )
        )
    found = functions.stack(tensors)
    return found.detach().requires_grad_() if all(tracked) else found


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let every batch norm in ``root`` use the statistics of each batch alone; returns ``root``.

    Running statistics are written in place, which ``vmap`` refuses: see ``torch.func.replace_all_batch_norm_modules_``.
    """
    for module in root.modules():
        forget = getattr(module, "forget_running_statistics", None)
        if forget is not None:
            forget()
    return root


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """``func`` with its writes in place as seen from outside. Follows ``torch.func.functionalize``.

    In PyTorch this rewrites operations for tracers. Nothing here needs that: the function computes the same, inputs
    that it writes into included.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            hinted(
                "functionalize(f, remove='mutations'): received invalid argument for remove=. Valid options are:\n"
                '     remove="mutations": all inplace and out= operators will be removed from the program, and replaced with their '
                "out-of-place equivalents.\n"
                '     remove="mutations_and_views": In addition to the above, all aliasing operators will be replaced with their '
                "copy variants.",
                f"remove= was given {remove!r}",
            )
        )
    return functools.wraps(func)(lambda *args, **kwargs: func(*args, **kwargs))
