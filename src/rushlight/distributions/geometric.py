"""torch.distributions.geometric: failures before the first success."""

from __future__ import annotations

from ..autograd import no_grad
from ..base.dtypes import finfo
from ..base.errors import hinted
from ..base.size import Size
from ..nn.functional import binary_cross_entropy_with_logits
from ..ops.table import functions
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .odds import Odds
from .utils import EMPTY, broadcast_all

__all__ = ["Geometric"]


class Geometric(Odds, Distribution):
    """Geometric distributions: failures before a success of probability ``probs`` (log-odds ``logits``).

    ``torch.geometric_`` counts the success, too; this does not. Follows ``torch.distributions.Geometric``.

    >>> import rushlight as torch
    >>> torch.distributions.Geometric(torch.tensor([0.25, 0.5])).mean
    tensor([3., 1.])
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _batched = ("probs", "logits", "_param")

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._check_positive(self.probs)

    def _check_positive(self, probs):
        positive = probs > 0
        if not positive.all():
            raise ValueError(
                hinted(
                    f"Expected parameter probs ({type(probs).__name__} of shape {tuple(probs.shape)}) of distribution {self!r} "
                    f"to be positive but found invalid values:\n{probs.detach()[~positive]}",
                    "without any chance of success the wait does not end",
                )
            )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return functions.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Size | list | tuple = EMPTY) -> Tensor:
        with no_grad():
            drawn = self.probs.new(self._extended_shape(sample_shape)).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (drawn.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value, probs = broadcast_all(value, self.probs)
        failing = probs.masked_fill((probs == 1) & (value == 0), 0)  # no failures among certain successes
        return value * (-failing).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
