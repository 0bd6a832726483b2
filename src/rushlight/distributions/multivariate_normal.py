"""torch.distributions.multivariate_normal: normal vectors, by covariance, precision or Cholesky factor."""

from __future__ import annotations

import math
from typing import Any

from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import EMPTY, _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(bmat, bvec):
    """Products of matrices and vectors in batches that broadcast."""
    return (bmat @ bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL, bx):
    """``x' (L L')^-1 x`` of vectors in batches that broadcast; dimensions that only ``bx`` has become columns of one system."""
    more = max(bx.dim() - 1 - (bL.dim() - 2), 0)
    columns = bx.reshape((-1, *bx.shape[more:])).movedim(0, -1)
    found = functions.linalg_solve_triangular(bL, columns, upper=False).pow(2).sum(-2).movedim(-1, 0)
    return found.reshape(bx.shape[:more] + found.shape[1:])


def _precision_to_scale_tril(P):
    """The lower Cholesky factor of the inverse: a factor of P itself, turned around, is that of the inverse's inverse."""
    turned = functions.linalg_cholesky(P.flip((-2, -1))).flip((-2, -1)).mT
    identity = functions.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return functions.linalg_solve_triangular(turned, identity, upper=False)


def the_matrix(refusal: type[Exception], **matrices: Any) -> tuple[str, Tensor]:
    """The name and the value of the one matrix that was given; ``refusal`` is raised unless it is one."""
    given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
    if len(given) != 1:
        raise refusal(
            hinted(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.",
                "scale_tril, the lower Cholesky factor of the covariance, needs the least work",
            )
        )
    return given[0]


def scale_tril_of(name: str, matrix: Tensor) -> Tensor:
    """The lower Cholesky factor of the covariance, from the matrix of that name."""
    if name == "scale_tril":
        return matrix
    return functions.linalg_cholesky(matrix) if name == "covariance_matrix" else _precision_to_scale_tril(matrix)


class MultivariateNormal(Distribution):
    """Normal vectors of mean ``loc`` and one of ``covariance_matrix``, ``precision_matrix`` (its inverse) or ``scale_tril``.

    ``scale_tril`` is the lower Cholesky factor of the covariance: what samples and densities are computed with. ValueError
    unless exactly one is given, for vectors without a dimension and matrices without two. Follows
    ``torch.distributions.MultivariateNormal``.

    >>> import rushlight as torch
    >>> normal = torch.distributions.MultivariateNormal(torch.zeros(2), torch.tensor([[4.0, 2.0], [2.0, 2.0]]))
    >>> normal.scale_tril, normal.log_prob(torch.zeros(2))
    (tensor([[2., 0.],
            [1., 1.]]), tensor(-2.5310))
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _batched = ("loc", "covariance_matrix", "scale_tril", "precision_matrix")
    _unbatched = ("_unbroadcasted_scale_tril",)

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError(
                hinted("loc must be at least one-dimensional.", "its last dimension is that of the vectors")
            )
        name, matrix = the_matrix(
            ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        if matrix.dim() < 2:
            subject = "scale_tril matrix" if name == "scale_tril" else name
            raise ValueError(
                hinted(
                    f"{subject} must be at least two-dimensional, with optional leading batch dimensions",
                    f"it has {matrix.dim()}",
                )
            )
        batch_shape = functions.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = scale_tril_of(name, matrix)

    def _matrices(self, matrix):
        """A matrix for each of the batch."""
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        return self._matrices(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self._matrices(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return self._matrices(functions.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype, self.loc.device)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        squares = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + squares) - self._half_log_det()

    def entropy(self) -> Tensor:
        found = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape)
