"""torch.distributions.multinomial: how often each of several classes came up."""

from __future__ import annotations

import math

from ..base.errors import hinted
from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.creation import tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical, OverCategorical
from .utils import EMPTY, broadcast_all, lazy_property

__all__ = ["Multinomial"]


class Multinomial(OverCategorical):
    """Counts of the classes in ``total_count`` draws; the classes' ``probs`` or ``logits`` are those of `Categorical`.

    ``total_count`` is one int; anything else raises NotImplementedError. Follows ``torch.distributions.Multinomial``.

    >>> import rushlight as torch
    >>> multinomial = torch.distributions.Multinomial(10, torch.tensor([1.0, 4.0]))
    >>> multinomial.mean, multinomial.log_prob(torch.tensor([2.0, 8.0])).exp()
    (tensor([2., 8.]), tensor(0.3020))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _batched = ("_categorical",)
    _unbatched = ("total_count",)
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError(
                hinted("inhomogeneous total_count is not supported", "give one int, or make one distribution a count")
            )
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        """Counts that add up to ``total_count`` at most."""
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @lazy_property
    def _binomial(self):
        """How often each class comes up by itself."""
        return Binomial(total_count=self.total_count, probs=self.probs)

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add_(-1, drawn, functions.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        count = tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        orders = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return count * self._categorical.entropy() - (count + 1).lgamma() + orders

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)  # what cannot happen did not
        orders = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return orders + (logits * value).sum(-1)
