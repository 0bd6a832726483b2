"""torch.distributions.dirichlet: random probability vectors."""

from __future__ import annotations

from ..autograd.function import Function, once_differentiable
from ..base.errors import hinted
from ..base.size import Size
from ..nn.functional import one_hot
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x, concentration, grad_output):
    """The gradient by the concentrations of what depends on the shares ``x``."""
    total = concentration.sum(-1, True).expand_as(concentration)
    slopes = functions._dirichlet_grad(x, concentration, total)
    return slopes * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    """Samples whose gradient follows from the distribution functions of the single shares."""

    @staticmethod
    def forward(ctx, concentration):
        shares = functions._sample_dirichlet(concentration)
        ctx.save_for_backward(shares, concentration)
        return shares

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return _Dirichlet_backward(*ctx.saved_tensors, grad_output)


class Dirichlet(ExponentialFamily):
    """Dirichlet distributions over probability vectors; the last dimension of ``concentration`` is the event's.

    A concentration without dimensions raises ValueError. Samples are differentiable. Follows ``torch.distributions.Dirichlet``.

    >>> import rushlight as torch
    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 2.0, 5.0])).mean
    tensor([0.1250, 0.2500, 0.6250])
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True
    _batched = ("concentration",)

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError(
                hinted(
                    "`concentration` parameter must be at least one-dimensional.", "the last dimension is the event's"
                )
            )
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Size | list | tuple = ()) -> Tensor:
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        powers = (self.concentration - 1.0).xlogy(value).sum(-1)
        return powers + self.concentration.sum(-1).lgamma() - self.concentration.lgamma().sum(-1)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        # Where all concentrations are below 1, corners are most likely; one is named.
        corners = (self.concentration < 1).all(-1, keepdim=True)
        return functions.where(corners, one_hot(mode.argmax(-1), mode.shape[-1]).to(mode), mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        size, total = self.concentration.size(-1), self.concentration.sum(-1)
        normalizer = self.concentration.lgamma().sum(-1) - total.lgamma()
        weighted = ((self.concentration - 1.0) * self.concentration.digamma()).sum(-1)
        return normalizer - (size - total) * total.digamma() - weighted

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
