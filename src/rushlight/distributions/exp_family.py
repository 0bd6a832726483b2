"""torch.distributions.exp_family: distributions whose entropy follows from their log normalizer."""

from __future__ import annotations

from typing import Any

from ..autograd import grad
from ..tensor import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions of density ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass gives the natural parameters theta (``_natural_params``), the log normalizer F (``_log_normalizer``) and the
    mean of k (``_mean_carrier_measure``); the entropy follows by autograd. Follows ``torch.distributions.ExponentialFamily``.

    >>> import rushlight as torch
    >>> torch.distributions.Poisson.__mro__[1].__name__
    'ExponentialFamily'
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy: the Bregman divergence of the log normalizer, F(theta) - <theta, F'(theta)>, less the mean of k."""
        parameters = [parameter.detach().requires_grad_() for parameter in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        found = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(parameters, grad(normalizer.sum(), parameters, create_graph=True)):
            found = found - (parameter * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return found
