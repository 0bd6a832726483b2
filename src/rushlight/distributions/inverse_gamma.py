"""torch.distributions.inverse_gamma: reciprocals of gamma numbers."""

from __future__ import annotations

import math

from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """Reciprocals of Gamma(concentration, rate). Follows ``torch.distributions.InverseGamma``.

    >>> import rushlight as torch
    >>> torch.distributions.InverseGamma(torch.tensor([1.0, 3.0]), 2.0).mean
    tensor([inf, 1.])
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma
    _batched = ()

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def concentration(self) -> Tensor:
        """The shape of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """Its rate: the scale of this one."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        return functions.where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        found = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return functions.where(self.concentration > 2, found, math.inf)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape + self.rate.log() + shape.lgamma() - (1 + shape) * shape.digamma()
