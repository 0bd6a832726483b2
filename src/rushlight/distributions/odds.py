"""Distributions that are given by probabilities or by their logits: which was given, and the other one when it is asked for."""

from __future__ import annotations

from typing import Any

from ..base.errors import hinted
from ..base.size import Size
from ..tensor import Tensor
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits


def one_of(probs: Any, logits: Any) -> tuple[str, Any]:
    """The name and the value of what was given; ValueError unless it is exactly one."""
    if (probs is None) == (logits is None):
        raise ValueError(
            hinted(
                "Either `probs` or `logits` must be specified, but not both.",
                "logits are logarithms of probabilities, or of odds, and any number is one",
            )
        )
    return ("logits", logits) if probs is None else ("probs", probs)


class Odds:
    """What distributions share whose parameter is the probability of a success, ``probs``, or its log-odds, ``logits``."""

    _param: Tensor

    def _take(self, probs, logits, total_count=None):
        """Keep what was given as tensors of one shape; ``total_count`` in the dtype of the other."""
        name, value = one_of(probs, logits)
        if total_count is None:
            (value,) = broadcast_all(value)
        else:
            total_count, value = broadcast_all(total_count, value)
            self.total_count = total_count.type_as(value)
        setattr(self, name, value)
        self._param = value

    @lazy_property
    def logits(self) -> Tensor:
        """The log-odds of a success."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of a success."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **options: Any) -> Tensor:
        return self._param.new(*args, **options)
