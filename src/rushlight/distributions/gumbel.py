"""torch.distributions.gumbel: the largest of many numbers."""

from __future__ import annotations

import math

from ..base.dtypes import finfo
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Gumbel distributions of mode ``loc`` and width ``scale``: ``loc - scale * log(-log(u))`` of uniform numbers ``u``.

    Follows ``torch.distributions.Gumbel``.

    >>> import rushlight as torch
    >>> torch.distributions.Gumbel(torch.tensor([0.0, 1.0]), 2.0).mean
    tensor([1.1544, 2.1544])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _batched = ("loc", "scale")

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low = functions.full_like(self.loc, limits.tiny)
        high = functions.full_like(self.loc, 1 - limits.eps)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-functions.ones_like(self.scale)),
            ExpTransform().inv,
            AffineTransform(loc=loc, scale=-self.scale),
        ]
        super().__init__(Uniform(low, high, validate_args=validate_args), transforms, validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
