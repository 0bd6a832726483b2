"""Whether an export is under way: what `torch.compiler.is_exporting` and `torch.onnx.is_in_onnx_export` answer."""

from __future__ import annotations

from typing import Any

from .contexts import contextmanager

UNDER_WAY = {"torch.export": 0, "torch.onnx": 0}  # how many exports, one within another


def is_exporting() -> bool:
    """Whether code is being exported: True while `torch.export.export` runs it."""
    return UNDER_WAY["torch.export"] > 0


def is_in_onnx_export() -> bool:
    """Whether `torch.onnx.export` is running the model."""
    return UNDER_WAY["torch.onnx"] > 0


@contextmanager
def exporting(by: str) -> Any:
    """A block in which an export by ``torch.export`` or ``torch.onnx`` is under way."""
    before = UNDER_WAY[by]
    try:
        UNDER_WAY[by] = before + 1
        yield
    finally:
        UNDER_WAY[by] = before
