"""The parametrizations that come with the package: orthogonal, weight_norm and spectral_norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd import no_grad
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from ..modules.module import Module
from . import parametrize
from .orthogonal import orthogonal
from .spectral_norm import as_matrix, check_iterations, output_dim
from .weight_norm import norm_except_dim

if TYPE_CHECKING:
    from ...nn.modules.module import ModuleT

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """``original0 * original1 / |original1|``: magnitude and direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> Any:
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module: ModuleT, name: str = "weight", dim: int = 0) -> ModuleT:
    """Compute the parameter ``name`` of ``module`` from a magnitude and a direction; return the module.

    Args:
        dim (int): the dimension that has a magnitude an entry; ``None`` for one magnitude. Default: 0

    State dicts of the old `torch.nn.utils.weight_norm` load. Salimans & Kingma 2016; follows
    ``torch.nn.utils.parametrizations.weight_norm``.

    >>> import rushlight as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.size()
    torch.Size([40, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        magnitude, direction = f"{prefix}{name}_g", f"{prefix}{name}_v"
        if magnitude in state_dict and direction in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(magnitude)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(direction)

    module._register_load_state_dict_pre_hook(rename)
    return module


class _SpectralNorm(Module):
    """The weight divided by its largest singular value, which power iteration follows during training."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        count = weight.dim()
        if not -count <= dim < count:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{count}, {count - 1}] but got {dim})"
            )
        check_iterations(n_power_iterations)
        self.dim = dim % count
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if count > 1:
            with no_grad():
                matrix = as_matrix(weight, self.dim)
                height, width = matrix.shape
                u, v = (matrix.new_empty(length).normal_(0, 1) for length in (height, width))
                self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
                self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
                self._iterate(matrix, 15)

    def _iterate(self, matrix, steps):
        with no_grad():
            for _ in range(steps):
                self._u.copy_(F.normalize(functions.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(functions.mv(matrix.mH, self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Copies, because the next step writes over both while this graph may still need them.
        u, v = self._u.clone(), self._v.clone()
        return weight / functions.vdot(u, functions.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: ModuleT, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> ModuleT:
    """Divide the parameter ``name`` of ``module`` by its largest singular value; return the module.

    Args:
        n_power_iterations (int): steps of power iteration a training forward. Default: 1
        dim (int): the dimension that counts outputs. Default: 1 for transposed convolutions, else 0

    Miyato et al. 2018; follows ``torch.nn.utils.parametrizations.spectral_norm``.

    >>> import rushlight as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> bool((torch.linalg.matrix_norm(layer.weight, 2) - 1).abs() < 0.2)
    True
    """
    weight = getattr(module, name, None)
    if not hasattr(weight, "dim"):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = output_dim(module) if dim is None else dim
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
