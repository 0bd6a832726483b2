"""What distributions share that are given by ``probs`` or ``logits``."""

from __future__ import annotations

from typing import Any

from .utils import lazy_property, logits_to_probs, probs_to_logits


class ByProbabilities:
    """One of ``probs`` and ``logits`` is a parameter, the other follows from it; of two outcomes if ``_is_binary``."""

    _is_binary = True

    @property
    def _param(self) -> Any:
        given = self.__dict__.get("probs")
        return self.logits if given is None else given

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self) -> Any:
        """Log-odds of two outcomes, normalised logarithms of more."""
        return probs_to_logits(self.probs, is_binary=self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._is_binary)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter."""
        return self._param.size()
