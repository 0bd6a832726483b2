"""torch.distributions.relaxed_bernoulli: differentiable stand-ins of single trials."""

from __future__ import annotations

from typing import Any

from ..base.size import Size
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .odds import Odds
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import EMPTY, broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(Odds, Distribution):
    """The log-odds of `RelaxedBernoulli` numbers. Follows ``torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli``.

    >>> import rushlight as torch
    >>> relaxed = torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5))
    >>> relaxed.log_prob(torch.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    _batched = ("probs", "logits", "_param")
    _unbatched = ("temperature",)

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        drawn = clamp_probs(functions.rand(shape, dtype=probs.dtype, device=probs.device))
        return (drawn.log() - (-drawn).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value.mul(self.temperature)
        return self.temperature.log() + distance - 2 * distance.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """Numbers in (0, 1) that are nearly 0 or 1 at a low ``temperature``, and differentiable in ``probs`` or ``logits``.

    After Maddison et al., "The Concrete distribution" (2016), and Jang et al., "Categorical reparameterization with
    Gumbel-softmax" (2017). Follows ``torch.distributions.RelaxedBernoulli``.

    >>> import rushlight as torch
    >>> probs = torch.tensor([0.1, 0.9], requires_grad=True)
    >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), probs).rsample().requires_grad
    True
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli
    _batched = ()

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """How far numbers stay from 0 and 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log-odds of a success."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probability of a success."""
        return self.base_dist.probs
