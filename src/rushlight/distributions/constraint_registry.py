"""torch.distributions.constraint_registry: transforms from all real numbers into a constraint's region.

``biject_to(constraint)`` gives one with an inverse and a Jacobian (for sampling), ``transform_to(constraint)`` one that may have
more parameters than needed (for optimisation).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.errors import hinted
from . import constraints, transforms
from .utils import NUMBERS

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Which transform leads into a constraint's region, by the constraint's class; call it with a constraint.

    A constraint of another class raises NotImplementedError. Follows ``torch.distributions.constraint_registry.ConstraintRegistry``.

    >>> import rushlight as torch
    >>> torch.distributions.transform_to(torch.distributions.constraints.unit_interval)
    SigmoidTransform()
    >>> torch.distributions.biject_to(torch.distributions.constraints.simplex)
    StickBreakingTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type, Callable] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Any:
        """Let ``factory(constraint)`` make the transform for constraints of this class; without one, a decorator of it.

        ``constraint`` is a class or an instance; anything else raises TypeError.
        """
        if factory is None:
            return lambda given: self.register(constraint, given)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                hinted(
                    f"Expected constraint to be either a Constraint subclass or instance, but got {kind}",
                    "constraints derive from torch.distributions.constraints.Constraint",
                )
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                hinted(
                    f"Cannot transform {type(constraint).__name__} constraints",
                    "register(constraint, factory) adds a transform for a class of constraints",
                )
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register_in_both(constraint, factory):
    """One factory for both; it gets the registry that it is to ask for the parts of a constraint."""
    for registry in (biject_to, transform_to):
        registry.register(constraint, lambda found, registry=registry: factory(found, registry))


def _affine(first, loc, scale):
    return transforms.ComposeTransform([first, transforms.AffineTransform(loc, scale)])


def _interval(constraint, registry):
    low, high = constraint.lower_bound, constraint.upper_bound
    plain = isinstance(low, NUMBERS) and isinstance(high, NUMBERS) and low == 0 and high == 1
    return transforms.SigmoidTransform() if plain else _affine(transforms.SigmoidTransform(), low, high - low)


def _independent(constraint, registry):
    base = registry(constraint.base_constraint)
    return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)


def _cat(constraint, registry):
    return transforms.CatTransform([registry(part) for part in constraint.cseq], constraint.dim, constraint.lengths)


def _stack(constraint, registry):
    return transforms.StackTransform([registry(part) for part in constraint.cseq], constraint.dim)


for _kind, _factory in {
    constraints.real: lambda constraint, registry: transforms.identity_transform,
    constraints.independent: _independent,
    constraints.greater_than: lambda c, registry: _affine(transforms.ExpTransform(), c.lower_bound, 1),
    constraints.greater_than_eq: lambda c, registry: _affine(transforms.ExpTransform(), c.lower_bound, 1),
    constraints.less_than: lambda c, registry: _affine(transforms.ExpTransform(), c.upper_bound, -1),
    constraints.interval: _interval,
    constraints.half_open_interval: _interval,
    constraints.corr_cholesky: lambda constraint, registry: transforms.CorrCholeskyTransform(),
    constraints.cat: _cat,
    constraints.stack: _stack,
}.items():
    _register_in_both(_kind, _factory)

biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda constraint: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda constraint: transforms.PositiveDefiniteTransform())
