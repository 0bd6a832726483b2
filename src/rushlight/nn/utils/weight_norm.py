"""Weight normalisation, old style: a pre-hook computes the weight from a magnitude and a direction."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...ops.table import functions
from ...tensor import Tensor
from ..parameter import Parameter, is_lazy
from .weight_hooks import take_off

if TYPE_CHECKING:
    from ...nn.modules.module import Module, ModuleT

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def norm_except_dim(tensor: Tensor, dim: int) -> Any:
    """The 2-norm over every dimension but ``dim``, kept with length 1; over all of them if ``dim`` is -1."""
    if dim == -1:
        return functions.linalg_vector_norm(tensor, 2)
    others = [other for other in range(tensor.dim()) if other != dim]
    return functions.linalg_vector_norm(tensor, 2, others, True)


class WeightNorm:
    """The pre-hook: before each forward, ``weight = weight_g * weight_v / |weight_v|``."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight from its magnitude and direction."""
        magnitude, direction = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return direction * (magnitude / norm_except_dim(direction, self.dim))

    @staticmethod
    def apply(module: Module, name: str, dim: int) -> Any:
        """Replace the parameter ``name`` of ``module`` by its two parts; return the hook."""
        if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(name + "_g", Parameter(norm_except_dim(weight, hook.dim).data))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: ModuleT, name: str = "weight", dim: int = 0) -> ModuleT:
    """Split the parameter ``name`` of ``module`` into ``name_g`` and ``name_v``: magnitude and direction; return it.

    Args:
        dim (int): the dimension that has a magnitude an entry; ``None`` for one magnitude. Default: 0

    Salimans & Kingma 2016; deprecated for `parametrizations.weight_norm`, as in PyTorch.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: ModuleT, name: str = "weight") -> ModuleT:
    """Undo `weight_norm`; the weight keeps its value. Return the module."""
    if take_off(module, WeightNorm, lambda hook: hook.name == name) is None:
        raise ValueError(f"weight_norm of '{name}' not found in {module}")
    return module
