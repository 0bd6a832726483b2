"""torch.distributions.categorical: one of several classes."""

from __future__ import annotations

import math
from typing import Any

from ..base.dtypes import finfo, int64
from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .odds import one_of
from .utils import EMPTY, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """Classes 0 to n - 1 with probabilities in proportion to the last dimension of ``probs``, or of ``exp(logits)``.

    A parameter without dimensions raises ValueError. Follows ``torch.distributions.Categorical``.

    >>> import rushlight as torch
    >>> categorical = torch.distributions.Categorical(torch.tensor([1.0, 1.0, 2.0]))
    >>> categorical.probs, categorical.log_prob(torch.tensor(2)).exp()
    (tensor([0.2500, 0.2500, 0.5000]), tensor(0.5000))
    >>> _ = torch.manual_seed(0)
    >>> categorical.sample((5,))
    tensor([2, 2, 1, 2, 2])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _batched = ("probs", "logits", "_param")
    _unbatched = ("_num_events",)

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name, value = one_of(probs, logits)
        if value.dim() < 1:
            raise ValueError(
                hinted(
                    f"`{name}` parameter must be at least one-dimensional.", "the last dimension is that of the classes"
                )
            )
        if name == "probs":
            self.probs = self._param = value / value.sum(-1, keepdim=True)
        else:
            self.logits = self._param = value - value.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        """Whole numbers from 0 to n - 1."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities, which add up to 1."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **options: Any) -> Tensor:
        return self._param.new(*args, **options)

    @property
    def mean(self) -> Tensor:
        return functions.full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        rows = self.probs.reshape(-1, self._num_events)
        drawn = functions.multinomial(rows, Size(sample_shape).numel(), True)
        return drawn.T.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value, logits = functions.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # 0 * -inf is 0 here
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(functions.arange(self._num_events, dtype=int64, device=self._param.device), expand)


class OverCategorical(Distribution):
    """What distributions share whose classes a categorical distribution draws; the classes are the event's dimension."""

    _categorical: Categorical

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._categorical.param_shape

    @property
    def _param(self):
        return self._categorical._param

    def _new(self, *args: Any, **options: Any) -> Tensor:
        return self._categorical._new(*args, **options)
