"""Exponential families: entropy from the logarithm of the normaliser."""

from __future__ import annotations

from typing import Any

from ..autograd.gradients import grad
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Densities ``exp(<t(x), eta> - F(eta) + k(x))``: natural parameters ``eta``, log-normaliser ``F``, carrier ``k``.

    Banerjee, Merugu, Dhillon, Ghosh, "Clustering with Bregman Divergences" (2005); Nielsen and Nock (2010) for the entropy.
    """

    @property
    def _natural_params(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        """The expectation of ``k(x)``."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """``F(eta) - <eta, grad F(eta)> - E[k(x)]``."""
        natural = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*natural)
        result = -self._mean_carrier_measure
        result += normalizer
        for parameter, slope in zip(natural, grad(normalizer.sum(), natural, create_graph=True)):
            result -= parameter * slope
        return result
