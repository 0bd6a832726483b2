"""Transform: a differentiable map with an inverse and the logarithm of its Jacobian's determinant; chains and inverses."""

from __future__ import annotations

import functools
import operator
from typing import Any

from ...base.errors import hinted
from ...base.size import Size
from ...ops.table import functions
from ...tensor import Tensor
from .. import constraints
from ..utils import _sum_rightmost, lazy_property

__all__ = ["ComposeTransform", "IndependentTransform", "Transform", "identity_transform"]


class Transform:
    """A map from its ``domain`` to its ``codomain``; ``transform(x)``, and ``transform.inv(y)`` for the way back.

    With ``cache_size=1`` the last pair is remembered, so that the way back from a result is exact and free; 0, the default,
    remembers nothing, other sizes raise ValueError. Subclasses give ``_call``, ``_inverse`` and ``log_abs_det_jacobian``.
    Follows ``torch.distributions.Transform``.

    >>> import rushlight as torch
    >>> exp = torch.distributions.ExpTransform()
    >>> y = exp(torch.tensor([0.0, 1.0]))
    >>> y, exp.inv(y), exp.codomain
    (tensor([1.0000, 2.7183]), tensor([0.0000, 1.0000]), GreaterThan(lower_bound=0.0))
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError(hinted("cache_size must be 0 or 1", "one pair can be remembered, or none"))
        self._cache_size = cache_size
        self._inv: Any = None
        if cache_size:
            self._cached_x_y: Any = (None, None)
        super().__init__()

    def __getstate__(self) -> dict:
        # The inverse refers back to this one: it is made again when it is asked for.
        return self.__dict__ | {"_inv": None}

    @property
    def event_dim(self) -> int:
        """The dimensions that are taken together, where they are as many on both sides."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError(
            hinted("Please use either .domain.event_dim or .codomain.event_dim", "this transform changes their number")
        )

    @property
    def inv(self) -> Transform:
        """The inverse, whose own inverse is this transform."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """1 where the transform of a number rises, -1 where it falls."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        return self._copy(cache_size)

    def _copy(self, cache_size):
        raise NotImplementedError(
            hinted(f"{type(self)}.with_cache is not implemented", "it has to make one with the same parameters")
        )

    def __eq__(self, other: object) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        known, y = self._cached_x_y
        if x is not known:
            y = self._call(x)
            self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        x, known = self._cached_x_y
        if y is not known:
            x = self._inverse(y)
            self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of by how much the map stretches volumes at ``x``, where its value is ``y``."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the result for an input of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for a result of this shape."""
        return shape


class _InverseTransform(Transform):
    """A transform the other way around."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict:
        return self.__dict__

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """A chain of transforms: ``parts``, the first one first. Follows ``torch.distributions.ComposeTransform``.

    >>> import rushlight as torch
    >>> D = torch.distributions
    >>> D.ComposeTransform([D.ExpTransform(), D.AffineTransform(1.0, 2.0)])(torch.tensor(0.0))
    tensor(3.)
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        ends = [(part.codomain.event_dim, part.domain) for part in reversed(self.parts)]
        return _outer(ends, "domain")

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        ends = [(part.domain.event_dim, part.codomain) for part in self.parts]
        return _outer(ends, "codomain")

    @lazy_property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def _copy(self, cache_size):
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return functions.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        terms, event_dim = [], self.domain.event_dim
        for part, before, after in zip(self.parts, values, values[1:]):
            slope = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(slope, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        parts = ",\n    ".join(repr(part) for part in self.parts)
        return f"{self.__class__.__name__}(\n    {parts}\n)"


def _outer(ends, side):
    """The constraint at one end of a chain; ``ends`` are (event_dim on the far side, constraint on this one), from the other end."""
    if not ends:
        return constraints.real
    event_dim = ends[0][0]
    for far, near in ends:
        event_dim = max(event_dim + near.event_dim - far, near.event_dim)
    found = ends[-1][1]
    if event_dim < found.event_dim:
        raise AssertionError(f"event_dim {event_dim} must be >= {side}.event_dim {found.event_dim}")
    return constraints.independent(found, event_dim - found.event_dim) if event_dim > found.event_dim else found


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """``base_transform`` with ``reinterpreted_batch_ndims`` more dimensions taken together as one event.

    ``log_abs_det_jacobian`` is summed over them; inputs with fewer dimensions raise ValueError. Follows
    ``torch.distributions.IndependentTransform``.

    >>> import rushlight as torch
    >>> exp = torch.distributions.IndependentTransform(torch.distributions.ExpTransform(), 1)
    >>> x = torch.tensor([1.0, 2.0])
    >>> exp.log_abs_det_jacobian(x, exp(x))
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _copy(self, cache_size):
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        check_dimensions(x.dim(), self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        check_dimensions(y.dim(), self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


def check_dimensions(given: int, needed: int) -> None:
    """ValueError for fewer dimensions than one event has."""
    if given < needed:
        raise ValueError(hinted("Too few dimensions on input", f"one event has {needed}, the input {given}"))


def broadcast_shape(shape: Any, *parameters: Any) -> Size:
    """A shape broadcast with those of parameters, where they are tensors."""
    return functions.broadcast_shapes(shape, *(getattr(parameter, "shape", ()) for parameter in parameters))
