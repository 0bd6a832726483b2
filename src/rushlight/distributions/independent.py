"""torch.distributions.independent: dimensions of a batch as dimensions of the event."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from ..base.errors import hinted
from ..base.size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import EMPTY, _sum_rightmost

__all__ = ["Independent"]

Base = TypeVar("Base", bound=Distribution)


class Independent(Distribution, Generic[Base]):
    """``base_distribution`` with its last ``reinterpreted_batch_ndims`` batch dimensions as part of the event.

    ``log_prob`` and ``entropy`` are summed over them. More dimensions than the batch has raise ValueError. Follows
    ``torch.distributions.Independent``.

    >>> import rushlight as torch
    >>> normal = torch.distributions.Normal(torch.zeros(2, 3), 1.0)
    >>> diagonal = torch.distributions.Independent(normal, 1)
    >>> diagonal.batch_shape, diagonal.event_shape, diagonal.log_prob(torch.zeros(2, 3))
    (torch.Size([2]), torch.Size([3]), tensor([-2.7568, -2.7568]))
    """

    arg_constraints: dict[str, constraints.Constraint] = {}
    base_dist: Base
    _batched = ("base_dist",)
    _unbatched = ("reinterpreted_batch_ndims",)

    def __init__(
        self, base_distribution: Base, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        dimensions = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > dimensions:
            raise ValueError(
                hinted(
                    "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                    f"{reinterpreted_batch_ndims} vs {dimensions}",
                    "only dimensions of the batch can become those of the event",
                )
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        cut = dimensions - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        """The base's support, over the event's dimensions."""
        base = self.base_dist.support
        return constraints.independent(base, self.reinterpreted_batch_ndims) if self.reinterpreted_batch_ndims else base

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return _sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return _sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError(
                hinted(
                    "Enumeration over cartesian product is not implemented",
                    "enumerate base_dist, whose events are single",
                )
            )
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
