"""The modes that a module is exported in."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ..base.contexts import contextmanager
from ..nn import Module


class TrainingMode(IntEnum):
    """The mode that a module is exported in: evaluation, as it is, or training."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(IntEnum):
    """What becomes of operations that ONNX does not have: they are refused, whatever is chosen."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


@contextmanager
def select_model_mode_for_export(model: Any, mode: TrainingMode) -> Any:
    """A block in which a module is in the mode that it is exported in; afterwards it is in its own again."""
    if not isinstance(mode, TrainingMode):
        raise TypeError(f"'mode' should be a torch.onnx.TrainingMode enum, but got '{type(mode)}'.")
    before = {each: each.training for each in model.modules()} if isinstance(model, Module) else {}
    if mode != TrainingMode.PRESERVE and before:
        model.train(mode == TrainingMode.TRAINING)
    try:
        yield
    finally:
        for each, training in before.items():
            each.training = training
