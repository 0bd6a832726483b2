"""The categorical distribution."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import finfo, int64
from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .by_probabilities import ByProbabilities
from .distribution import Distribution
from .utils import one_of

__all__ = ["Categorical"]


class Categorical(ByProbabilities, Distribution):
    """An index ``i`` with the probability ``probs[..., i]``; the last dimension is normalised.

    >>> import rushlight as torch
    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        one_of(probs, logits)
        if probs is not None:
            _at_least_a_vector(probs, "probs")
            self.probs = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            _at_least_a_vector(logits, "logits")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._expanded(Categorical, batch_shape, _instance, probs=1, logits=1)
        new._num_events = self._num_events
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Any:
        return functions.full(self._extended_shape(), float("nan"), dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Any:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Any:
        return self.mean

    def sample(self, sample_shape: Any = Size()) -> Any:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        samples = functions.multinomial(rows.detach(), sample_shape.numel(), True).T
        return samples.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        if self._validate_args:
            self._validate_sample(value)
        value, log_probs = functions.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_probs.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = functions.clamp(self.logits, min=finfo(self.logits.dtype).min)  # 0 times -inf would be NaN
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = functions.arange(self._num_events, dtype=int64, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


def _at_least_a_vector(value, name):
    if value.dim() < 1:
        raise ValueError(
            hinted(f"`{name}` parameter must be at least one-dimensional.", "the last dimension holds the categories")
        )
