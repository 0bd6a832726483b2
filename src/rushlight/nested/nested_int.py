"""The length of a ragged dimension: a symbol, equal only to that of tensors with the same offsets."""

from __future__ import annotations

from itertools import count

from ..ops.native_calls import SYMBOLS

# PyTorch has given away number 0 before a program makes its first nested tensor.
_NUMBERS = count(1)


class NestedInt:
    """The length of a dimension that differs from one element of the batch to the next: ``j1``, or ``3*j1`` as a stride.

    >>> import rushlight as torch
    >>> x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    >>> (x + x).shape[1] == x.shape[1], x.shape[1] == 3
    (True, False)
    """

    __slots__ = ("factor", "number")

    def __init__(self, number: int, factor: int = 1) -> None:
        self.number, self.factor = number, factor

    def __repr__(self) -> str:
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (self.number, self.factor) == (other.number, other.factor)

    def __hash__(self) -> int:
        return hash((self.number, self.factor))

    def __mul__(self, other: int) -> NestedInt:
        if not isinstance(other, int):
            return NotImplemented
        return NestedInt(self.number, self.factor * other)

    __rmul__ = __mul__

    def __ge__(self, other: object) -> bool:
        if isinstance(other, NestedInt) and other.number == self.number:
            return self.factor >= other.factor
        if isinstance(other, int) and other <= 2:
            return True
        raise ValueError("ge: relation is indeterminate")

    def __gt__(self, other: object) -> bool:
        return not _at_least(other, self)

    def __lt__(self, other: object) -> bool:
        return not self >= other

    def __le__(self, other: object) -> bool:
        return _at_least(other, self)


SYMBOLS.add(NestedInt)


def _at_least(value: object, symbol: NestedInt) -> bool:
    """Whether ``value``, a symbol or a number, is at least ``symbol``."""
    if isinstance(value, NestedInt):
        return value >= symbol
    if isinstance(value, int) and value < 2:
        return False
    raise ValueError("ge: relation is indeterminate")


def length_of(source) -> NestedInt:
    """The length that stands for ``source``, the tensor of offsets or lengths: the same for the same tensor."""
    found = source.__dict__.get("_nested_int")
    if found is None:
        found = source._nested_int = NestedInt(next(_NUMBERS))
    return found
