"""Divergences of two distributions of one family."""

from __future__ import annotations

import math

from ...autograd import grad
from ...base.errors import hinted
from ...nn.functional import softplus
from ...ops.table import functions
from ..bernoulli import Bernoulli
from ..beta import Beta
from ..binomial import Binomial
from ..categorical import Categorical
from ..cauchy import Cauchy
from ..continuous_bernoulli import ContinuousBernoulli
from ..dirichlet import Dirichlet
from ..exp_family import ExponentialFamily
from ..exponential import Exponential
from ..gamma import Gamma
from ..geometric import Geometric
from ..gumbel import Gumbel
from ..half_normal import HalfNormal
from ..independent import Independent
from ..laplace import Laplace
from ..normal import Normal
from ..one_hot_categorical import OneHotCategorical
from ..pareto import Pareto
from ..poisson import Poisson
from ..transformed_distribution import TransformedDistribution
from ..uniform import Uniform
from ..utils import _sum_rightmost, euler_constant
from .registry import kl_divergence, register_kl


def infinite_where(mask, divergence):
    """A divergence, and infinity where p has values that q cannot have."""
    return functions.where(mask, math.inf, divergence)


def _share(p, q, ratio):
    """``p * ratio``: infinity where q is 0, and 0 where p is."""
    return functions.where(p == 0, 0.0, infinite_where(q == 0, p * ratio))


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    success = softplus(-q.logits) - softplus(-p.logits)
    failure = softplus(q.logits) - softplus(p.logits)
    return _share(p.probs, q.probs, success) + _share(1 - p.probs, 1 - q.probs, failure)


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    of_p, of_q = (p.concentration1, p.concentration0), (q.concentration1, q.concentration0)
    total_p, total_q = sum(of_p), sum(of_q)
    found = total_p.lgamma() - total_q.lgamma() + (total_q - total_p) * total_p.digamma()
    for a, b in zip(of_p, of_q):
        found = found + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return found


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        line = "KL between Binomials where q.total_count > p.total_count is not implemented"
        raise NotImplementedError(hinted(line, "it is no sum of single trials; estimate it from samples"))
    trial = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return infinite_where(p.total_count > q.total_count, p.total_count * trial)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    return _share(p.probs, q.probs, p.logits - q.logits).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    normalizer_p = p._cont_bern_log_norm() + (-p.probs).log1p()
    normalizer_q = q._cont_bern_log_norm() + (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + normalizer_p - normalizer_q


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    total_p, total_q = p.concentration.sum(-1), q.concentration.sum(-1)
    normalizer = total_p.lgamma() - total_q.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    mean_log = p.concentration.digamma() - total_p.digamma().unsqueeze(-1)
    return normalizer + ((p.concentration - q.concentration) * mean_log).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log normalizer, for families without a formula of their own."""
    if type(p) is not type(q):
        line = (
            "The cross KL-divergence between different exponential families cannot                             "
            "be computed using Bregman divergences"
        )
        raise NotImplementedError(hinted(line, "register_kl adds a formula for two classes"))
    parameters = [parameter.detach().requires_grad_() for parameter in p._natural_params]
    normalizer = p._log_normalizer(*parameters)
    found = q._log_normalizer(*q._natural_params) - normalizer
    slopes = grad(normalizer.sum(), parameters, create_graph=True)
    for of_p, of_q, slope in zip(parameters, q._natural_params, slopes):
        found = found - _sum_rightmost((of_q - of_p) * slope, len(q.event_shape))
    return found


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    found = q.concentration * (p.rate / q.rate).log() + q.concentration.lgamma() - p.concentration.lgamma()
    found = found + (p.concentration - q.concentration) * p.concentration.digamma()
    return found + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio, distance = p.scale / q.scale, p.loc / q.scale - q.loc / q.scale
    tail = ((1 + ratio).lgamma() - distance).exp()
    return distance - ratio.log() + ratio * euler_constant + tail - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return distance / q.scale + ratio * (-distance / p.scale).exp() - ratio.log() - 1


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio, distance = (p.scale / q.scale).pow(2), ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return infinite_where(p.scale < q.scale, found)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    return infinite_where((q.low > p.low) | (q.high < p.high), ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    """The same transforms leave the divergence as it is."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)
