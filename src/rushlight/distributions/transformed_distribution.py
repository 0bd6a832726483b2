"""torch.distributions.transformed_distribution: what becomes of a distribution's values in a chain of transforms."""

from __future__ import annotations

from typing import Any

from ..autograd import no_grad
from ..base.errors import hinted
from ..base.size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import EMPTY, _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of ``base_distribution``'s values after ``transforms``, one or a list of them.

    Batch dimensions that a transform takes together become dimensions of the event; those that its parameters add are added.
    Anything but transforms raises ValueError. Follows ``torch.distributions.TransformedDistribution``.

    >>> import rushlight as torch
    >>> D = torch.distributions
    >>> logistic = D.TransformedDistribution(D.Uniform(0.0, 1.0), [D.SigmoidTransform().inv, D.AffineTransform(loc=1.0, scale=2.0)])
    >>> logistic.log_prob(torch.tensor([1.0, 3.0]))
    tensor([-2.0794, -2.3197])
    >>> logistic.icdf(torch.tensor(0.5))
    tensor(1.)
    """

    arg_constraints: Any = {}
    base_dist: Any
    _batched: tuple[str, ...] = ()

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms = _as_list(transforms)
        transform = ComposeTransform(self.transforms)
        domain, codomain = transform.domain.event_dim, transform.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dim = len(base_distribution.event_shape)
        if len(base_shape) < domain:
            raise ValueError(
                hinted(
                    f"base_distribution needs to have shape with size at least {domain}, but got {base_shape}.",
                    "the first transforms take that many dimensions together",
                )
            )
        shape = transform.forward_shape(base_shape)
        wanted = transform.inverse_shape(shape)
        if base_shape != wanted:
            base_distribution = base_distribution.expand(wanted[: len(wanted) - base_dim])
        if domain > base_dim:
            base_distribution = Independent(base_distribution, domain - base_dim)
        self.base_dist = base_distribution
        event_dim = max(codomain, base_dim + codomain - domain)
        if len(shape) < event_dim:
            raise AssertionError(f"forward_shape length {len(shape)} must be >= event_dim {event_dim}")
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Size | list | tuple, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        shape = new._batch_shape + new._event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        """Where the last transform ends, over all of the event."""
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    def _forward(self, value):
        for transform in self.transforms:
            value = transform(value)
        return value

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        with no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        event_dim = len(self.event_shape)
        stretched: Any = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(before, value)
            stretched = stretched - _sum_rightmost(slope, event_dim - transform.domain.event_dim)
            value = before
        base = self.base_dist.log_prob(value)
        return stretched + _sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """A probability counted from the other end where the transforms turn the order around."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))


def _as_list(transforms):
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(
            hinted(
                f"transforms must be a Transform or list, but was {transforms}", "put several transforms into a list"
            )
        )
    if not all(isinstance(transform, Transform) for transform in transforms):
        raise ValueError(
            hinted(
                "transforms must be a Transform or a list of Transforms",
                "it holds " + ", ".join(type(transform).__name__ for transform in transforms),
            )
        )
    return transforms
