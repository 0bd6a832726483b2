"""What HalfCauchy and HalfNormal share: distances from 0 of numbers that are as often below it as above."""

from __future__ import annotations

import math

from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution


class Half(TransformedDistribution):
    """Absolute values of ``base_dist``."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    @property
    def scale(self) -> Tensor:
        """The scale of the distribution on both sides of 0."""
        return self.base_dist.scale

    @property
    def mode(self) -> Tensor:
        return functions.zeros_like(self.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return functions.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
