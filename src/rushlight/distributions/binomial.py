"""torch.distributions.binomial: successes among several trials."""

from __future__ import annotations

from ..autograd import no_grad
from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .odds import Odds
from .utils import EMPTY

__all__ = ["Binomial"]


def _positive_part(x):
    """``x`` where it is above 0, otherwise 0; its gradient at 0 is a half."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(Odds, Distribution):
    """Binomial distributions: successes among ``total_count`` trials of probability ``probs`` (log-odds ``logits``).

    Follows ``torch.distributions.Binomial``.

    >>> import rushlight as torch
    >>> binomial = torch.distributions.Binomial(4, torch.tensor([0.25, 0.5]))
    >>> binomial.mean, binomial.log_prob(torch.tensor(2.0)).exp()
    (tensor([1., 2.]), tensor([0.2109, 0.3750]))
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _batched = ("total_count", "probs", "logits", "_param")

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits, total_count)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """Whole numbers from 0 to ``total_count``."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return functions.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        orders = (self.total_count + 1).lgamma() - (value + 1).lgamma() - (self.total_count - value + 1).lgamma()
        # log(1 + exp(logits)), without overflow
        failures = self.total_count * (_positive_part(self.logits) + (-self.logits.abs()).exp().log1p())
        return value * self.logits - failures + orders

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        logarithms = self.log_prob(self.enumerate_support(False))
        return -(logarithms.exp() * logarithms).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._one_count("enumerate_support")
        return self._enumerated(functions.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)

    def _one_count(self, method):
        count = int(self.total_count.max())
        if self.total_count.min() != count:
            raise NotImplementedError(
                hinted(f"Inhomogeneous total count not supported by `{method}`.", "take the counts one by one")
            )
        return count
