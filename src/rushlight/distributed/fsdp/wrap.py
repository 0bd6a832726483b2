"""``torch.distributed.fsdp.wrap``: policies that say which submodules become units of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ...nn import Module, ModuleDict, ModuleList, MultiheadAttention
from ..later import LATER as _LATER


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every submodule."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """Submodules of which ``lambda_fn`` says so."""
    return recurse or lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """Submodules of some classes, such as a transformer's layers."""
    return recurse or isinstance(module, tuple(transformer_layer_cls))


_LEAVES: set[type[Module]] = {MultiheadAttention}
_CONTAINERS: set[type[Module]] = {ModuleList, ModuleDict}


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """Submodules that have ``min_num_params`` elements which no unit below them has."""
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, tuple(_LEAVES if force_leaf_modules is None else force_leaf_modules))
    excluded = _CONTAINERS if exclude_wrap_modules is None else exclude_wrap_modules
    return large and not isinstance(module, tuple(excluded))


size_based_auto_wrap_policy.FORCE_LEAF_MODULES = _LEAVES  # type: ignore[attr-defined]
size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = _CONTAINERS  # type: ignore[attr-defined]


class ModuleWrapPolicy:
    """Submodules of the given classes."""

    def __init__(self, module_classes: Iterable[type[Module]]) -> None:
        self._classes = tuple(set(module_classes))

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, self._classes)

    def __repr__(self) -> str:
        return f"ModuleWrapPolicy({set(self._classes)})"


class CustomPolicy:
    """Submodules of which a function says so, or gives the options of their unit."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool | dict[str, Any]:
        return True if recurse else self._lambda_fn(module)


def wrap_children(module: Module, policy: Any, wrapper: Callable[..., Module], ignored: set[Module]) -> int:
    """Make units of submodules, from the innermost out; how many elements of ``module`` are in none of them."""
    seen: set[int] = set()
    every = [each for each in module.parameters() if not (id(each) in seen or seen.add(id(each)))]  # type: ignore[func-returns-value]
    left = sum(each.numel() for each in every)
    if not policy(module, recurse=True, nonwrapped_numel=left):
        return left
    for name, child in list(module.named_children()):
        if child in ignored or isinstance(child, wrapper_class(wrapper)):
            continue
        whole = sum(each.numel() for each in child.parameters())
        inside = wrap_children(child, policy, wrapper, ignored)
        chosen = policy(child, recurse=False, nonwrapped_numel=inside)
        if chosen:
            setattr(module, name, wrapper(child, **(chosen if isinstance(chosen, dict) else {})))
            inside = 0
        left -= whole - inside
    return left


def wrapper_class(wrapper: Any) -> Any:
    """The class that a wrapper, perhaps with options bound to it, makes."""
    return wrapper.func if isinstance(wrapper, functools.partial) else wrapper


__getattr__ = _LATER.of("fsdp.wrap")
