"""What an export leaves on disk besides the model: its report as Markdown, and the exported program."""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime
from typing import Any

from ..export import ExportedProgram, save

_STEPS = (
    "Obtain model graph with `torch.export.export(..., strict=False)`",
    "Translate the graph into ONNX",
    "Run `onnx.checker` on the ONNX model",
)


class Records:
    """The files of one export; their names tell when it began.

    Args:
        folder: where they are written; made where it is missing.
    """

    def __init__(self, folder: str | os.PathLike[str]):
        self._folder = os.fspath(folder)
        self._stamp = f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}"

    def _path(self, ending: str) -> str:
        os.makedirs(self._folder, exist_ok=True)
        return os.path.join(self._folder, f"onnx_export_{self._stamp}{ending}")

    def keep_program(self, program: ExportedProgram) -> str:
        """Save the exported program, which `torch.export.load` reads; the path."""
        path = self._path(".pt2")
        save(program, path)
        return path

    def report(self, program: ExportedProgram | None, model: str | None, error: Exception | None) -> str:
        """Write what came of the export; the path.

        Args:
            program: the exported program, where the export came to it.
            model: the ONNX model as text, where the export came to it.
            error: what ended the export.
        """
        done = (program is not None) + 2 * (model is not None)
        outcome = "success" if error is None else ("pt_export", "conversion", "", "onnx_check")[done]
        marks = ["✅"] * done + ["❌"] * (error is not None)
        parts = ["# ONNX export", "\n".join(f"{mark} {step}  " for mark, step in zip(marks, _STEPS))]
        if error is not None:
            parts.append(_block("Error", f"{type(error).__name__}: {error}"))
        if program is not None:
            parts += [_block("Exported program", str(program)), _counts(program)]
        if model is not None:
            parts.append(_block("ONNX model", model))
        path = self._path(f"_{outcome}.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n\n".join(parts) + "\n")
        return path


def _block(title: str, text: str) -> str:
    return f"## {title}\n\n```\n{text.rstrip()}\n```"


def _counts(program: ExportedProgram) -> str:
    """How often each operation stands in the program."""
    names: Counter[Any] = Counter(node.target.__name__ for node in program.graph.nodes if node.op == "call_function")
    return "## Operations\n\n" + "\n".join(f"- `{name}`: {count}" for name, count in sorted(names.items()))
