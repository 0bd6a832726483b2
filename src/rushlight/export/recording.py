"""What ran: the calls of a function's operations, with every value under a number, so that two recordings can be compared."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import place_of
from ..base.lazy import stored_in
from ..ops import table
from ..tensor import Tensor
from ..tensor.interposers import Interposer, below


class Ref(NamedTuple):
    """The value with a number, in place of a tensor."""

    number: int


class Positions(NamedTuple):
    """Positions that an index was given as, and the numbers of the values that hold the same."""

    array: np.ndarray
    equals: frozenset[int]


class Call(NamedTuple):
    """One call: the operation's name (with ``_`` where it wrote into its first argument), its arguments, the numbers of its
    results, and whether it gave several."""

    name: str
    arguments: tuple[Any, ...]
    results: tuple[int | None, ...]
    several: bool


class Recording(Interposer):
    """Notes the calls of this thread.

    Args:
        given: the tensors that are known before: parameters, buffers, inputs. They have the first numbers.

    Attributes:
        calls: what ran.
        tensors: all values by number, kept alive.
        shapes: their shapes.
        constants: those that neither were given nor came from an operation, by number, as they were found; ``tensors`` has copies.
        written: the tensors that calls wrote into.
    """

    def __init__(self, given: list[Tensor]):
        super().__init__()
        self.calls: list[Call] = []
        self.tensors: list[Tensor] = []
        self.shapes: list[tuple[int, ...]] = []
        self.constants: dict[int, Tensor] = {}
        self.written: list[Tensor] = []
        self._numbers: dict[Any, int] = {}  # by identity, and by place in memory
        self._places: list[Any] = []  # where each value lay when it came
        self._integers: dict[tuple[int, ...], list[int]] = {}  # values that an index may have come from, by shape
        for tensor in given:
            self._enter(tensor)

    def call(self, op: Any, schema: Any, values: Any, again: Any, around: Any, writes: bool = False) -> Any:
        name = f"{op.name}_" if writes and op.kind != table.INPLACE else op.name
        arguments = tuple(self.noted(value) for value in values)
        if writes:
            self.written.append(values[0])
        with below(self):
            found = again(values)
        several = isinstance(found, (tuple, list))
        numbers = tuple(None if each is None else self._enter(each) for each in (found if several else (found,)))
        self.calls.append(Call(name, arguments, numbers, several))
        return found

    def number_of(self, tensor: Tensor) -> int:
        """The number of a tensor; one that is new becomes a constant."""
        known, place = self._numbers.get(id(tensor)), _place_of(tensor)
        if known is None or self._places[known] != place:  # it is new, or looks elsewhere since, as after squeeze_()
            known = self._numbers.get(place, known)
        if known is None:
            known = self._enter(tensor)
            self.constants[known] = tensor
            with below(self):
                self.tensors[known] = tensor.detach().clone()  # as it is now
        return known

    def _enter(self, tensor: Tensor) -> int:
        number = len(self.tensors)
        self.tensors.append(tensor)
        self.shapes.append(tuple(tensor.shape))
        place = _place_of(tensor)
        self._places.append(place)
        self._numbers[id(tensor)] = self._numbers[place] = number
        if stored_in(tensor._array).dtype.kind == "i":
            self._integers.setdefault(self.shapes[-1], []).append(number)
        return number

    def noted(self, value: Any) -> Any:
        """An argument with numbers in place of tensors."""
        if isinstance(value, Tensor):
            return Ref(self.number_of(value))
        if isinstance(value, np.ndarray):
            candidates = self._integers.get(value.shape, ())
            equal = (number for number in candidates if np.array_equal(self.tensors[number]._array, value))
            return Positions(value.copy(), frozenset(equal))
        if isinstance(value, (list, tuple)):
            return [self.noted(each) for each in value] if isinstance(value, list) else (*map(self.noted, value),)
        return value


def _place_of(tensor: Tensor) -> Any:
    return place_of(stored_in(tensor._array))
