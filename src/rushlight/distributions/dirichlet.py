"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Density proportional to ``prod(x_i ** (concentration_i - 1))`` over vectors of shares that add up to 1."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError(
                hinted(
                    "`concentration` parameter must be at least one-dimensional.", "the last dimension holds the shares"
                )
            )
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Dirichlet, batch_shape, _instance, concentration=1)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return functions._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return (
            functions.xlogy(self.concentration - 1.0, value).sum(-1)
            + functions.lgamma(self.concentration.sum(-1))
            - functions.lgamma(self.concentration).sum(-1)
        )

    @property
    def mean(self) -> Any:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Any:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corners = (self.concentration < 1).all(dim=-1)
        mode[corners] = functions.one_hot(mode[corners].argmax(dim=-1), above.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Any:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Any:
        count = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            functions.lgamma(self.concentration).sum(-1)
            - functions.lgamma(total)
            - (count - total) * functions.digamma(total)
            - ((self.concentration - 1.0) * functions.digamma(self.concentration)).sum(-1)
        )

    @property
    def _natural_params(self) -> Any:
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - functions.lgamma(x.sum(-1))
