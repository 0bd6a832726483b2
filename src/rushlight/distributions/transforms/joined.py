"""Transforms side by side: one for each piece, or each slice, of a tensor along a dimension."""

from __future__ import annotations

from collections.abc import Sequence

from ...ops.table import functions
from ...tensor import Tensor
from .. import constraints
from ..utils import _sum_rightmost, lazy_property
from .base import Transform

__all__ = ["CatTransform", "StackTransform"]


class _Joined(Transform):
    """Transforms ``tseq`` for parts of a tensor along dimension ``dim``."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(transform, Transform) for transform in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [transform.with_cache(cache_size) for transform in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def _parts(self, value, name):
        """The part of a tensor for each transform; ``name`` is what errors call it."""
        raise NotImplementedError

    def _join(self, parts):
        raise NotImplementedError

    def _check(self, value, name, wanted, words):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for {name} with {value.dim()} dimensions")
        if value.size(self.dim) != wanted:
            letter = "x" if name == "tensor" else name
            raise AssertionError(f"{letter}.size({self.dim}) = {value.size(self.dim)} must equal {words} {wanted}")

    def _call(self, x: Tensor) -> Tensor:
        return self._join([transform(part) for transform, part in zip(self.transforms, self._parts(x, "tensor"))])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._join([transform.inv(part) for transform, part in zip(self.transforms, self._parts(y, "tensor"))])

    @property
    def bijective(self) -> bool:
        return all(transform.bijective for transform in self.transforms)


class CatTransform(_Joined):
    """Transforms ``tseq`` of consecutive pieces of ``lengths`` (1 each by default) along ``dim``. Follows ``torch.distributions.CatTransform``.

    >>> import rushlight as torch
    >>> D = torch.distributions
    >>> D.CatTransform([D.ExpTransform(), D.identity_transform], lengths=[1, 2])(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    def _copy(self, cache_size):
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @lazy_property
    def event_dim(self) -> int:
        """The most dimensions that a piece takes together."""
        return max(transform.event_dim for transform in self.transforms)

    @lazy_property
    def length(self) -> int:
        """The size along ``dim``."""
        return sum(self.lengths)

    def _parts(self, value, name):
        self._check(value, name, self.length, "length")
        starts = [sum(self.lengths[:place]) for place in range(len(self.lengths))]
        return [value.narrow(self.dim, start, length) for start, length in zip(starts, self.lengths)]

    def _join(self, parts):
        return functions.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        slopes = []
        for transform, before, after in zip(self.transforms, self._parts(x, "x"), self._parts(y, "y")):
            slope = transform.log_abs_det_jacobian(before, after)
            slopes.append(_sum_rightmost(slope, max(self.event_dim - transform.event_dim, 0)))
        from_right = (self.dim if self.dim < 0 else self.dim - x.dim()) + self.event_dim
        return functions.cat(slopes, dim=from_right) if from_right < 0 else sum(slopes)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([transform.domain for transform in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([transform.codomain for transform in self.transforms], self.dim, self.lengths)


class StackTransform(_Joined):
    """Transforms ``tseq`` of the slices along ``dim``. Follows ``torch.distributions.StackTransform``.

    >>> import rushlight as torch
    >>> D = torch.distributions
    >>> D.StackTransform([D.ExpTransform(), D.identity_transform])(torch.zeros(2, 3))
    tensor([[1., 1., 1.],
            [0., 0., 0.]])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _copy(self, cache_size):
        return StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, value, name):
        self._check(value, name, len(self.transforms), "len(transforms)")
        return value.unbind(self.dim)

    def _join(self, parts):
        return functions.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        parts = zip(self.transforms, self._parts(x, "x"), self._parts(y, "y"))
        return self._join([transform.log_abs_det_jacobian(before, after) for transform, before, after in parts])

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)
