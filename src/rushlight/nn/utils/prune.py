"""Pruning of parameters, as ``torch.nn.utils.prune`` has it: masks that set small or random elements to zero."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...ops.table import functions
from ...tensor import Tensor
from .prune_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    unwrapped,
)
from .weight_hooks import take_off

if TYPE_CHECKING:
    from ...nn.modules.module import Module, ModuleT


def identity(module: ModuleT, name: str) -> ModuleT:
    """Give the parameter ``name`` of ``module`` a mask of ones; return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: ModuleT, name: str, amount: int | float) -> ModuleT:
    """Prune ``amount`` (a count, or a fraction of all) random elements of the parameter ``name``; return the module.

    The parameter moves to ``name_orig``, the mask is the buffer ``name_mask``, and a forward pre-hook computes ``name``.

    >>> import rushlight as torch
    >>> layer = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(4, 2), "weight", amount=3)
    >>> int(layer.weight_mask.sum())
    5
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: ModuleT, name: str, amount: int | float, importance_scores: Tensor | None = None
) -> ModuleT:
    """Prune the ``amount`` elements of smallest magnitude (or score) of the parameter ``name``; return the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: ModuleT, name: str, amount: int | float, dim: int) -> ModuleT:
    """Prune ``amount`` random channels along ``dim`` of the parameter ``name``; return the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: ModuleT, name: str, amount: int | float, n: int, dim: int, importance_scores: Tensor | None = None
) -> ModuleT:
    """Prune the ``amount`` channels along ``dim`` of smallest ``n``-norm of the parameter ``name``; return the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: ModuleT, name: str, mask: Tensor) -> ModuleT:
    """Prune the elements of the parameter ``name`` where ``mask`` is 0; return the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Any,
    importance_scores: Tensor | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters together, as if they were one long vector.

    Args:
        parameters: pairs ``(module, name)``.
        pruning_method: an unstructured method, for instance `L1Unstructured`; ``kwargs`` are its arguments.
        importance_scores (dict): what is ranked instead of a parameter's values, by ``(module, name)``.

    >>> import rushlight as torch
    >>> prune, net = torch.nn.utils.prune, torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Linear(3, 2))
    >>> prune.global_unstructured([(net[0], "weight"), (net[1], "weight")], prune.L1Unstructured, amount=5)
    >>> int(net[0].weight_mask.sum() + net[1].weight_mask.sum())
    13
    """
    if not hasattr(parameters, "__iter__"):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    relevance = [scores.get((module, name), getattr(module, name)).detach() for module, name in parameters]
    masks = [getattr(module, name + "_mask", functions.ones_like(getattr(module, name))) for module, name in parameters]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    together = functions.cat([one.reshape(-1) for one in relevance])
    final = container.compute_mask(together, functions.cat([mask.reshape(-1) for mask in masks]))
    for (module, name), part in zip(parameters, final.split([one.numel() for one in relevance])):
        custom_from_mask(module, name, mask=part.view_as(unwrapped(module, name)))


def remove(module: ModuleT, name: str) -> ModuleT:
    """Make the pruning of the parameter ``name`` permanent: its pruned values become the parameter; return the module."""
    if take_off(module, BasePruningMethod, lambda hook: hook._tensor_name == name) is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    return module


def is_pruned(module: Module) -> bool:
    """Whether ``module`` or a module inside it has a pruned parameter."""
    return any(
        isinstance(hook, BasePruningMethod) for inner in module.modules() for hook in inner._forward_pre_hooks.values()
    )


__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]
