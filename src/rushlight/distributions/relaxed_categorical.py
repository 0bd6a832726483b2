"""torch.distributions.relaxed_categorical: differentiable stand-ins of one class among several."""

from __future__ import annotations

from typing import Any

from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .categorical import Categorical, OverCategorical
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import EMPTY, broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategorical):
    """The logarithms of `RelaxedOneHotCategorical` vectors. Follows ``torch.distributions.relaxed_categorical.ExpRelaxedCategorical``.

    >>> import rushlight as torch
    >>> relaxed = torch.distributions.relaxed_categorical.ExpRelaxedCategorical(torch.tensor(1.0), torch.tensor([0.5, 0.5]))
    >>> relaxed.log_prob(torch.tensor([0.5, 0.5]).log()).exp()
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _batched = ("_categorical",)
    _unbatched = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = clamp_probs(functions.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-drawn.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        classes = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        normalizer = functions.full_like(self.temperature, float(classes)).lgamma() + self.temperature.log() * (
            classes - 1
        )
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + normalizer


class RelaxedOneHotCategorical(TransformedDistribution):
    """Probability vectors that are nearly one-hot at a low ``temperature``, and differentiable in ``probs`` or ``logits``.

    After Maddison et al., "The Concrete distribution" (2016), and Jang et al., "Categorical reparameterization with
    Gumbel-softmax" (2017). Follows ``torch.distributions.RelaxedOneHotCategorical``.

    >>> import rushlight as torch
    >>> probs = torch.tensor([0.1, 0.2, 0.7], requires_grad=True)
    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), probs).rsample().requires_grad
    True
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical
    _batched = ()

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """How far vectors stay from one-hot ones."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the classes' probabilities."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of the classes."""
        return self.base_dist.probs
