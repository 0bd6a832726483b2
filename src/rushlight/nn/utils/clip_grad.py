"""Clipping gradients, by their norm or by value."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import GeneratorType

from ...autograd import no_grad
from ...ops.table import functions
from ...tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements of all ``tensors`` taken as one vector; a tensor.

    Args:
        norm_type (float): the order of the norm, ``inf`` for the largest. Default: 2
        error_if_nonfinite (bool): raise if it is nan or infinite. Default: ``False``
        foreach (bool): accepted as PyTorch's choice of implementation; there is one here

    >>> import rushlight as torch
    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return functions.zeros(())
    with no_grad():
        norms = [functions.linalg_vector_norm(tensor, norm_type) for tensor in tensors]
        total = functions.linalg_vector_norm(functions.stack(norms), norm_type)
        if error_if_nonfinite and not functions.isfinite(total):
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"
            )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients of ``parameters`` by ``max_norm / total_norm`` where that is below 1.

    >>> import rushlight as torch
    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> p.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grads_with_norm_([p], 1.0, torch.tensor(5.0))
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    gradients, max_norm = _gradients(_listed(parameters)), float(max_norm)
    if gradients:
        with no_grad():
            factor = functions.clamp(max_norm / (total_norm + 1e-6), max=1.0)
            for gradient in gradients:
                gradient.mul_(factor)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of ``parameters`` so that their norm, taken together, is at most ``max_norm``.

    Args:
        parameters (Tensor or iterable of Tensor): those without a gradient are passed over
        max_norm (float): the largest norm to leave
        norm_type (float): the order of the norm, ``inf`` for the largest element. Default: 2
        error_if_nonfinite (bool): raise if the norm is nan or infinite. Default: ``False``

    Returns:
        the norm before clipping, a tensor

    >>> import rushlight as torch
    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> p.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([p], 1.0)
    tensor(5.)
    """
    generator = isinstance(parameters, GeneratorType)
    parameters = _listed(parameters)
    if generator and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total_norm = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The old name of `clip_grad_norm_`; warns."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the gradients of ``parameters`` to [-clip_value, clip_value].

    >>> import rushlight as torch
    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> p.grad = torch.tensor([3.0, -0.5])
    >>> torch.nn.utils.clip_grad_value_([p], 1.0)
    >>> p.grad
    tensor([ 1.0000, -0.5000])
    """
    clip_value = float(clip_value)
    with no_grad():
        for gradient in _gradients(_listed(parameters)):
            gradient.clamp_(min=-clip_value, max=clip_value)


def _listed(parameters):
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _gradients(parameters):
    return [parameter.grad for parameter in parameters if parameter.grad is not None]
