"""How `fully_shard` computes and where it keeps parts, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes in which parameters compute, gradients are reduced and outputs come; whether inputs are cast to the first."""

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parts stay where they are."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parts lie on the CPU, where they lie anyway."""

    pin_memory: bool = True
