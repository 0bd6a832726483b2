"""How a MaskedTensor becomes text: floats with four digits, ``--`` where an element is masked."""

from __future__ import annotations

from ..base.device import strided
from ..tensor import Tensor

_HIDDEN = "--"
_WIDTH = 8


def text(data: Tensor, mask: Tensor) -> str:
    """The text of a MaskedTensor."""
    if data.layout is not strided:
        data, mask = data.to_dense(), mask.to_dense()
    if not data.dim():
        kept = mask.item()
        return f"MaskedTensor({_number(data.item()) if kept else _HIDDEN}, {kept})"
    return f"MaskedTensor(\n{_indented(_block(data, mask))}\n)"


def _number(value):
    return f"{value:{_WIDTH}.4f}" if isinstance(value, float) else str(value)


def _block(data, mask):
    """The elements in brackets, a row on a line."""
    if data.dim() > 1:
        rows = [_indented(_block(row, kept)) for row, kept in zip(data, mask)]
        return "[\n" + ",\n".join(rows) + "\n]"
    numbers, kept = [_number(value) for value in data.tolist()], mask.tolist()
    width = max([len(number) if keep else _WIDTH for number, keep in zip(numbers, kept)])
    return "[" + ", ".join([number if keep else _HIDDEN.rjust(width) for number, keep in zip(numbers, kept)]) + "]"


def _indented(lines):
    return "\n".join(["  " + line for line in lines.split("\n")])
