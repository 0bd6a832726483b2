"""Errors and warnings of the export to ONNX."""

from __future__ import annotations

from typing import Any

from ..base.errors import hinted


class OnnxExporterWarning(UserWarning):
    """Warnings of the export."""


class OnnxExporterError(RuntimeError):
    """The base of the export's errors."""


class UnsupportedOperatorError(OnnxExporterError):
    """An operation that ONNX cannot say, or cannot say of these arguments.

    Args:
        name: the operation, ``aten::NAME``.
        version: the version of ONNX's operations that was asked for.
        supported_version: from which on it can be said; None where it cannot.
        hint: what can be done.
    """

    def __init__(self, name: str, version: int, supported_version: int | None, hint: str | None = None):
        line = f"Exporting the operator '{name}' to ONNX opset version {version} is not supported"
        if supported_version is not None:
            line += (
                f". Support for this operator was added in version {supported_version}, try exporting with this version"
            )
        super().__init__(hinted(line, hint) if hint else line)


class SymbolicValueError(OnnxExporterError):
    """A value of the graph that does not fit where it stands."""

    def __init__(self, msg: str, value: Any):
        super().__init__(f"{msg}  [Caused by the value '{value}']")
