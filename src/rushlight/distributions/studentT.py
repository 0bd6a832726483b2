"""torch.distributions.studentT: normal numbers by estimates of their deviation."""

from __future__ import annotations

import math

from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import EMPTY, _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t-distributions of ``df`` degrees of freedom, moved to ``loc`` and stretched by ``scale``.

    Follows ``torch.distributions.StudentT``.

    >>> import rushlight as torch
    >>> student = torch.distributions.StudentT(torch.tensor([1.0, 2.0, 4.0]))
    >>> student.mean, student.variance
    (tensor([nan, 0., 0.]), tensor([nan, inf, 2.]))
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = ("df", "loc", "scale", "_chi2")

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = functions.where(finite, self.df, 3.0)  # where the formula holds, also for its gradient
        found = functions.where(finite, self.scale.pow(2) * df / (df - 2), math.inf)
        return found.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        normal = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * (squares / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        half, above = 0.5 * self.df, 0.5 * (self.df + 1)
        y = (value - self.loc) / self.scale
        normalizer = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + half.lgamma() - above.lgamma()
        return -above * (y**2 / self.df).log1p() - normalizer

    def entropy(self) -> Tensor:
        half, above = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = half.lgamma() + math.lgamma(0.5) - above.lgamma()
        return self.scale.log() + above * (above.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta
