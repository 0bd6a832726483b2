"""torch.distributions.laplace: exponential on both sides."""

from __future__ import annotations

from ..base.dtypes import finfo
from ..base.size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import EMPTY, broadcast_all

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Laplace distributions of mean ``loc`` and mean distance ``scale`` from it. Follows ``torch.distributions.Laplace``.

    >>> import rushlight as torch
    >>> torch.distributions.Laplace(torch.tensor([0.0, 1.0]), 1.0).log_prob(torch.tensor(1.0))
    tensor([-1.6931, -0.6931])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = ("loc", "scale")

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        side = self.loc.new(self._extended_shape(sample_shape)).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * side.sign() * (-side.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        side = value - 0.5
        return self.loc - self.scale * side.sign() * (-2 * side.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
