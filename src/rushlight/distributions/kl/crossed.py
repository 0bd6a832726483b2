"""Divergences of two distributions of different families: minus p's entropy, less the mean of log q(x) under p."""

from __future__ import annotations

import math

from ...ops.table import functions
from ..bernoulli import Bernoulli
from ..beta import Beta
from ..binomial import Binomial
from ..continuous_bernoulli import ContinuousBernoulli
from ..exponential import Exponential
from ..gamma import Gamma
from ..gumbel import Gumbel
from ..laplace import Laplace
from ..normal import Normal
from ..pareto import Pareto
from ..poisson import Poisson
from ..uniform import Uniform
from ..utils import euler_constant
from .families import infinite_where
from .registry import register_kl

_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
_OF_REALS = (*_BOUNDED, Exponential, Gamma)

# Where p has values that q cannot have, whatever the parameters are: p -> (a parameter of p, the classes of q).
_INFINITE = {
    Beta: ("concentration1", (Pareto,)),
    ContinuousBernoulli: ("probs", (Pareto,)),
    Exponential: ("rate", _BOUNDED),
    Gamma: ("concentration", _BOUNDED),
    Gumbel: ("loc", _OF_REALS),
    Laplace: ("loc", _OF_REALS),
    Normal: ("loc", _OF_REALS),
    Pareto: ("scale", (Beta, ContinuousBernoulli, Uniform)),
    Poisson: ("rate", (Bernoulli, Binomial)),
}


def _infinity(parameter):
    return lambda p, q: functions.full_like(getattr(p, parameter), math.inf)


for _kind, (_parameter, _others) in _INFINITE.items():
    for _other in _others:
        register_kl(_kind, _other)(_infinity(_parameter))


def _normal_surprise(q, mean, variance):
    """Minus the mean of q's log density under a distribution of this mean and variance."""
    square = q.scale.pow(2)
    return 0.5 * (2 * math.pi * square).log() + 0.5 * (variance + (mean - q.loc).pow(2)) / square


def _gamma_surprise(q, mean, mean_log):
    """The same for a gamma distribution, and a distribution whose logarithms have the mean ``mean_log``."""
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return normalizer - (q.concentration - 1) * mean_log + q.rate * mean


def _x_log_x(x):
    return x.xlogy(x)


# ---------------------------------------------------------------- Bernoulli, beta and continuous Bernoulli


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
def _kl_any_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return -p.entropy() + _gamma_surprise(q, p.mean, mean_log)


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
def _kl_share_normal(p, q):
    return -p.entropy() + _normal_surprise(q, p.mean, p.variance)


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    return infinite_where((q.low > 0) | (q.high < 1), -p.entropy() + (q.high - q.low).log())


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    # PyTorch counts equal bounds as outside, too.
    return infinite_where((q.low >= 0) | (q.high <= 1), -p.entropy() + (q.high - q.low).log())


# ---------------------------------------------------------------- exponential and gamma


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    ratio = q.rate / p.rate
    rest = q.concentration.lgamma() + q.concentration * euler_constant
    return ratio - q.concentration * ratio.log() + rest - (1 + euler_constant)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    product, place = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 - place + place.exp() * product / (product + 1) + product.reciprocal()


@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
def _kl_gamma_normal(p, q):
    return -p.entropy() + _normal_surprise(q, p.mean, p.variance)


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    product, place, shape = p.rate * q.scale, q.loc / q.scale, p.concentration
    found = (shape - 1) * shape.digamma() - shape.lgamma() - shape + product.log() + shape / product
    return found + place.exp() * (1 + product.reciprocal()).pow(-shape) - place


# ---------------------------------------------------------------- Gumbel, Laplace and normal


@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
def _kl_any_normal(p, q):
    return -p.entropy() + _normal_surprise(q, p.mean, p.variance)


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    distance, square = (p.loc - q.loc) / q.scale, (p.scale / q.scale).pow(2)
    tail = (0.5 * square - distance).exp()
    return distance - 0.5 * square.log() + tail - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    distance = p.loc - q.loc
    relative = distance / p.scale
    spread = math.sqrt(2 / math.pi) * p.scale * (-0.5 * relative.pow(2)).exp()
    side = distance * (math.sqrt(0.5) * relative).erf()
    return (spread + side) / q.scale - (p.scale / q.scale).log() - 0.5 * (1 + math.log(0.5 * math.pi))


# ---------------------------------------------------------------- Pareto


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    product = p.scale * q.rate
    found = (p.alpha / product).log() - p.alpha.reciprocal() + p.alpha * product / (p.alpha - 1) - 1
    return infinite_where(p.alpha <= 1, found)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    mean_log = p.scale.log() + p.alpha.reciprocal()
    mean = p.alpha * p.scale / (p.alpha - 1)
    return infinite_where(p.alpha <= 1, p.alpha.log() - mean_log - 1 + _gamma_surprise(q, mean, mean_log))


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    unit = p.scale / (p.alpha - 1)
    surprise = _normal_surprise(q, p.alpha * unit, p.alpha * unit.pow(2) / (p.alpha - 2))
    found = (p.alpha / p.scale).log() - p.alpha.reciprocal() - 1 + surprise
    return infinite_where(p.alpha <= 2, found)


# ---------------------------------------------------------------- uniform


def _mean_log(p):
    """The mean of log x between two bounds."""
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    width = p.high - p.low
    mean_log_rest = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high)) / width - 1
    normalizer = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    powers = (q.concentration1 - 1) * _mean_log(p) + (q.concentration0 - 1) * mean_log_rest
    return infinite_where((p.high > 1) | (p.low < 0), normalizer - powers - width.log())


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    found = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    # PyTorch counts equal bounds as outside, too.
    return infinite_where((p.high >= 1) | (p.low <= 0), found)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p, q):
    return infinite_where(p.low < 0, q.rate * p.mean - ((p.high - p.low) * q.rate).log())


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    return infinite_where(p.low < 0, -p.entropy() + _gamma_surprise(q, p.mean, _mean_log(p)))


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    unit, high, low = q.scale / (p.high - p.low), (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return unit.log() + 0.5 * (high + low) - unit * ((-high).exp() - (-low).exp())


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    return -p.entropy() + _normal_surprise(q, p.mean, p.variance)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    found = _mean_log(p) * (q.alpha + 1) - (q.alpha * q.scale.pow(q.alpha) * (p.high - p.low)).log()
    return infinite_where(p.low < q.scale, found)
