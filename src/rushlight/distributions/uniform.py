"""torch.distributions.uniform: the same density everywhere between two bounds."""

from __future__ import annotations

import math

from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import EMPTY, broadcast_all

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Uniform distributions from ``low`` to below ``high``. Follows ``torch.distributions.Uniform``.

    >>> import rushlight as torch
    >>> uniform = torch.distributions.Uniform(torch.tensor([0.0, 0.0]), torch.tensor([1.0, 4.0]))
    >>> uniform.log_prob(torch.tensor(0.5)).exp()
    tensor([1.0000, 0.2500])
    """

    has_rsample = True
    _batched = ("low", "high")

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def arg_constraints(self):
        """Each bound on its side of the other."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """The interval of the bounds, both included."""
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        share = functions.rand(self._extended_shape(sample_shape), dtype=self.low.dtype, device=self.low.device)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        inside = self.low.le(value) & self.high.gt(value)
        return inside.type_as(self.low).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
