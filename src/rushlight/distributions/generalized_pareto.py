"""torch.distributions.generalized_pareto: what is left above a threshold."""

from __future__ import annotations

import math

from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import EMPTY, broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Generalised Pareto distributions from ``loc`` on, of width ``scale`` and shape ``concentration``.

    A concentration of 0 makes exponential distributions; below 0 there is an upper bound. Follows
    ``torch.distributions.GeneralizedPareto``.

    >>> import rushlight as torch
    >>> pareto = torch.distributions.GeneralizedPareto(0.0, 1.0, torch.tensor([-1.0, 0.0, 0.5]))
    >>> pareto.cdf(torch.tensor(0.5)), pareto.mean
    (tensor([0.5000, 0.3935, 0.3600]), tensor([0.5000, 1.0000, 2.0000]))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True
    _batched = ("loc", "scale", "concentration")

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """From ``loc`` on, below the upper bound that a negative concentration makes."""
        bound = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, functions.where(self.concentration < 0, bound, math.inf))

    def _shape(self):
        """Where the concentration is 0, and the concentration with 1 in these places."""
        zero = functions.isclose(self.concentration, functions.zeros_like(self.concentration))
        return zero, functions.where(zero, 1.0, self.concentration)

    def _z(self, x):
        return (x - self.loc) / self.scale

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        shape = functions.where(valid, self.concentration, 0.5)
        return functions.where(valid, self.loc + self.scale / (1 - shape), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        shape = functions.where(valid, self.concentration, 0.25)
        return functions.where(valid, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(functions.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        z = self._z(value)
        zero, shape = self._shape()
        power = 1 / shape + 1
        shaped = functions.where(power == 0, power, power * (shape * z).log1p())
        return -self.scale.log() - functions.where(zero, z, shaped)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of values above ``value``."""
        self._check_value(value)
        z = self._z(value)
        zero, shape = self._shape()
        return functions.where(zero, -z, -(shape * z).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        zero, shape = self._shape()
        survival = (-value).log1p()
        shaped = self.loc + self.scale / shape * (-shape * survival).expm1()
        return functions.where(zero, self.loc - self.scale * survival, shaped)

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).broadcast_to(self._batch_shape)
