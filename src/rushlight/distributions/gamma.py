"""torch.distributions.gamma: sums of waiting times."""

from __future__ import annotations

from ..base.dtypes import finfo
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.creation import as_tensor
from . import constraints
from .exp_family import ExponentialFamily
from .utils import EMPTY, broadcast_all

__all__ = ["Gamma"]


def _standard_gamma(concentration):
    return functions._standard_gamma(concentration)


class Gamma(ExponentialFamily):
    """Gamma distributions of shape ``concentration`` and ``rate``, the inverse of the scale. Follows ``torch.distributions.Gamma``.

    Samples are differentiable in both parameters: the gradient by ``concentration`` is that of the distribution function.

    >>> import rushlight as torch
    >>> gamma = torch.distributions.Gamma(torch.tensor([1.0, 3.0]), 2.0)
    >>> gamma.mean, gamma.variance
    (tensor([0.5000, 1.5000]), tensor([0.2500, 0.7500]))
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _batched: tuple[str, ...] = ("concentration", "rate")

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # 0 is outside of the support; gradients stay as they are
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        self._check_value(value)
        powers = self.concentration.xlogy(self.rate) + (self.concentration - 1).xlogy(value)
        return powers - self.rate * value - self.concentration.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return functions.igamma(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1 - shape) * shape.digamma()

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()
