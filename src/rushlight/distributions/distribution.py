"""torch.distributions.distribution: what every distribution has, the checks of its arguments, and how it is expanded."""

from __future__ import annotations

import warnings
from typing import Any

from ..autograd import no_grad
from ..base.errors import hinted
from ..base.size import Size
from ..tensor import Tensor
from . import constraints
from .utils import EMPTY, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A batch of distributions of ``batch_shape``, whose values have ``event_shape`` each.

    ``validate_args`` says whether parameters and values are checked; None takes the default
    (`set_default_validate_args`), which is on. Subclasses give ``arg_constraints``, ``support`` and the methods that they
    have; the others raise NotImplementedError. Follows ``torch.distributions.Distribution``.

    >>> import rushlight as torch
    >>> normal = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> normal.batch_shape, normal.event_shape, normal.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    >>> normal.log_prob(torch.zeros(3))
    tensor([-0.9189, -0.9189, -0.9189])
    """

    has_rsample: Any = False
    has_enumerate_support: Any = False
    _validate_args: bool = __debug__

    # What `expand` makes the copy of: attributes that begin with the batch's shape, tensors or distributions, which are
    # expanded where the instance has them, and attributes that do not depend on it. A class that names the first can be expanded.
    _batched: tuple[str, ...]
    _unbatched: tuple[str, ...] = ()

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check parameters and values where they are not told; anything but a bool raises ValueError."""
        if value not in [True, False]:
            raise ValueError(hinted("", "give True or False"))
        Distribution._validate_args = value

    def __init__(self, batch_shape: Size = EMPTY, event_shape: Size = EMPTY, validate_args: bool | None = None) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # it is computed from another parameter, which is checked itself
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    hinted(
                        f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                        f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}",
                        "distributions made with validate_args=False are not checked",
                    )
                )

    def expand(self, batch_shape: Size | list | tuple, _instance: Any = None) -> Any:
        """The same distributions as a batch of ``batch_shape``, whose parameters are views of these.

        ``_instance`` is the object to fill, for subclasses with an ``__init__`` of their own.

        >>> import rushlight as torch
        >>> torch.distributions.Normal(0.0, 1.0).expand([2, 3]).loc.shape
        torch.Size([2, 3])
        """
        family: Any = next((owner for owner in type(self).__mro__ if "_batched" in vars(owner)), None)
        if family is None:
            raise NotImplementedError
        new = self._get_checked_instance(family, _instance)
        batch_shape = Size(batch_shape)
        for name in family._batched:
            if name in self.__dict__:
                setattr(new, name, self._expanded(self.__dict__[name], batch_shape))
        for name in family._unbatched:
            setattr(new, name, self.__dict__[name])
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _expanded(self, part, batch_shape):
        """A tensor, or a distribution, of another batch shape in place of this one's."""
        shape = part.batch_shape if isinstance(part, Distribution) else part.shape
        return part.expand(batch_shape + shape[len(self._batch_shape) :])

    @property
    def batch_shape(self) -> Size:
        """The shape over which parameters are batched."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single value."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """The constraint of each parameter, by name."""
        raise NotImplementedError

    @property
    def support(self) -> Any:
        """The constraint of this distribution's values."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean, of the batch's and the event's shape."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        """Values of shape ``sample_shape`` by the batch's shape, without a graph."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        """The same, as a differentiable function of the parameters, where ``has_rsample`` is True."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``: deprecated."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", category=FutureWarning, stacklevel=2
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at ``value``, which broadcasts with the batch."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to ``value``."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The value up to which the probability is ``value``."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along a new first dimension, expanded over the batch, or with ones in its place."""
        raise NotImplementedError

    def _enumerated(self, values, expand):
        values = values.view((-1, *(1 for _ in self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def entropy(self) -> Tensor:
        """The entropy in nats, of the batch's shape."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = EMPTY) -> Size:
        """The shape of samples: ``sample_shape``, the batch's, and the event's."""
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _check_value(self, value):
        """What `log_prob` and `cdf` begin with."""
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        """ValueError for a value of a shape that does not fit, or outside of the support."""
        if not isinstance(value, Tensor):
            raise ValueError(
                hinted("The value argument to log_prob must be a Tensor", f"this is a {type(value).__name__}")
            )
        shape, expected = value.size(), self._batch_shape + self._event_shape
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                hinted(
                    f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}.",
                    "one value of this distribution has the event's shape",
                )
            )
        for size, wanted in zip(reversed(shape), reversed(expected)):
            if size != wanted and size != 1 and wanted != 1:
                raise ValueError(
                    hinted(
                        f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}.",
                        "sizes have to be equal or 1, from the right",
                    )
                )
        self._validate_support(value)

    def _validate_support(self, value):
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=5,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(
                hinted(
                    f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                    f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}",
                    "distributions made with validate_args=False take any value",
                )
            )

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """``_instance``, or a new object of this class, which has to be made as ``cls`` is."""
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                hinted(
                    f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also "
                    "define a custom .expand() method.",
                    "make an object there, fill it, and hand it to super().expand() as _instance",
                )
            )
        return self.__new__(type(self))

    def __repr__(self) -> str:
        given = {name: self.__dict__[name] for name in self.arg_constraints if name in self.__dict__}
        shown = (f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in given.items())
        return f"{self.__class__.__name__}({', '.join(shown)})"
