"""torch.distributions.one_hot_categorical: one of several classes, as a vector of one 1 and zeros."""

from __future__ import annotations

from ..base.size import Size
from ..nn.functional import one_hot
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical, OverCategorical
from .utils import EMPTY

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategorical):
    """Categorical distributions over vectors with a 1 in the place of the class. Follows ``torch.distributions.OneHotCategorical``.

    >>> import rushlight as torch
    >>> one_hot = torch.distributions.OneHotCategorical(torch.tensor([1.0, 1.0, 2.0]))
    >>> one_hot.mode, one_hot.event_shape
    (tensor([0., 0., 1.]), torch.Size([3]))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _batched = ("_categorical",)

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._vectors(self.probs.argmax(dim=-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _vectors(self, classes):
        return one_hot(classes, self._categorical._num_events).to(self.probs)

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        return self._vectors(self._categorical.sample(Size(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self.event_shape[0]
        values = functions.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n, *(1 for _ in self.batch_shape), n))
        return values.expand((n, *self.batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with samples whose gradient is passed on to ``probs`` as if they were those.

    After Bengio et al., "Estimating or propagating gradients through stochastic neurons" (2013). Follows
    ``torch.distributions.OneHotCategoricalStraightThrough``.

    >>> import rushlight as torch
    >>> probs = torch.tensor([0.5, 0.5], requires_grad=True)
    >>> torch.distributions.OneHotCategoricalStraightThrough(probs).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        samples = self.sample(sample_shape)
        return samples + (self.probs - self.probs.detach())
