"""What an export leaves on disk besides the model: its report as Markdown, and the exported program."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any

from ..export import ExportedProgram, save
from .builder import onnx_package

_STEPS = (
    "Obtain model graph with `torch.export.export(..., strict=False)`",
    "Translate the graph into ONNX",
    "Run `onnx.checker` on the ONNX model",
)


class Records:
    """A block in which a model is exported, and the files that are left of it; their names tell when it began.

    Args:
        folder: where they are written; made where it is missing.
        reports: whether a report is written at the end, however that comes.
        say: what tells of the files.

    Attributes:
        program: the exported program, where the export came to it.
        model: the ONNX model, where the export came to it.
    """

    def __init__(self, folder: str | os.PathLike[str], reports: bool, say: Callable[[str], None]):
        self._folder, self._reports, self._say = os.fspath(folder), reports, say
        self._stamp = f"{datetime.now():%Y-%m-%d_%H-%M-%S-%f}"
        self.program: ExportedProgram | None = None
        self.model: Any = None

    def __enter__(self) -> Records:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self._reports:
            self._say(f"[torch.onnx] Export report has been saved to '{self._report(error)}'.")

    def _path(self, ending: str) -> str:
        os.makedirs(self._folder, exist_ok=True)
        return os.path.join(self._folder, f"onnx_export_{self._stamp}{ending}")

    def keep(self, program: ExportedProgram) -> None:
        """Save the exported program, which `torch.export.load` reads."""
        path = self._path(".pt2")
        save(program, path)
        self._say(f"[torch.onnx] Exported program has been saved to '{path}'.")

    def _report(self, error: BaseException | None) -> str:
        """Write what came of the export; the path."""
        done = 0 if self.program is None else 1 if self.model is None else 2 if error is not None else 3
        outcome = ("pt_export", "conversion", "onnx_check", "success")[done]
        marks = ["✅"] * done + ["❌"] * (error is not None)
        parts = ["# ONNX export", "\n".join(f"{mark} {step}  " for mark, step in zip(marks, _STEPS))]
        if error is not None:
            parts.append(_block("Error", f"{type(error).__name__}: {error}"))
        if self.program is not None:
            parts += [_block("Exported program", str(self.program)), _counts(self.program)]
        if self.model is not None:
            parts.append(_block("ONNX model", onnx_package().printer.to_text(self.model)))
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
