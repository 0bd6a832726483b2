"""torch.distributions.lowrank_multivariate_normal: normal vectors of few factors, and noise in each element."""

from __future__ import annotations

import math

from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv
from .utils import EMPTY, _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _cholesky_of_identity_and(matrix):
    """The lower Cholesky factor of I + matrix."""
    identity = functions.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return functions.linalg_cholesky(matrix + identity)


def _weighted(W, D):
    """``W' D^-1``."""
    return W.mT / D.unsqueeze(-2)


def _batch_capacitance_tril(W, D):
    """The Cholesky factor of the capacitance matrix, ``I + W' D^-1 W``: as many rows as there are factors."""
    return _cholesky_of_identity_and(_weighted(W, D) @ W)


def _batch_lowrank_logdet(W, D, capacitance_tril):
    """``log |W W' + D|``, by the matrix determinant lemma."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + D.log().sum(-1)


def _batch_lowrank_mahalanobis(W, D, x, capacitance_tril):
    """``x' (W W' + D)^-1 x``, by the Woodbury matrix identity."""
    factors = _batch_mv(_weighted(W, D), x)
    return (x.pow(2) / D).sum(-1) - _batch_mahalanobis(capacitance_tril, factors)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of mean ``loc`` and covariance ``cov_factor @ cov_factor.mT + diag(cov_diag)``.

    With few columns in ``cov_factor`` no matrix of the vectors' size is factored. ValueError for shapes that do not go
    together. Follows ``torch.distributions.LowRankMultivariateNormal``.

    >>> import rushlight as torch
    >>> normal = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2))
    >>> normal.covariance_matrix, normal.variance
    (tensor([[2., 0.],
            [0., 1.]]), tensor([2., 1.]))
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _batched = ("loc", "cov_factor", "cov_diag")
    _unbatched = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        event_shape = _event_shape(loc, cov_factor, cov_diag)
        try:
            columns = functions.broadcast_tensors(loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1))
        except RuntimeError as error:
            line = (
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            )
            raise ValueError(hinted(line, "what is left of the vectors' dimension has to broadcast")) from error
        self.loc, self.cov_factor, self.cov_diag = columns[0][..., 0], columns[1], columns[2][..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _batch_capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def _matrices(self, matrix):
        """A matrix for each of the batch."""
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance."""
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance."""
        # Of D^1/2 (I + V V') D^1/2 with V = D^-1/2 W: the middle is far from singular.
        deviation = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / deviation
        return self._matrices(deviation * _cholesky_of_identity_and(scaled @ scaled.mT))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._matrices(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        weighted = _weighted(self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag)
        solved = functions.linalg_solve_triangular(self._capacitance_tril, weighted, upper=False)
        return self._matrices(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - solved.mT @ solved)

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        factors = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype, self.loc.device)
        noise = _standard_normal(shape, self.loc.dtype, self.loc.device)
        common = _batch_mv(self._unbroadcasted_cov_factor, factors)
        return self.loc + common + self._unbroadcasted_cov_diag.sqrt() * noise

    def _covariance(self) -> tuple[Tensor, Tensor]:
        return self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        squares = _batch_lowrank_mahalanobis(*self._covariance(), value - self.loc, self._capacitance_tril)
        log_det = _batch_lowrank_logdet(*self._covariance(), self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + squares)

    def entropy(self) -> Tensor:
        log_det = _batch_lowrank_logdet(*self._covariance(), self._capacitance_tril)
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return found.expand(self._batch_shape)


def _event_shape(loc, cov_factor, cov_diag):
    """The shape of one vector, which the three parameters have to agree on."""
    if loc.dim() < 1:
        raise ValueError(hinted("loc must be at least one-dimensional.", "its last dimension is that of the vectors"))
    if cov_factor.dim() < 2:
        line = "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
        raise ValueError(hinted(line, f"it has {cov_factor.dim()}"))
    event_shape = loc.shape[-1:]
    if cov_factor.shape[-2:-1] != event_shape:
        line = f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
        raise ValueError(hinted(line, f"its shape is {cov_factor.shape}; loc has {event_shape[0]} elements"))
    if cov_diag.shape[-1:] != event_shape:
        line = f"cov_diag must be a batch of vectors with shape {event_shape}"
        raise ValueError(hinted(line, f"its shape is {cov_diag.shape}; loc has {event_shape[0]} elements"))
    return event_shape
