"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import finfo
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Density ``rate^a x^(a - 1) exp(-rate x) / Gamma(a)`` with ``a`` the concentration."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Gamma, batch_shape, _instance, concentration=0, rate=0)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        shape = self._extended_shape(sample_shape)
        value = functions._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # the logarithm of a sample stays finite
        return value

    def log_prob(self, value: Any) -> Any:
        value = functions.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            functions.xlogy(self.concentration, self.rate)
            + functions.xlogy(self.concentration - 1, value)
            - self.rate * value
            - functions.lgamma(self.concentration)
        )

    def entropy(self) -> Any:
        return (
            self.concentration
            - functions.log(self.rate)
            + functions.lgamma(self.concentration)
            + (1.0 - self.concentration) * functions.digamma(self.concentration)
        )

    @property
    def _natural_params(self) -> Any:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return functions.lgamma(x + 1) + (x + 1) * functions.log(-y.reciprocal())

    def cdf(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        return functions.igamma(self.concentration, self.rate * value)
