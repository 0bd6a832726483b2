"""Divergences between distributions of two kinds: mostly ``E_p[-log q]`` from moments of p, less the entropy of p."""

from __future__ import annotations

import math

from ..ops.table import functions
from .bernoulli import Bernoulli
from .beta import Beta
from .exponential import Exponential
from .gamma import Gamma
from .kl_registry import register_kl
from .laplace import Laplace
from .normal import Normal
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant


def _infinite(tensor):
    return functions.full_like(tensor, math.inf)


def _normal_cross_entropy(mean, variance, q):
    """``E_p[-log q]`` of a normal q: two moments of p are enough."""
    return 0.5 * (2 * math.pi * q.scale.pow(2)).log() + 0.5 * (variance + (mean - q.loc).pow(2)) / q.scale.pow(2)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    log_mean = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    likely = q.concentration * q.rate.log() - q.concentration.lgamma() + (q.concentration - 1) * log_mean
    return -p.entropy() - likely + q.rate * p.mean


@register_kl(Beta, Normal)
def _kl_beta_normal(p, q):
    return -p.entropy() + _normal_cross_entropy(p.mean, p.variance, q)


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    result[(q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)] = math.inf
    return result


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    """``E[ln x] = -gamma - ln rate`` for an exponential x, with Euler's gamma."""
    ratio = q.rate / p.rate
    shape = q.concentration
    return -shape * ratio.log() + ratio + shape.lgamma() + shape * euler_constant - (1 + euler_constant)


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p, q):
    return -p.entropy() + _normal_cross_entropy(p.mean, p.variance, q)


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p, q):
    return -p.entropy() + _normal_cross_entropy(p.mean, p.variance, q)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p, q):
    return -p.entropy() + _normal_cross_entropy(p.mean, p.variance, q)


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    """The mean of ``|x - loc_q|`` for a normal x: a folded normal distribution's."""
    away = p.loc - q.loc
    standard = away / p.scale
    folded = math.sqrt(2 / math.pi) * p.scale * functions.exp(-0.5 * standard.pow(2)) + away * functions.erf(
        math.sqrt(0.5) * standard
    )
    return -functions.log(p.scale) + folded / q.scale + functions.log(2 * q.scale) - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p, q):
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    result[p.low < q.support.lower_bound] = math.inf
    return result


def _mean_log_uniform(p):
    """``E[ln x]`` for a uniform x above 0."""
    xlogx = p.high.xlogy(p.high) - p.low.xlogy(p.low)
    return xlogx / (p.high - p.low) - 1


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    shape = q.concentration
    likely = shape * q.rate.log() - shape.lgamma() + (shape - 1) * _mean_log_uniform(p) - q.rate * (p.high + p.low) / 2
    result = -p.entropy() - likely
    result[p.low < q.support.lower_bound] = math.inf
    return result


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    """``E[ln x]`` and ``E[ln (1 - x)]``, the second by reflection."""
    width = p.high - p.low
    upper = (1 - p.high).xlogy(1 - p.high) - (1 - p.low).xlogy(1 - p.low)
    a, b = q.concentration1, q.concentration0
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    likely = (a - 1) * _mean_log_uniform(p) + (b - 1) * (-upper / width - 1) - normalizer
    result = -p.entropy() - likely
    result[(p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)] = math.inf
    return result


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    return -p.entropy() + _normal_cross_entropy(p.mean, p.variance, q)


@register_kl(Poisson, Bernoulli)
def _kl_poisson_infinity(p, q):
    """Counts have no bound, the other's values have."""
    return _infinite(p.rate)


@register_kl(Exponential, Beta)
@register_kl(Exponential, Uniform)
def _kl_exponential_infinity(p, q):
    """An exponential goes on where the other ends."""
    return _infinite(p.rate)


@register_kl(Gamma, Beta)
@register_kl(Gamma, Uniform)
def _kl_gamma_infinity(p, q):
    """A gamma goes on where the other ends."""
    return _infinite(p.concentration)


@register_kl(Laplace, Beta)
@register_kl(Laplace, Exponential)
@register_kl(Laplace, Gamma)
@register_kl(Laplace, Uniform)
def _kl_laplace_infinity(p, q):
    """A Laplace goes on where the other ends."""
    return _infinite(p.loc)


@register_kl(Normal, Beta)
@register_kl(Normal, Exponential)
@register_kl(Normal, Gamma)
@register_kl(Normal, Uniform)
def _kl_normal_infinity(p, q):
    """A normal goes on where the other ends."""
    return _infinite(p.loc)
