"""Pruning methods: which elements of a parameter a mask sets to zero, and the pre-hooks that apply masks."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...base.errors import hinted
from ...ops.table import functions
from ...tensor import Tensor
from ..parameter import Parameter

if TYPE_CHECKING:
    from ...nn.modules.module import Module


def _validate_pruning_amount_init(amount):
    """Refuse amounts that are neither a fraction in [0, 1] nor a count."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount, tensor_size):
    """Refuse to prune more units than there are."""
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _validate_structured_pruning(t):
    """Refuse tensors without channels."""
    if t.dim() <= 1:
        raise ValueError(
            hinted(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims",
                "prune vectors with an unstructured method",
            )
        )


def _validate_pruning_dim(t, dim):
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def _compute_nparams_toprune(amount, tensor_size):
    """The number of units: a count as it is, a fraction of ``tensor_size`` rounded."""
    return amount if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


def _compute_norm(t, n, dim):
    """The ``n``-norm of each channel along ``dim``."""
    others = [other for other in range(t.dim()) if other != dim % t.dim()]
    return functions.norm(t, p=n, dim=others)


def _channel_mask(t, dim, kept):
    """A mask of ``t``'s shape: 1 in the channels of ``dim`` that ``kept`` (bools or indices) selects."""
    mask = functions.zeros_like(t)
    mask.transpose(0, dim)[kept] = 1
    return mask


class BasePruningMethod(ABC):
    """A pre-hook that computes ``weight = weight_orig * weight_mask``; subclasses give `compute_mask`.

    Follows ``torch.nn.utils.prune.BasePruningMethod``. A subclass sets ``PRUNING_TYPE`` to ``"unstructured"``,
    ``"structured"`` or ``"global"``: what a further pruning of the same parameter may still choose from.
    """

    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Any:
        """A mask of ``t``'s shape: 0 where the element is to go; it keeps the zeros of ``default_mask``."""

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned parameter of ``module``."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Prune the parameter ``name`` of ``module``, on top of what is pruned already; return the pre-hook.

        Args:
            importance_scores (Tensor): what the method ranks instead of the parameter's own values.
        """
        earlier = [(key, hook) for key, hook in module._forward_pre_hooks.items() if getattr(hook, "_tensor_name", None) == name
                   and isinstance(hook, BasePruningMethod)]  # fmt: skip
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name + "_orig") if earlier else getattr(module, name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {original.shape}"
            )
        default = getattr(module, name + "_mask").detach().clone() if earlier else functions.ones_like(original)
        if earlier:
            key, before = earlier[-1]
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        ranked = (original if importance_scores is None else importance_scores).detach()
        mask = method.compute_mask(ranked, default)  # nothing of the module has changed if this raises
        if earlier:
            del module._forward_pre_hooks[key]
        else:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """``t`` with the pruned elements at zero; no module is involved."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs {t.shape}"
            )
        default = functions.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default)

    def remove(self, module: Module) -> None:
        """Make the pruned values the parameter again; the mask is forgotten."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter, in order; each chooses from what the ones before it left."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a `BasePruningMethod` that acts on the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """``default_mask`` with the zeros that the last method adds among the elements still kept."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        chosen: Any
        if method.PRUNING_TYPE == "unstructured":
            chosen = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = getattr(method, "dim", 0) % t.dim()
            others = [other for other in range(t.dim()) if other != dim]
            places: list[Any] = [slice(None)] * t.dim()
            places[dim] = mask.sum(dim=others) != 0 if others else mask != 0
            chosen = tuple(places)
        elif method.PRUNING_TYPE == "global":
            chosen = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        partial = method.compute_mask(t[chosen], default_mask=mask[chosen])
        found = mask.clone()
        found[chosen] = partial.to(dtype=mask.dtype)
        return found


class Identity(BasePruningMethod):
    """Prunes nothing: the parameter only gets a mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _Amount(BasePruningMethod):
    """Methods that prune ``amount`` units: a count, or a fraction of all."""

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size):
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)


class RandomUnstructured(_Amount):
    """Prunes ``amount`` elements at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            drawn = functions.rand_like(t)
            mask.view(-1)[drawn.view(-1).topk(count).indices] = 0
        return mask


class L1Unstructured(_Amount):
    """Prunes the ``amount`` elements of smallest magnitude."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.nelement())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[t.abs().view(-1).topk(count, largest=False).indices] = 0
        return mask


class _Channels(_Amount):
    """Methods that prune whole channels along ``dim``."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _channels(self, t):
        _validate_structured_pruning(t)
        _validate_pruning_dim(t, self.dim)
        return self._count(t.shape[self.dim])


class RandomStructured(_Channels):
    """Prunes ``amount`` channels along ``dim`` at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._channels(t)
        if count == 0:
            return default_mask
        drawn = functions.rand(t.shape[self.dim])
        kept = drawn > drawn.kthvalue(count).values
        return _channel_mask(t, self.dim, kept) * default_mask.to(dtype=t.dtype)


class LnStructured(_Channels):
    """Prunes the ``amount`` channels along ``dim`` of smallest ``n``-norm."""

    def __init__(self, amount: int | float, n: int, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._channels(t)
        if count == 0:
            return default_mask
        norms = _compute_norm(t, self.n, self.dim)
        kept = norms.topk(t.shape[self.dim] - count, largest=True).indices
        return _channel_mask(t, self.dim, kept) * default_mask.to(dtype=t.dtype)


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"the mask has shape {tuple(self.mask.shape)}, the parameter {tuple(default_mask.shape)}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def unwrapped(module: Module, name: str) -> Any:
    """The parameter ``name`` before pruning: ``name_orig`` where it is pruned, as a Parameter."""
    found = getattr(module, name + "_orig", None)
    return found if isinstance(found, Parameter) else getattr(module, name)
