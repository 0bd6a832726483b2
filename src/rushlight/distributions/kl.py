"""Kullback-Leibler divergences, ``torch.distributions.kl``: the table with its pairs."""

from . import kl_different, kl_same  # noqa: F401  they fill the table
from .kl_registry import _KL_MEMOIZE, _KL_REGISTRY, kl_divergence, register_kl  # noqa: F401

__all__ = ["register_kl", "kl_divergence"]
