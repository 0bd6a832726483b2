"""torch.distributions.constraints: regions that parameters and values lie in, each with a ``check``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.dtypes import bool_, finfo
from ..base.errors import hinted
from ..ops.table import functions
from ..tensor import Tensor

__all__ = [
    "Constraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "independent",
    "integer_interval",
    "interval",
    "half_open_interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "MixtureSameFamilyConstraint",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_semidefinite",
    "positive_definite",
    "positive_integer",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A region over which a variable is valid; ``event_dim`` dimensions at the right make one value.

    ``is_discrete`` says whether its values are countable. Follows ``torch.distributions.constraints.Constraint``.

    >>> import rushlight as torch
    >>> torch.distributions.constraints.positive.check(torch.tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """For every event whether it satisfies the constraint: bools of the shape without the event's dimensions."""
        raise NotImplementedError

    def _shown(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self._shown()})"


# ---------------------------------------------------------------- constraints that depend on other variables


class _Dependent(Constraint):
    """A constraint that other parameters decide; a class may know whether it is discrete, and its event's dimensions."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def _known(self, name):
        found = getattr(self, "_" + name)
        if found is NotImplemented:
            raise NotImplementedError(
                hinted(f".{name} cannot be determined statically", "ask the constraint of an instance")
            )
        return found

    @property
    def is_discrete(self) -> bool:
        return self._known("is_discrete")

    @property
    def event_dim(self) -> int:
        return self._known("event_dim")

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        """The same with what is given here."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x: Tensor) -> Tensor:
        raise ValueError(
            hinted("Cannot determine validity of dependent constraint", "check against that of an instance")
        )


class _DependentProperty(property, _Dependent):
    """A property of an instance that is a constraint, and is itself the dependent constraint of the class."""

    def __init__(
        self, fn: Callable | None = None, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented
    ) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable) -> Any:  # type: ignore[override]
        """The property of function ``fn``: what a decorator with arguments gives."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


def is_dependent(constraint: Any) -> bool:
    """Whether a constraint depends on other variables, so that it cannot check anything by itself.

    >>> import rushlight as torch
    >>> [torch.distributions.constraints.is_dependent(c.support) for c in (torch.distributions.Normal, torch.distributions.Uniform)]
    [False, True]
    """
    return isinstance(constraint, _Dependent)


# ---------------------------------------------------------------- constraints made from one other


class _OfBase(Constraint):
    """What a constraint of a base constraint is as that one is."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim

    def _shown(self) -> str:
        return repr(self.base_constraint)

    def _all_of(self, checks, kept, value):
        """``checks`` with all dimensions after the first ``kept`` taken together."""
        if kept < 0:
            raise ValueError(
                hinted(
                    f"Expected value.dim() >= {self.event_dim} but got {value.dim()}",
                    f"a value of {self!r} has {self.event_dim} dimensions itself",
                )
            )
        return checks.reshape((*checks.shape[:kept], -1)).all(-1)


class _IndependentConstraint(_OfBase):
    """``base_constraint`` on each of the last ``reinterpreted_batch_ndims`` dimensions of a batch, which make one event."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(
                f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> int:
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        checks = self.base_constraint.check(value)
        return self._all_of(checks, checks.dim() - self.reinterpreted_batch_ndims, value)

    def _shown(self) -> str:
        return f"{self.base_constraint!r}, {self.reinterpreted_batch_ndims}"


class MixtureSameFamilyConstraint(_OfBase):
    """The support of a mixture: a value has to satisfy the support of every component.

    >>> import rushlight as torch
    >>> constraints = torch.distributions.constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.positive).check(torch.tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    def check(self, value: Tensor) -> Tensor:
        checks = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return self._all_of(checks, value.dim() - self.event_dim, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown()})"


# ---------------------------------------------------------------- numbers


class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _Real(Constraint):
    """Any number that is not NaN."""

    def check(self, value: Tensor) -> Tensor:
        return value == value


class _Above(Constraint):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound

    def _shown(self) -> str:
        return f"lower_bound={self.lower_bound}"


class _Below(Constraint):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def _shown(self) -> str:
        return f"upper_bound={self.upper_bound}"


class _Between(Constraint):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def _shown(self) -> str:
        return f"lower_bound={self.lower_bound}, upper_bound={self.upper_bound}"


class _GreaterThan(_Above):
    """Numbers above ``lower_bound``."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound < value


class _GreaterThanEq(_Above):
    """Numbers from ``lower_bound`` on."""

    def check(self, value: Tensor) -> Tensor:
        return self.lower_bound <= value


class _LessThan(_Below):
    """Numbers below ``upper_bound``."""

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Between):
    """Numbers from ``lower_bound`` to ``upper_bound``."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Between):
    """Numbers from ``lower_bound`` on and below ``upper_bound``."""

    def check(self, value: Tensor) -> Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Between):
    """Whole numbers from ``lower_bound`` to ``upper_bound``."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_Below):
    """Whole numbers up to ``upper_bound``."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Above):
    """Whole numbers from ``lower_bound`` on."""

    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


# ---------------------------------------------------------------- vectors


class _OneHot(Constraint):
    """Vectors of one 1 and zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    """Vectors of numbers from 0 on that add up to 1, to a millionth."""

    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(_Below):
    """Vectors of numbers from 0 on that add up to ``upper_bound`` at most."""

    is_discrete = True
    event_dim = 1

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)

    def _shown(self) -> str:
        return ""


# ---------------------------------------------------------------- matrices


class _LowerTriangular(Constraint):
    """Matrices with nothing but zeros above the diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    """Lower triangular matrices with positive diagonals."""

    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    """Cholesky factors of correlation matrices: lower, with positive diagonals and rows of length 1."""

    def check(self, value: Tensor) -> Tensor:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10  # ten times what a row of roundings adds up to
        lengths = functions.linalg_norm(value.detach(), dim=-1)
        return super().check(value) & ((lengths - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        square = value.shape[-2] == value.shape[-1]
        return functions.full(value.shape[:-2], square, dtype=bool_, device=value.device)


class _Symmetric(_Square):
    """Square matrices that equal their transposes, to a millionth."""

    def check(self, value: Tensor) -> Tensor:
        square = super().check(value)
        return functions.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return (functions.linalg_eigvalsh(value) >= 0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices that have a Cholesky factor."""

    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        return functions.linalg_cholesky_ex(value).info == 0 if symmetric.all() else symmetric


# ---------------------------------------------------------------- several constraints side by side


class _Several(Constraint):
    """Constraints ``cseq`` for parts of a value along dimension ``dim``."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(constraint, Constraint) for constraint in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:
        return any(constraint.is_discrete for constraint in self.cseq)

    @property
    def event_dim(self) -> int:
        return max(constraint.event_dim for constraint in self.cseq)

    def _check_dim(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")


class _Cat(_Several):
    """Pieces of ``lengths`` along ``dim``, one for each constraint; of length 1 by default."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return functions.cat(checks, self.dim)


class _Stack(_Several):
    """Slices along ``dim``, one for each constraint."""

    @property
    def event_dim(self) -> int:
        widest = super().event_dim
        return widest + 1 if self.dim + widest < 0 else widest

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        slices = [value.select(self.dim, place) for place in range(value.size(self.dim))]
        return functions.stack([constraint.check(part) for part, constraint in zip(slices, self.cseq)], self.dim)


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
