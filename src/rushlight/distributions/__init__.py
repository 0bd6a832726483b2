"""Probability distributions: samples, densities, moments, divergences; ``torch.distributions``."""

from . import constraints, kl, utils
from .bernoulli import Bernoulli
from .beta import Beta
from .categorical import Categorical
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .later import LATER as _LATER
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .poisson import Poisson
from .uniform import Uniform

__all__ = [
    "Bernoulli", "Beta", "Categorical", "Dirichlet", "Distribution", "Exponential", "ExponentialFamily", "Gamma",
    "Independent", "Laplace", "MultivariateNormal", "Normal", "Poisson", "Uniform", "kl_divergence", "register_kl",
]  # fmt: skip

_LATER.make_modules()
__getattr__ = _LATER.of("")
