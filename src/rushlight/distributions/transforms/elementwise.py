"""Transforms of single numbers: exp, powers, sigmoid, softplus, tanh, absolute value, affine maps, distribution functions."""

from __future__ import annotations

import math
from typing import Any

from ...base.dtypes import finfo
from ...nn.functional import softplus
from ...ops.table import functions
from ...tensor import Tensor
from .. import constraints
from ..distribution import Distribution
from ..utils import NUMBERS, broadcast_all, lazy_property
from .base import Transform, broadcast_shape

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
]


class _Rising(Transform):
    """A rising map of the real numbers without parameters: all of one class are equal."""

    domain = constraints.real
    bijective = True
    sign = +1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


class ExpTransform(_Rising):
    """``y = exp(x)``. Follows ``torch.distributions.ExpTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.ExpTransform()(torch.tensor(0.0))
    tensor(1.)
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """``y = x ** exponent`` of positive numbers. Follows ``torch.distributions.PowerTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.PowerTransform(torch.tensor(2.0))(torch.tensor([1.0, 3.0]))
    tensor([1., 9.])
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _copy(self, cache_size):
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shape(shape, self.exponent)

    def inverse_shape(self, shape: Any) -> Any:
        return broadcast_shape(shape, self.exponent)


def _inside(share):
    """A share kept away from 0 and 1."""
    limits = finfo(share.dtype)
    return share.clamp(min=limits.tiny, max=1.0 - limits.eps)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    return _inside(x.sigmoid())


class SigmoidTransform(_Rising):
    """``y = 1 / (1 + exp(-x))``, kept inside of (0, 1). Follows ``torch.distributions.SigmoidTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.SigmoidTransform()(torch.tensor([0.0, 100.0]))
    tensor([0.5000, 1.0000])
    """

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Rising):
    """``y = log(1 + exp(x))``, and ``x`` itself above 20. Follows ``torch.distributions.SoftplusTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.SoftplusTransform()(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(_Rising):
    """``y = tanh(x)``: more accurate than the sigmoid and two affine maps. Follows ``torch.distributions.TanhTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.TanhTransform()(torch.tensor(1.0))
    tensor(0.7616)
    """

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return 2 * (math.log(2) - x - softplus(-2 * x))  # log(1 - tanh(x)**2), exact for large numbers too


class AbsTransform(Transform):
    """``y = |x|``; the way back takes the positive one. Follows ``torch.distributions.AbsTransform``.

    >>> import rushlight as torch
    >>> torch.distributions.AbsTransform()(torch.tensor(-2.0))
    tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbsTransform)

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``; with ``event_dim`` dimensions, 0 by default, taken together. Follows ``torch.distributions.AffineTransform``.

    >>> import rushlight as torch
    >>> affine = torch.distributions.AffineTransform(loc=1.0, scale=torch.tensor([2.0, -4.0]))
    >>> affine(torch.ones(2)), affine.sign
    (tensor([ 3., -3.]), tensor([ 1., -1.]))
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc: Any = loc
        self.scale: Any = scale
        self._event_dim = event_dim

    def _copy(self, cache_size):
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    @property
    def event_dim(self) -> int:
        return self._event_dim

    def _reals(self):
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._reals()

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._reals()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, NUMBERS):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, NUMBERS):
            slope = functions.full_like(x, math.log(abs(self.scale)))
        else:
            slope = self.scale.abs().log()
        if not self.event_dim:
            return slope.expand(x.shape)
        together = slope.view((*slope.size()[: -self.event_dim], -1)).sum(-1)
        return together.expand(x.shape[: -self.event_dim])

    def forward_shape(self, shape: Any) -> Any:
        return broadcast_shape(shape, self.loc, self.scale)

    def inverse_shape(self, shape: Any) -> Any:
        return broadcast_shape(shape, self.loc, self.scale)


def _equal(one, other):
    if isinstance(one, NUMBERS) and isinstance(other, NUMBERS):
        return one == other
    return bool((one == other).all())


class CumulativeDistributionTransform(Transform):
    """``y = distribution.cdf(x)``: numbers of the distribution to uniform ones. Follows ``torch.distributions.CumulativeDistributionTransform``.

    >>> import rushlight as torch
    >>> D = torch.distributions
    >>> D.CumulativeDistributionTransform(D.Normal(0.0, 1.0))(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    def _copy(self, cache_size):
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
