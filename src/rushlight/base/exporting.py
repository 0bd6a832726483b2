"""Whether `torch.export.export` is running a module: what `torch.compiler.is_exporting` answers."""

from __future__ import annotations

from typing import Any

from .contexts import contextmanager


class _State:
    exports = 0  # how many are under way


def is_exporting() -> bool:
    """Whether code is being exported: True while `torch.export.export` runs it."""
    return _State.exports > 0


@contextmanager
def exporting() -> Any:
    """A block in which `is_exporting` is True."""
    before = _State.exports
    try:
        _State.exports = before + 1
        yield
    finally:
        _State.exports = before
