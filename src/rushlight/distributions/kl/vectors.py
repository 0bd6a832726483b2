"""Divergences of multivariate normal distributions, of full and of low rank."""

from __future__ import annotations

from ...base.errors import hinted
from ...ops.table import functions
from ..lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    _batch_lowrank_logdet,
    _batch_lowrank_mahalanobis,
    _weighted,
)
from ..multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .registry import register_kl


def _squares(matrix):
    """The sum of a matrix's squared elements: the trace of ``X X'``."""
    return matrix.pow(2).sum((-2, -1))


def _solved(factor, matrix):
    return functions.linalg_solve_triangular(factor, matrix, upper=False)


def _log_det(d):
    if isinstance(d, LowRankMultivariateNormal):
        return _batch_lowrank_logdet(*d._covariance(), d._capacitance_tril)
    return 2 * d._half_log_det()


def _distance(p, q):
    """The squared distance of the means, in units of q's covariance."""
    apart = q.loc - p.loc
    if isinstance(q, LowRankMultivariateNormal):
        return _batch_lowrank_mahalanobis(*q._covariance(), apart, q._capacitance_tril)
    return _batch_mahalanobis(q._unbroadcasted_scale_tril, apart)


def _trace(p, q):
    """The trace of q's precision by p's covariance; a covariance is a sum of ``X X'`` of the parts given."""
    if isinstance(p, LowRankMultivariateNormal):
        factor, diagonal = p._covariance()
        if not isinstance(q, LowRankMultivariateNormal):
            parts = (factor, diagonal.sqrt().diag_embed())
            return sum(_squares(_solved(q._unbroadcasted_scale_tril, part)) for part in parts)
        noise = (diagonal / q._unbroadcasted_cov_diag).sum(-1)
        spread = _explained(q)
        return noise + _lowrank_trace(q, factor, spread) - _squares(spread * diagonal.sqrt().unsqueeze(-2))
    if isinstance(q, LowRankMultivariateNormal):
        return _lowrank_trace(q, p._unbroadcasted_scale_tril, _explained(q))
    return _squares(_solved(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril))


def _explained(q):
    """A of the precision ``D^-1 - A' A``, by the Woodbury matrix identity."""
    return _solved(q._capacitance_tril, _weighted(*q._covariance()))


def _lowrank_trace(q, factor, explained):
    """The trace of q's precision by ``factor factor'``."""
    scaled = factor * q._unbroadcasted_cov_diag.rsqrt().unsqueeze(-1)
    return _squares(scaled) - _squares(explained @ factor)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormals(p, q):
    if p.event_shape != q.event_shape:
        low = [isinstance(d, LowRankMultivariateNormal) for d in (p, q)]
        kind = "Low Rank " if all(low) else "(Low Rank) " if any(low) else ""
        line = (
            f"KL-divergence between two {kind}Multivariate Normals with                          "
            "different event shapes cannot be computed"
        )
        raise ValueError(hinted(line, f"they are {p.event_shape} and {q.event_shape}"))
    return 0.5 * (_log_det(q) - _log_det(p) + _trace(p, q) + _distance(p, q) - p.event_shape[0])
