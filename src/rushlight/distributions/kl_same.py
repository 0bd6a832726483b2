"""Divergences between two distributions of one kind."""

from __future__ import annotations

import math

from ..autograd.gradients import grad
from ..base.errors import hinted
from ..ops.table import functions
from .bernoulli import Bernoulli
from .beta import Beta
from .categorical import Categorical
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .independent import Independent
from .kl_registry import kl_divergence, register_kl
from .laplace import Laplace
from .multivariate_normal import MultivariateNormal, squared_distance
from .normal import Normal
from .poisson import Poisson
from .uniform import Uniform
from .utils import sum_rightmost


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    """``p log(p / q) + (1 - p) log((1 - p) / (1 - q))``; what cannot happen under p counts 0, under q alone infinity."""
    ones = p.probs * (functions.softplus(-q.logits) - functions.softplus(-p.logits))
    ones[q.probs == 0] = math.inf
    ones[p.probs == 0] = 0
    zeros = (1 - p.probs) * (functions.softplus(q.logits) - functions.softplus(p.logits))
    zeros[q.probs == 1] = math.inf
    zeros[p.probs == 1] = 0
    return ones + zeros


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    """``ln(B(q) / B(p)) + (a_p - a_q) psi(a_p) + (b_p - b_q) psi(b_p) + (a_q + b_q - a_p - b_p) psi(a_p + b_p)``."""
    sum_p = p.concentration1 + p.concentration0
    sum_q = q.concentration1 + q.concentration0
    beta_q = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    beta_p = p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma()
    first = (p.concentration1 - q.concentration1) * functions.digamma(p.concentration1)
    second = (p.concentration0 - q.concentration0) * functions.digamma(p.concentration0)
    return beta_q - beta_p + first + second + (sum_q - sum_p) * functions.digamma(sum_p)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    """``sum(p log(p / q))``, with 0 where p is 0 and infinity where q alone is."""
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = math.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    """Penny, "KL-Divergences of Normal, Gamma, Dirichlet and Wishart densities" (2001)."""
    total = p.concentration.sum(-1)
    normalizers = total.lgamma() - q.concentration.sum(-1).lgamma()
    shares = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    slopes = p.concentration.digamma() - total.digamma().unsqueeze(-1)
    return normalizers - shares + ((p.concentration - q.concentration) * slopes).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log-normaliser: ``F(q) - F(p) - <q - p, grad F(p)>``."""
    if type(p) is not type(q):
        raise NotImplementedError(
            hinted(
                "The cross KL-divergence between different exponential families cannot"
                "                             be computed using Bregman divergences",
                f"register_kl({type(p).__name__}, {type(q).__name__}) adds this pair",
            )
        )
    natural_p = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    natural_q = q._natural_params
    normalizer = p._log_normalizer(*natural_p)
    slopes = grad(normalizer.sum(), natural_p, create_graph=True)
    result = q._log_normalizer(*natural_q) - normalizer
    for of_p, of_q, slope in zip(natural_p, natural_q, slopes):
        term = (of_q - of_p) * slope
        result -= sum_rightmost(term, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    return (
        q.concentration * (p.rate / q.rate).log()
        + functions.lgamma(q.concentration)
        - functions.lgamma(p.concentration)
        + (p.concentration - q.concentration) * functions.digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    """``log(s_q / s_p) + d / s_q + s_p / s_q exp(-d / s_p) - 1`` with ``d`` the distance of the centres."""
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * functions.exp(-distance / p.scale) - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    """``(tr(S_q^-1 S_p) + |L_q^-1 (m_q - m_p)|^2 - n + ln det S_q - ln det S_p) / 2``."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            hinted(
                "KL-divergence between two Multivariate Normals with                          different event shapes cannot be computed",
                f"{tuple(p.event_shape)} and {tuple(q.event_shape)} meet",
            )
        )
    factor_p, factor_q = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    half_log_dets = factor_q.diagonal(dim1=-2, dim2=-1).log().sum(-1) - factor_p.diagonal(dim1=-2, dim2=-1).log().sum(
        -1
    )
    size = p.event_shape[0]
    batch = functions.broadcast_shapes(factor_q.shape[:-2], factor_p.shape[:-2])
    whitened = functions.linalg_solve_triangular(
        factor_q.expand((*batch, size, size)), factor_p.expand((*batch, size, size)), upper=False
    )
    trace = whitened.pow(2).sum((-2, -1))
    return half_log_dets + 0.5 * (trace + squared_distance(factor_q, q.loc - p.loc) - size)


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    """``((s_p / s_q)^2 + ((m_p - m_q) / s_q)^2 - 1 - log (s_p / s_q)^2) / 2``."""
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = math.inf
    return result


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
