"""torch.distributions.kl: Kullback-Leibler divergences in closed form."""

from . import crossed, families, vectors
from .families import _kl_expfamily_expfamily
from .registry import _KL_MEMOIZE, _KL_REGISTRY, _dispatch_kl, kl_divergence, register_kl

__all__ = ["register_kl", "kl_divergence"]
