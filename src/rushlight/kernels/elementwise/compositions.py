"""Operations made of elementwise kernels whose operands are parts of theirs, or larger together than each."""

from __future__ import annotations

import numpy as np

from ...ops.elementwise.gating import halves
from ...ops.table import TABLE
from ..planning.registry import kernel_for
from . import elementwise_elements
from .calls import fused, run


def gated(m, value, gate):
    """A value times the sigmoid of its gate."""
    return value * m.sigmoid(gate)


def gate_slope(m, grad, value, gate):
    """The gradient of `gated` for the gate."""
    share = m.sigmoid(gate)
    return grad * value * share * (1 - share)


@kernel_for("glu")
def glu(self, dim):
    return fused(gated, halves(self, dim))


@kernel_for("glu_gradient")
def glu_gradient(grad, self, dim):
    first, second = halves(self, dim)
    if grad.dtype is not self.dtype or grad.shape != first.shape:
        return NotImplemented
    found = np.empty(self.shape, self.dtype)
    of_first, of_second = halves(found, dim)
    if fused(gated, (grad, second), of_first) is NotImplemented:
        return NotImplemented
    done = fused(gate_slope, (grad, first, second), of_second)
    return done if done is NotImplemented else found


@kernel_for("outer_product")
def outer_product(self, vec2):
    if self.dtype is not vec2.dtype or self.size * vec2.size < elementwise_elements(TABLE["mul"]):
        return NotImplemented
    return run(TABLE["mul"], [self[:, None], vec2])
