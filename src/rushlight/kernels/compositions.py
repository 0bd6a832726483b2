"""Operations made of elementwise kernels whose operands are parts of theirs, or larger together than each."""

from __future__ import annotations

from ..ops.elementwise.activation import halves
from ..ops.table import TABLE
from .elementwise import run
from .routing import kernel_for
from .thresholds import elementwise_elements


@kernel_for("glu")
def glu(self, dim):
    first, second = halves(self, dim)
    gate = run(TABLE["sigmoid"], [second])
    return NotImplemented if gate is NotImplemented else run(TABLE["mul"], [first, gate], dtype=self.dtype)


@kernel_for("outer_product")
def outer_product(self, vec2):
    if self.dtype is not vec2.dtype or self.size * vec2.size < elementwise_elements(TABLE["mul"]):
        return NotImplemented
    return run(TABLE["mul"], [self[:, None], vec2])
