"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import Any

from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]


def times_vector(matrix: Any, vector: Any) -> Any:
    """Matrices times vectors, both in batches."""
    return functions.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def squared_distance(scale_tril: Any, difference: Any) -> Any:
    """Mahalanobis's: ``|L^-1 x|^2`` for each vector ``x``; batches broadcast."""
    if scale_tril.dim() == 2:  # one matrix: all vectors at once
        columns = difference.reshape(-1, difference.shape[-1]).mT
        whitened = functions.linalg_solve_triangular(scale_tril, columns, upper=False)
        return whitened.pow(2).sum(0).reshape(difference.shape[:-1])
    whitened = functions.linalg_solve_triangular(scale_tril, difference.unsqueeze(-1), upper=False)
    return whitened.squeeze(-1).pow(2).sum(-1)


def precision_to_scale_tril(precision: Any) -> Any:
    """The lower Cholesky factor of the inverse of ``precision``.

    With ``P`` turned by half a turn and its factor turned back, ``P = U U^T`` with an upper ``U``: the factor is ``U^-T``.
    """
    turned = functions.linalg_cholesky(functions.flip(precision, (-2, -1)))
    factor = functions.flip(turned, (-2, -1)).mT
    eye = functions.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return functions.linalg_solve_triangular(factor, eye, upper=False)


def one_matrix(covariance_matrix: Any, scale_tril: Any, precision_matrix: Any) -> tuple[str, Any]:
    """Which of the three ways to say the spread is taken, and the matrix; refuses none and several."""
    forms = {"covariance_matrix": covariance_matrix, "scale_tril": scale_tril, "precision_matrix": precision_matrix}
    given = {name: matrix for name, matrix in forms.items() if matrix is not None}
    if len(given) != 1:
        raise ValueError(
            hinted(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.",
                f"got {', '.join(given) or 'none'}",
            )
        )
    return next(iter(given.items()))


class MultivariateNormal(Distribution):
    """Vectors ``loc + scale_tril @ z`` with ``z`` standard normal; the spread is said in one of three ways."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError(hinted("loc must be at least one-dimensional.", "its last dimension is the vector"))
        name, matrix = one_matrix(covariance_matrix, scale_tril, precision_matrix)
        if matrix.dim() < 2:
            called = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                hinted(
                    f"{called} must be at least two-dimensional, with optional leading batch dimensions",
                    f"it has shape {tuple(matrix.shape)}",
                )
            )
        batch_shape = functions.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        self.loc = loc.expand(batch_shape + (-1,))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = functions.linalg_cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(
            MultivariateNormal, batch_shape, _instance, loc=1, covariance_matrix=2, scale_tril=2, precision_matrix=2
        )
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        return new

    def _full(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The lower Cholesky factor of the covariances."""
        return self._full(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariances."""
        return self._full(functions.matmul(self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The inverse of the covariances."""
        return self._full(functions.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Any:
        return self.loc

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        normal = standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + times_vector(self._unbroadcasted_scale_tril, normal)

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        distance = squared_distance(factor, value - self.loc)
        half_log_det = factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det

    def entropy(self) -> Any:
        half_log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        entropy = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det
        return entropy if len(self._batch_shape) == 0 else entropy.expand(self._batch_shape)
