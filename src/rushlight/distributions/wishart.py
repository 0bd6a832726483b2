"""torch.distributions.wishart: covariances of samples of normal vectors."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..base.dtypes import finfo
from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.creation import tensor
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import scale_tril_of, the_matrix
from .utils import EMPTY, NUMBERS, lazy_property

__all__ = ["Wishart"]

_LOG_2 = math.log(2)


def _mvdigamma(x, p):
    """The derivative of the multivariate log-gamma function of dimension ``p``."""
    if not (x > (p - 1) / 2).all():
        raise AssertionError("Wrong domain for multivariate digamma function.")
    halves = functions.arange(p, dtype=x.dtype, device=x.device) / 2
    return (x.unsqueeze(-1) - halves).digamma().sum(-1)


class Wishart(ExponentialFamily):
    """Positive definite matrices: sums of ``df`` products x x' of normal vectors of the covariance given.

    One of ``covariance_matrix``, ``precision_matrix`` or ``scale_tril`` is to be given, as to `MultivariateNormal`
    (AssertionError otherwise); ``df`` above the matrices' size less 1 (ValueError otherwise). Follows
    ``torch.distributions.Wishart``.

    >>> import rushlight as torch
    >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("_unbroadcasted_scale_tril", "df", "covariance_matrix", "scale_tril", "precision_matrix", "_dist_chi2")

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = the_matrix(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            line = "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            raise ValueError(hinted(line, f"{name} has {matrix.dim()}"))
        self.df: Any = tensor(df, dtype=matrix.dtype, device=matrix.device) if isinstance(df, NUMBERS) else df
        batch_shape = functions.broadcast_shapes(matrix.shape[:-2], self.df.shape)
        self.df = self.df.expand(batch_shape)
        size = matrix.shape[-1]
        if (self.df <= size - 1).any():
            line = f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}."
            raise ValueError(hinted(line, "with fewer degrees of freedom all matrices are singular"))
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        if (self.df < size).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix).expand((*batch_shape, -1, -1))
        rows = functions.arange(size, dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - rows)

    @property
    def arg_constraints(self):
        """Those of the matrices, and ``df`` above their size less 1."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def _matrices(self, matrix):
        """A matrix for each of the batch."""
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance of the normal vectors."""
        return self._matrices(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """Its inverse."""
        factor = self._unbroadcasted_scale_tril
        identity = functions.eye(self._event_shape[-1], dtype=factor.dtype, device=factor.device)
        return self._matrices(functions.cholesky_solve(identity, factor))

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return factor.masked_fill(factor <= 0, math.nan)[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (covariance.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape=EMPTY):
        """L A A' L' of a lower matrix A with square roots of chi-squared numbers on its diagonal and normal ones below."""
        size = self._event_shape[-1]
        squares = self._dist_chi2.rsample(sample_shape)
        noise = squares.sqrt().clamp(min=finfo(squares.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = functions.tril_indices(size, size, offset=-1)
        below = (*sample_shape, *self._batch_shape, size * (size - 1) // 2)
        noise[..., rows, columns] = functions.randn(below, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def _any_of_batch(self, checks):
        """For each sample whether any matrix of its batch is marked."""
        return checks.flatten(-len(self._batch_shape)).any(-1) if self._batch_shape else checks

    def rsample(self, sample_shape: Size | list | tuple = EMPTY, max_try_correction: int | None = None) -> Tensor:
        sample_shape = Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        # PyTorch's first look is the other way around: matrices that are positive definite are drawn again, once, with a
        # warning. Its numbers for a seed are those of the second draw.
        again = self._any_of_batch(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                drawn = self._bartlett_sampling(again[again].shape)
                sample[again] = drawn
                again = again.masked_scatter(again, self._any_of_batch(~self.support.check(drawn)))
                if not again.any():
                    break
        return sample

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        df, size = self.df, self._event_shape[-1]
        normalizer = df * (size * _LOG_2 / 2 + self._half_log_det()) + functions.mvlgamma(df / 2, p=size)
        power = (df - size - 1) / 2 * functions.linalg_slogdet(value).logabsdet
        trace = functions.cholesky_solve(value, self._unbroadcasted_scale_tril).diagonal(dim1=-2, dim2=-1).sum(-1)
        return power - normalizer - trace / 2

    def entropy(self) -> Tensor:
        df, size = self.df, self._event_shape[-1]
        scale = (size + 1) * (size * _LOG_2 / 2 + self._half_log_det())
        slope = (df - size - 1) / 2 * _mvdigamma(df / 2, p=size)
        return scale + functions.mvlgamma(df / 2, p=size) - slope + df * size / 2

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        return half * (size * _LOG_2 - functions.linalg_slogdet(-2 * x).logabsdet) + functions.mvlgamma(half, p=size)
