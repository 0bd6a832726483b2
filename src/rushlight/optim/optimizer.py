"""Optimizer: parameter groups, state, state_dict, hooks; what every algorithm shares."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import chain
from typing import Any, Self, TypeAlias

from ..autograd.hooks import RemovableHandle
from ..base.errors import hinted
from ..tensor import Tensor
from .loading import check_groups, check_state, check_values

ParamsT: TypeAlias = "Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]"

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


class _RequiredParameter:
    """Stands in ``defaults`` for a hyperparameter that every group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()

_global_pre_hooks = OrderedDict()
_global_post_hooks = OrderedDict()


def _register(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(
    hook: Callable[[Optimizer, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]] | None],
) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before the step of every optimizer; returns a handle that removes it.

    >>> from rushlight.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("before"))
    >>> handle.remove()
    """
    return _register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(
    hook: Callable[[Optimizer, tuple[Any, ...], dict[str, Any]], None],
) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after the step of every optimizer; returns a handle that removes it.

    >>> from rushlight.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print("after"))
    >>> handle.remove()
    """
    return _register(_global_post_hooks, hook)


def _with_hooks(step):
    """The method ``step``, preceded and followed by the hooks; without hooks one test is all that it costs."""

    @functools.wraps(step)
    def step_with_hooks(self, *args, **kwargs):
        self._opt_called = True
        before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (before or after or _global_pre_hooks or _global_post_hooks):
            return step(self, *args, **kwargs)
        args = (self, *args)
        for hook in chain(tuple(_global_pre_hooks.values()), tuple(before.values())):
            replaced = hook(self, args, kwargs)
            if replaced is None:
                continue
            if not (isinstance(replaced, tuple) and len(replaced) == 2):
                raise RuntimeError(
                    hinted(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got {replaced}.",
                        "that is what the step pre-hook returned; args begin with the optimizer itself",
                    )
                )
            args, kwargs = replaced
        result = step(*args, **kwargs)
        for hook in chain(tuple(after.values()), tuple(_global_post_hooks.values())):
            hook(self, args, kwargs)
        return result

    step_with_hooks.hooked = True
    return step_with_hooks


def _type_name(value):
    """What ``torch.typename`` answers."""
    if isinstance(value, Tensor):
        return value.type()
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


class Optimizer:
    """Base class of optimizers. A subclass gives ``step(closure=None)``.

    Args:
        params: an iterable of Tensors, of ``(name, Tensor)`` pairs, or of dicts, each a parameter group: ``params`` and
            any hyperparameters that differ from ``defaults``.
        defaults: hyperparameters of groups that do not name them.

    Attributes: ``param_groups`` (list of dicts; ``params`` and hyperparameters; may be changed between steps),
    ``state`` (a defaultdict from parameter to dict) and ``defaults``.

    Raises TypeError or ValueError for parameters that are not leaves, empty lists, sets, or a parameter in two groups.

    >>> import rushlight as torch
    >>> class SignDescent(torch.optim.Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     @torch.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for param in group["params"]:
    ...                 param -= group["lr"] * param.grad.sign()
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> SignDescent([w]).step()
    >>> w
    tensor([ 0.9000, -1.9000], requires_grad=True)
    """

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                hinted(
                    "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                    + _type_name(params),
                    "put the tensor into a list: [tensor]",
                )
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups: list[Any] = list(params)
        if not groups:
            raise ValueError(
                hinted(
                    "optimizer got an empty parameter list",
                    "does the model have parameters? A generator such as model.parameters() can be read only once",
                )
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self):
        # The class's own step gets them where an instance is made: a class that wraps an optimizer makes none.
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)
        self._optimizer_step_pre_hooks = OrderedDict()
        self._optimizer_step_post_hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks = OrderedDict()
        self._optimizer_state_dict_post_hooks = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks = OrderedDict()
        self._optimizer_load_state_dict_post_hooks = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        for group in self.param_groups:
            for name, default in self.defaults.items():
                if default is not required:
                    group.setdefault(name, default)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for index, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {index}"]
            lines += [f"    {name}: {group[name]}" for name in sorted(group) if name != "params"]
            lines += [""]
        lines[-1] = ")"
        return "\n".join(lines)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        for group in self.param_groups:
            if set_to_none:
                for param in group["params"]:
                    param._grad = None
            else:
                for param in group["params"]:
                    if param.grad is not None:
                        if param.grad.grad_fn is not None:
                            param.grad.detach_()
                        else:  # a view outside the graph may be a gradient, and detach_ refuses views
                            param.grad.requires_grad_(False)
                        param.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once. ``closure``, where given, evaluates the model and returns the loss."""
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, for example a layer that thaws during training.

        Args:
            param_group: ``{"params": tensors, ...}``; hyperparameters that it leaves out take their defaults.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params, names = _listed(param_group["params"])
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for param in params:
            self._check_param(param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        self._check_group(param_group, params)
        self.param_groups.append(param_group)

    def _check_param(self, param):
        if not isinstance(param, Tensor):
            raise TypeError(
                hinted(
                    "optimizer can only optimize Tensors, but one of the params is " + _type_name(param),
                    "pass model.parameters(), a list of tensors, or a list of dicts with the key 'params'",
                )
            )
        if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
            raise ValueError(
                hinted(
                    "can't optimize a non-leaf Tensor",
                    f"this tensor of shape {tuple(param.shape)} is the result of {param.grad_fn}; optimize the tensor "
                    "it was computed from, or a copy of it: x.detach().requires_grad_()",
                )
            )

    def _check_group(self, param_group, params):
        if len(params) != len({id(param) for param in params}):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=4,
            )
        if self.param_groups:
            named = "param_names" in param_group
            if named != ("param_names" in self.param_groups[0]):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with' if named else 'without'} names to the optimizer"
                )
        known = {id(param) for group in self.param_groups for param in group["params"]}
        if not known.isdisjoint(id(param) for param in params):
            raise ValueError(
                hinted(
                    "some parameters appear in more than one parameter group",
                    "a weight shared by two modules belongs into one of their groups only",
                )
            )

    def state_dict(self) -> dict[str, Any]:
        """The state of the optimizer as a dict of plain containers and tensors, with PyTorch's keys.

        Returns ``{"state": {index: {...}}, "param_groups": [{..., "params": [index, ...]}]}``, where the index of a
        parameter is its place in the order of the groups. The tensors are the optimizer's own, not copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        index_of: dict[int, int] = {}
        groups: list[dict[str, Any]] = []
        for group in self.param_groups:
            start = sum(len(packed["params"]) for packed in groups)
            new = {id(param): index for index, param in enumerate(group["params"], start)}
            index_of = new | index_of
            packed = {name: value for name, value in group.items() if name != "params"}
            packed["params"] = [index_of[id(param)] for param in group["params"]]
            groups.append(packed)
        state = {index_of[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over hyperparameters and state from ``state_dict()`` of an optimizer of the same groups.

        State tensors are cast to the dtype of their parameters (the step count is not); nothing else is copied.
        Raises ValueError where the number of groups or of parameters in a group differs, and KeyError, TypeError or
        AttributeError, naming the key, where something is missing or of another kind; then nothing is taken over.
        """
        state_dict = dict(state_dict) if isinstance(state_dict, Mapping) else state_dict
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        check_groups(state_dict)
        saved_groups = deepcopy(state_dict["param_groups"])
        self._check_loaded(saved_groups)
        check_state(state_dict)
        param_of, group_of = {}, {}
        for group, saved in zip(self.param_groups, saved_groups):
            for index, param in zip(saved["params"], group["params"]):
                param_of[index], group_of[index] = param, saved
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in param_of:
                state[param_of[key]] = _cast(value, param_of[key], group_of[key])
            else:
                state[key] = value
        for group, saved in zip(self.param_groups, saved_groups):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def _check_loaded(self, saved_groups):
        groups = self.param_groups
        if len(groups) != len(saved_groups):
            raise ValueError(
                hinted(
                    "loaded state dict has a different number of parameter groups",
                    f"it has {len(saved_groups)}, this optimizer {len(groups)}",
                )
            )
        for index, (group, saved) in enumerate(zip(groups, saved_groups)):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    hinted(
                        "loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
                        f"group {index} was saved with {len(saved['params'])} parameters and has "
                        f"{len(group['params'])} here: was the model changed?",
                    )
                )
            check_values(group, saved, f"parameter group {index}")

    def register_step_pre_hook(
        self, hook: Callable[[Self, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]] | None]
    ) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[[Self, tuple[Any, ...], dict[str, Any]], None]) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], None], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before ``state_dict``."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after ``state_dict``; what it returns, unless None, is the result."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[[Optimizer, dict[str, Any]], dict[str, Any] | None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before loading; what it returns, unless None, is loaded instead."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Optimizer], None], prepend: bool = False
    ) -> RemovableHandle:
        """Call ``hook(optimizer)`` after loading."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _listed(params):
    """A group's parameters as a list, and their names (an empty list where they have none)."""
    if isinstance(params, Tensor):
        return [params], []
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    entries = list(params)
    names = [entry[0] for entry in entries if isinstance(entry, tuple)]
    if names and len(names) != len(entries):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    return [entry[1] if isinstance(entry, tuple) else entry for entry in entries], names


def _cast(value, param, group, key=None):
    """Loaded state with its tensors in the dtype and on the device of the parameter that they belong to."""
    if isinstance(value, Tensor):
        if key == "step":
            if group.get("capturable") or group.get("fused"):
                return value.to(device=param.device).float()
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)
    if isinstance(value, dict):
        return {name: _cast(entry, param, group, name) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(entry, param, group) for entry in value)
    return value


def __getattr__(name):
    """What optimizers written elsewhere import from here besides: loaded when one does."""
    found = vars(importlib.import_module(".helpers", __package__))
    if name in found and not name.startswith("__"):
        return found[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
