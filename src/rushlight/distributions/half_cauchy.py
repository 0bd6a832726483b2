"""torch.distributions.half_cauchy: distances of Cauchy numbers from 0."""

from __future__ import annotations

import math

from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.creation import as_tensor
from .cauchy import Cauchy
from .halves import Half
from .transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """Absolute values of Cauchy(0, scale). Follows ``torch.distributions.HalfCauchy``.

    >>> import rushlight as torch
    >>> torch.distributions.HalfCauchy(torch.tensor(1.0)).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    base_dist: Cauchy
    _batched = ()

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return functions.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return super().log_prob(as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
