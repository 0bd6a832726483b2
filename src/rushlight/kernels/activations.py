"""Activations that are no elementwise formula of one operand."""

from __future__ import annotations

from ..ops.elementwise.activation import halves
from ..ops.table import TABLE
from .elementwise import run
from .routing import kernel_for


@kernel_for("glu")
def glu(self, dim):
    first, second = halves(self, dim)
    gate = run(TABLE["sigmoid"], [second])
    return NotImplemented if gate is NotImplemented else run(TABLE["mul"], [first, gate], dtype=self.dtype)
