"""Constraints: the sets that parameters and samples lie in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.dtypes import bool_, finfo
from ..base.errors import hinted
from ..ops.table import functions

__all__ = [
    "Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than", "greater_than_eq",
    "independent", "integer_interval", "interval", "half_open_interval", "is_dependent", "less_than", "lower_cholesky",
    "lower_triangular", "MixtureSameFamilyConstraint", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
    "positive", "positive_semidefinite", "positive_definite", "positive_integer", "real", "real_vector", "simplex",
    "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


class Constraint:
    """A set. ``check(value)`` says which elements are in it; the last ``event_dim`` dimensions are one element together."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Any) -> Any:
        """A tensor of bools: which elements of ``value`` are in the set."""
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__.removeprefix('_')}({self._arguments()})"

    def _arguments(self):
        return ""


class _Dependent(Constraint):
    """A set that depends on other parameters; it says ``is_discrete`` and ``event_dim`` where these are known beforehand."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self):
        return self._known(self._is_discrete, "is_discrete")

    @property
    def event_dim(self):
        return self._known(self._event_dim, "event_dim")

    @staticmethod
    def _known(value, name):
        if value is NotImplemented:
            raise NotImplementedError(
                hinted(f".{name} cannot be determined statically", "ask the constraint of a made distribution")
            )
        return value

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """The same kind of constraint with other answers."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value):
        raise ValueError(
            hinted("Cannot determine validity of dependent constraint", "ask the constraint of a made distribution")
        )


def is_dependent(constraint: Any) -> bool:
    """Whether the constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that is a constraint of the object, and of the class a dependent one."""

    def __init__(
        self,
        fn: Callable[..., Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn):
        """The decorator."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Elements of ``base_constraint`` taken together over ``reinterpreted_batch_ndims`` more dimensions."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        assert isinstance(base_constraint, Constraint)
        assert isinstance(reinterpreted_batch_ndims, int)
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        inside = self.base_constraint.check(value)
        if inside.dim() < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(
                hinted(
                    f"Expected value.dim() >= {expected} but got {value.dim()}", "a dimension of the event is missing"
                )
            )
        return inside.reshape((*inside.shape[: inside.dim() - self.reinterpreted_batch_ndims], -1)).all(-1)

    def _arguments(self):
        return f"{self.base_constraint!r}, {self.reinterpreted_batch_ndims}"


class MixtureSameFamilyConstraint(Constraint):
    """The set of a mixture: what lies in ``base_constraint``, the support of every component."""

    def __init__(self, base_constraint: Constraint) -> None:
        assert isinstance(base_constraint, Constraint)
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        dims = self.event_dim
        inside = self.base_constraint.check(value.unsqueeze(-1 - dims))
        if value.dim() < dims:
            raise ValueError(
                hinted(f"Expected value.dim() >= {dims} but got {value.dim()}", "a dimension of the event is missing")
            )
        kept = value.dim() - dims
        return inside.reshape((*inside.shape[:kept], -1)).all(-1)

    def _arguments(self):
        return repr(self.base_constraint)


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Bounded(Constraint):
    """A range with a ``lower_bound``, an ``upper_bound``, or both, as its class says."""

    def __init__(self, *bounds: Any, **named: Any) -> None:
        for name, bound in {**dict(zip(self._bounds, bounds)), **named}.items():
            setattr(self, name, bound)
        super().__init__()

    _bounds: tuple[str, ...] = ()

    def _arguments(self):
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)


class _Upward(_Bounded):
    _bounds = ("lower_bound",)

    def __init__(self, lower_bound: Any) -> None:
        super().__init__(lower_bound)


class _Between(_Bounded):
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        super().__init__(lower_bound, upper_bound)


class _IntegerInterval(_Between):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Bounded):
    is_discrete = True
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        super().__init__(upper_bound)

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Upward):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value):
        return value == value  # NaN is not


class _GreaterThan(_Upward):
    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_Upward):
    def check(self, value):
        return self.lower_bound <= value


class _LessThan(_Bounded):
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound: Any) -> None:
        super().__init__(upper_bound)

    def check(self, value):
        return value < self.upper_bound


class _Interval(_Between):
    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Vectors without negative numbers whose sum is 1, within 1e-6."""

    event_dim = 1

    def check(self, value):
        return functions.all(value >= 0, dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Counts whose sum is at most ``upper_bound``."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, value):
        return (value >= 0).all(dim=-1) & (value.sum(dim=-1) <= self.upper_bound)


class _Matrices(Constraint):
    event_dim = 2


class _LowerTriangular(_Matrices):
    def check(self, value):
        return (value.tril() == value).view((*value.shape[:-2], -1)).min(-1)[0]


class _LowerCholesky(_Matrices):
    """Lower triangles whose diagonal is positive."""

    def check(self, value):
        lower = (value.tril() == value).view((*value.shape[:-2], -1)).min(-1)[0]
        return lower & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


class _CorrCholesky(_Matrices):
    """Lower triangles with a positive diagonal and rows of length 1."""

    def check(self, value):
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10  # ten roundings for each number of a row
        lengths = functions.linalg_norm(value.detach(), dim=-1)
        return _LowerCholesky().check(value) & (lengths - 1).abs().le(tolerance).all(dim=-1)


class _Square(_Matrices):
    def check(self, value):
        same = value.shape[-2] == value.shape[-1]
        return functions.full(value.shape[:-2], same, dtype=bool_, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        if not square.all():
            return square
        return functions.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return functions.linalg_eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return functions.linalg_cholesky_ex(value).info.eq(0)


class _Joined(Constraint):
    """Constraints of parts along the dimension ``dim``."""

    def __init__(self, cseq: Any, dim: int = 0) -> None:
        if not all(isinstance(constraint, Constraint) for constraint in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self):
        return any(constraint.is_discrete for constraint in self.cseq)


class _Cat(_Joined):
    """Parts of given ``lengths``, one after the other along ``dim``."""

    def __init__(self, cseq: Any, dim: int = 0, lengths: Any = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths must have same length as cseq: {len(self.lengths)} != {len(self.cseq)}")

    @property
    def event_dim(self):
        return max(constraint.event_dim for constraint in self.cseq)

    def check(self, value):
        assert -value.dim() <= self.dim < value.dim()
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return functions.cat(checks, self.dim)


class _Stack(_Joined):
    """One part for each index along ``dim``."""

    @property
    def event_dim(self):
        dims = max(constraint.event_dim for constraint in self.cseq)
        return dims + 1 if self.dim + dims < 0 else dims

    def check(self, value):
        assert -value.dim() <= self.dim < value.dim()
        parts = [value.select(self.dim, index) for index in range(value.size(self.dim))]
        return functions.stack([c.check(part) for part, c in zip(parts, self.cseq)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
