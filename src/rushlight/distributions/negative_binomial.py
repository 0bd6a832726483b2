"""torch.distributions.negative_binomial: successes before a number of failures."""

from __future__ import annotations

from ..autograd import no_grad
from ..base.size import Size
from ..nn.functional import logsigmoid
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .odds import Odds
from .utils import EMPTY, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(Odds, Distribution):
    """Negative binomial distributions: successes of probability ``probs`` before ``total_count`` failures.

    ``total_count`` need not be whole; ``logits`` are the log-odds of a success. Follows ``torch.distributions.NegativeBinomial``.

    >>> import rushlight as torch
    >>> torch.distributions.NegativeBinomial(3, torch.tensor([0.25, 0.5])).mean
    tensor([1., 3.])
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _batched = ("total_count", "probs", "logits", "_param")

    def __init__(
        self,
        total_count: Tensor | float,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits, total_count)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self):
        """The rates of which Poisson numbers are such counts."""
        return Gamma(concentration=self.total_count, rate=(-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        with no_grad():
            return functions.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        trials = self.total_count + value
        powers = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        orders = trials.lgamma() - (1.0 + value).lgamma() - self.total_count.lgamma()
        return powers + orders.masked_fill(trials == 0, 0.0)
