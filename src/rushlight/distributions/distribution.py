"""The base of all distributions: shapes, checks of parameters and values, printing."""

from __future__ import annotations

import warnings
from typing import Any

from ..autograd import no_grad
from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution, or a batch of them: ``batch_shape`` says how many, ``event_shape`` what one sample looks like.

    A kind of distribution says which parameters it has (``arg_constraints``) and where its samples lie (``support``).
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check parameters and values where ``validate_args`` does not say so."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self):
        try:
            required = self.arg_constraints
        except NotImplementedError:
            required = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
        for name, constraint in required.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # it follows from others
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    hinted(
                        f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                        f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}",
                        "validate_args=False leaves out this check",
                    )
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The same distribution with another batch shape; parameters are views where they were broadcast."""
        raise NotImplementedError

    def _expanded(self, kind, batch_shape, instance, event_shape=None, **parameters):
        """A ``kind`` whose ``parameters``, of so many event dimensions each, are expanded; absent ones stay absent."""
        new = self._get_checked_instance(kind, instance)
        batch_shape = Size(batch_shape)
        for name, dims in parameters.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                setattr(new, name, value.expand(batch_shape + value.shape[value.dim() - dims :]))
        Distribution.__init__(
            new, batch_shape, self.event_shape if event_shape is None else event_shape, validate_args=False
        )
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample of one of them."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """Where each parameter has to lie."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """Where samples lie."""
        raise NotImplementedError

    @property
    def mean(self) -> Any:
        """The expectation."""
        raise NotImplementedError

    @property
    def mode(self) -> Any:
        """Where the density is largest."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Any:
        """The expected square of the distance from the mean."""
        raise NotImplementedError

    @property
    def stddev(self) -> Any:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = Size()) -> Any:
        """Samples, without gradients."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Any:
        """Samples as functions of the parameters: gradients flow."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Any:
        """``n`` samples: the old form of ``sample((n,))``."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density at ``value``, or of its probability."""
        raise NotImplementedError

    def cdf(self, value: Any) -> Any:
        """The probability of a sample up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Any) -> Any:
        """The inverse of `cdf`: quantiles."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Any:
        """Every value that a sample can have, along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> Any:
        """The expectation of ``-log_prob``."""
        raise NotImplementedError

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return functions.exp(self.entropy())

    def _extended_shape(self, sample_shape=Size()):
        """The shape of samples: sample, batch, event."""
        return Size(Size(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value):
        """Refuses values that cannot be samples: no tensors, of another shape, outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError(
                hinted(
                    "The value argument to log_prob must be a Tensor",
                    f"got {type(value).__name__}: torch.tensor makes one",
                )
            )
        start = len(value.shape) - len(self._event_shape)
        if value.shape[max(start, 0) :] != self._event_shape:
            raise ValueError(
                hinted(
                    f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}.",
                    "the last dimensions of a value are one event",
                )
            )
        expected = self._batch_shape + self._event_shape
        for one, other in zip(reversed(value.shape), reversed(expected)):
            if one != 1 and other != 1 and one != other:
                raise ValueError(
                    hinted(
                        f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}.",
                        f"sizes {one} and {other} meet",
                    )
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                hinted(
                    f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                    f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}",
                    "validate_args=False leaves out this check",
                )
            )

    def _get_checked_instance(self, cls, _instance=None):
        """An empty object of this class for `expand`; a subclass with another ``__init__`` has to make its own."""
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also define "
                "a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        shown = ((name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__)
        inner = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in shown)
        return f"{self.__class__.__name__}({inner})"
