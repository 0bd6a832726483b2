"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

from ..autograd import no_grad
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .by_probabilities import ByProbabilities
from .exp_family import ExponentialFamily
from .utils import broadcast_all, one_of

__all__ = ["Bernoulli"]


class Bernoulli(ByProbabilities, ExponentialFamily):
    """1 with probability ``probs``, else 0; ``logits`` are its log-odds."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        one_of(probs, logits)
        if probs is not None:
            (self.probs,) = broadcast_all(probs)
        else:
            (self.logits,) = broadcast_all(logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._expanded(Bernoulli, batch_shape, _instance, probs=0, logits=0)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs)
        mode[self.probs == 0.5] = float("nan")
        return mode

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = Size()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return functions.bernoulli(self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        return -functions.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Any:
        return functions.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Any:
        values = functions.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    @property
    def _natural_params(self) -> Any:
        return (functions.logit(self.probs),)

    def _log_normalizer(self, x):
        return functions.log(1 + functions.exp(x))
