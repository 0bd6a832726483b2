"""torch.distributions.half_normal: distances of normal numbers from 0."""

from __future__ import annotations

import math

from ..tensor import Tensor
from .halves import Half
from .normal import Normal
from .transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """Absolute values of Normal(0, scale). Follows ``torch.distributions.HalfNormal``.

    >>> import rushlight as torch
    >>> torch.distributions.HalfNormal(torch.tensor([1.0, 2.0])).mean
    tensor([0.7979, 1.5958])
    """

    base_dist: Normal
    _batched = ()

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
