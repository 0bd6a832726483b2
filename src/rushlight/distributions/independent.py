"""Batch dimensions of a distribution taken as dimensions of its events."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from ..base.errors import hinted
from ..base.size import Size
from . import constraints
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["Independent"]

D = TypeVar("D", bound=Distribution)


class Independent(Distribution, Generic[D]):
    """The last ``reinterpreted_batch_ndims`` batch dimensions of ``base_distribution`` are one event together.

    >>> import rushlight as torch
    >>> normal = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
    >>> torch.distributions.Independent(normal, 1).log_prob(torch.zeros(3))
    tensor(-2.7568)
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    base_dist: D

    def __init__(self, base_distribution: D, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        base = base_distribution
        if reinterpreted_batch_ndims > len(base.batch_shape):
            raise ValueError(
                hinted(
                    "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                    f"actual {reinterpreted_batch_ndims} vs {len(base.batch_shape)}",
                    "only dimensions that the batch has can become the event's",
                )
            )
        shape = base.batch_shape + base.event_shape
        event_dim = reinterpreted_batch_ndims + len(base.event_shape)
        self.base_dist = base
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        split = len(shape) - event_dim
        super().__init__(shape[:split], shape[split:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(Independent, batch_shape, _instance)
        new.base_dist = self.base_dist.expand(Size(batch_shape) + self.event_shape[: self.reinterpreted_batch_ndims])
        new.reinterpreted_batch_ndims = self.reinterpreted_batch_ndims
        return new

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return False if self.reinterpreted_batch_ndims > 0 else self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        result = self.base_dist.support
        return (
            constraints.independent(result, self.reinterpreted_batch_ndims)
            if self.reinterpreted_batch_ndims
            else result
        )

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = Size()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError(
                hinted("Enumeration over cartesian product is not implemented", "enumerate base_dist instead")
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
