"""Spectral normalisation, old style: a pre-hook divides the weight by its largest singular value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...autograd import no_grad
from ...ops.table import functions
from ...tensor import Tensor
from .. import functional as F
from ..parameter import Parameter, is_lazy
from .weight_hooks import take_off

if TYPE_CHECKING:
    from ...nn.modules.module import Module, ModuleT

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


def as_matrix(weight: Tensor, dim: int) -> Any:
    """``weight`` as a matrix whose rows are the entries along ``dim``."""
    return weight.movedim(dim, 0).flatten(1)


def output_dim(module: Module) -> Any:
    """Where a layer's weight counts its outputs: dimension 1 in a transposed convolution, else 0."""
    names = {kind.__name__ for kind in type(module).__mro__}
    return 1 if names & {"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"} else 0


def check_iterations(count):
    """Raise unless ``count`` is positive."""
    if count <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={count}")


class SpectralNorm:
    """The pre-hook: a step of power iteration in training, then ``weight = weight_orig / (u^T weight_orig v)``."""

    # Written into the state dict's metadata; PyTorch's version 0 kept no `v`.
    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        check_iterations(n_power_iterations)
        self.name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def compute_weight(self, module, do_power_iteration):
        """The normalised weight; ``do_power_iteration`` first brings ``u`` and ``v`` closer to the singular vectors."""
        weight, u, v = (getattr(module, self.name + suffix) for suffix in ("_orig", "_u", "_v"))
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(functions.mv(matrix.t(), u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(functions.mv(matrix, v), dim=0, eps=self.eps))
                # The next step writes over u and v, which this graph may still need.
                u, v = u.clone(), v.clone()
        return weight / functions.dot(u, functions.mv(matrix, v))

    def remove(self, module: Module) -> None:
        """Make the weight a parameter again, with its normalised value."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    @staticmethod
    def apply(module: Module, name: str, n_power_iterations: int, dim: int, eps: float) -> Any:
        """Replace the parameter ``name`` of ``module``; return the hook."""
        if any(isinstance(hook, SpectralNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run the dummy "
                "forward before applying spectral normalization"
            )
        with no_grad():
            height, width = as_matrix(weight, dim).shape
            u = F.normalize(weight.new_empty(height).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(weight.new_empty(width).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(hook.note_version)
        return hook

    def note_version(self, module, state_dict, prefix, local_metadata):
        """Write the version of this normalisation into the state dict's metadata."""
        versions = local_metadata.setdefault("spectral_norm", {})
        key = self.name + ".version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self._version


def spectral_norm(
    module: ModuleT, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> ModuleT:
    """Divide the parameter ``name`` of ``module`` by its largest singular value before each forward; return it.

    Args:
        n_power_iterations (int): steps that follow the singular vectors, a training forward. Default: 1
        dim (int): the dimension that counts outputs. Default: 1 for transposed convolutions, else 0

    Miyato et al. 2018; `parametrizations.spectral_norm` is the newer form.

    >>> import rushlight as torch
    >>> layer = torch.nn.utils.spectral_norm(torch.nn.Linear(20, 40))
    >>> layer.weight_u.size()
    torch.Size([40])
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: ModuleT, name: str = "weight") -> ModuleT:
    """Undo `spectral_norm`; the weight keeps its normalised value. Return the module."""
    hook = take_off(module, SpectralNorm, lambda hook: hook.name == name)
    if hook is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for identity, noted in module._state_dict_hooks.items():
        if getattr(noted, "__self__", None) is hook:
            del module._state_dict_hooks[identity]
            break
    return module
