"""torch.distributions.continuous_bernoulli: shares between 0 and 1, with a density like a Bernoulli probability."""

from __future__ import annotations

import math

from ..autograd import no_grad
from ..base.errors import hinted
from ..base.size import Size
from ..nn.functional import binary_cross_entropy_with_logits
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .odds import Odds
from .utils import EMPTY, broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(Odds, ExponentialFamily):
    """Continuous Bernoulli distributions on [0, 1], of density in proportion to ``probs**x * (1 - probs)**(1 - x)``.

    Between the two ``lims`` its formulas divide by nearly 0: Taylor series take their place there. After Loaiza-Ganem and
    Cunningham, "The continuous Bernoulli" (2019). Follows ``torch.distributions.ContinuousBernoulli``.

    >>> import rushlight as torch
    >>> torch.distributions.ContinuousBernoulli(torch.tensor([0.5, 0.9])).mean
    tensor([0.5000, 0.6699])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _batched = ("probs", "logits", "_param")
    _unbatched = ("_lims",)

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        if probs is not None:
            # Clamped probabilities satisfy every check: what was given is looked at before.
            if validate_args is not None and not self.arg_constraints["probs"].check(self.probs).all():
                raise ValueError(hinted("The parameter probs has invalid values", "they have to lie in [0, 1]"))
            self.probs = self._param = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(self._param.size(), validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability in the density, away from 0 and 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self):
        """The probabilities, with a limit in place of those between the two."""
        return functions.where(self._outside_unstable_region(), self.probs, self._lims[0])

    def _stable(self, formula, series):
        return functions.where(self._outside_unstable_region(), formula, series)

    def _cont_bern_log_norm(self):
        """The logarithm of what the density is in proportion by: 2 atanh(1 - 2 p) / (1 - 2 p)."""
        p = self._cut_probs()
        low = p <= 0.5
        below, above = functions.where(low, p, 0.0), functions.where(p >= 0.5, p, 1.0)
        distance = functions.where(low, (-2 * below).log1p(), (2 * above - 1).log())
        square = (self.probs - 0.5) ** 2
        series = math.log(2) + (4 / 3 + 104 / 45 * square) * square
        return self._stable(((-p).log1p() - p.log()).abs().log() - distance, series)

    @property
    def mean(self) -> Tensor:
        p, x = self._cut_probs(), self.probs - 0.5
        series = 0.5 + (1 / 3 + 16 / 45 * x**2) * x
        return self._stable(p / (2 * p - 1) + 1 / ((-p).log1p() - p.log()), series)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        p, square = self._cut_probs(), (self.probs - 0.5) ** 2
        series = 1 / 12 - (1 / 15 - 128 / 945 * square) * square
        return self._stable(p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2, series)

    def _uniform(self, sample_shape):
        return functions.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype, device=self.probs.device)

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        with no_grad():
            return self.icdf(self._uniform(sample_shape))

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        return self.icdf(self._uniform(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        return self._cont_bern_log_norm() - binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value: Tensor) -> Tensor:
        self._check_value(value)
        p = self._cut_probs()
        inside = self._stable((p**value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1), value)
        return functions.where(value <= 0, 0.0, functions.where(value >= 1, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        failures = (-p).log1p()
        return self._stable(((-p + value * (2 * p - 1)).log1p() - failures) / (p.log() - failures), value)

    def entropy(self) -> Tensor:
        failures, successes = (-self.probs).log1p(), self.probs.log()
        return self.mean * (failures - successes) - self._cont_bern_log_norm() - failures

    @property
    def _natural_params(self):
        return (self.logits,)

    def _log_normalizer(self, x):
        low, high = (limit - 0.5 for limit in self._lims)
        outside = (x <= low) | (x > high)
        cut = functions.where(outside, x, low)
        series = 0.5 * x + x**2 / 24 - x**4 / 2880
        return functions.where(outside, cut.expm1().abs().log() - cut.abs().log(), series)
