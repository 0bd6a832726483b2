"""Numbers that follow from the sizes of the inputs: found from what they were in several recordings.

A recording has plain ints. Where they differ between recordings of other sizes, they are a function of these: a multiple of a
symbol or of a product of symbols, such a number divided by a constant, or the size of a tensor that was there before.
"""

from __future__ import annotations

import itertools
from math import prod
from typing import Any, NamedTuple

from .dynamic_shapes import Symbol

# By how much the sizes of the recordings differ from the example's: a row for each symbol, which two symbols do not share.
_STEPS = (1, 2, 3, 4), (2, 4, 1, 3), (3, 1, 4, 2), (4, 3, 2, 1)
RUNS = len(_STEPS[0])
_FAR = 4  # times the example's size: larger ones may take long
_LARGEST_DIVISOR = RUNS + 1  # from which on one remainder was not seen


class Formula(NamedTuple):
    """``(factor * product + offset) // divisor``, of symbols, or sizes of inputs that follow from them, by their numbers."""

    symbols: tuple[int, ...]
    factor: int
    offset: int
    divisor: int = 1

    def value(self, sizes: tuple[int, ...]) -> int:
        """What it is where the symbols have these values."""
        return (self.factor * prod(sizes[number] for number in self.symbols) + self.offset) // self.divisor


class SizeOf(NamedTuple):
    """``factor`` times the size of a dimension of the value with a number."""

    number: int
    dim: int
    factor: int = 1


def symbol_values(symbols: list[Symbol]) -> list[tuple[int, ...]]:
    """For each recording that is needed the values of all symbols: the example's first, then others within the bounds.

    A size of 1 in the example becomes 2: what runs for 1 may be another thing, as such a dimension is broadcast and lies in
    memory as one likes.
    """
    rows = [tuple(map(_first, symbols))]
    if symbols:
        rows += [
            tuple(_stepped(symbol, _STEPS[place % len(_STEPS)][run] + RUNS * (place // len(_STEPS)), run)
                  for place, symbol in enumerate(symbols))
            for run in range(RUNS)
        ]  # fmt: skip
    return rows


def bound_values(symbols: list[Symbol]) -> list[tuple[int, ...]]:
    """The values of all symbols at the ends of their ranges: 2 where there is no lower bound, upper bounds that are not far."""
    lowest = tuple(min(max(symbol.low, 2), _first(symbol)) for symbol in symbols)
    highest = tuple(int(symbol.high) if symbol.high <= _FAR * _first(symbol) else _first(symbol) for symbol in symbols)
    return list(dict.fromkeys([lowest, highest]))


def _first(symbol: Symbol) -> int:
    return 2 if symbol.example == 1 and symbol.high >= 2 else symbol.example


def _stepped(symbol: Symbol, step: int, run: int) -> int:
    """The first size and a step, which goes down where the bounds leave no room above."""
    for size in (_first(symbol) + step, _first(symbol) - step):
        if max(symbol.low, 1) <= size <= symbol.high:
            return size
    room = range(int(max(symbol.low, 1)), int(symbol.high) + 1)
    return room[run % len(room)]


class Sizes:
    """Finds what a number is, from its values in all recordings.

    Args:
        rows: the values of the symbols, and of sizes of inputs that follow from them, recording by recording.
        shapes: the shapes of all values, recording by recording.
    """

    def __init__(self, rows: list[tuple[int, ...]], shapes: list[list[tuple[int, ...]]]):
        self.rows, self.shapes = rows, shapes
        count = len(rows[0])
        subsets = [chosen for size in (1, 2, 3) for chosen in itertools.combinations(range(count), size)]
        self.products = [(chosen, [prod(row[number] for number in chosen) for row in rows]) for chosen in subsets]

    def formula(self, values: list[int]) -> int | Formula | None:
        """A constant or a function of symbols; None where it is neither."""
        if all(value == values[0] for value in values):
            return values[0]
        for chosen, products in self.products:
            found = _linear(chosen, products, values)
            if found is not None:
                return found
        for chosen, products in self.products:
            found = _quotient(chosen, products, values)
            if found is not None:
                return found
        return None

    def find(self, values: list[int], known: int) -> Any:
        """A constant, a `Formula`, or a `SizeOf` one of the first ``known`` values; None where it is none of them."""
        found = self.formula(values)
        if found is not None:
            return found
        for exact in (True, False):
            for number in reversed(range(known)):
                for dim in range(len(self.shapes[0][number])):
                    sizes = [shapes[number][dim] for shapes in self.shapes]
                    if exact and sizes == values:
                        return SizeOf(number, dim)
                    if not exact and _ratio(sizes, values):
                        return SizeOf(number, dim, values[0] // sizes[0])
        return None


def _linear(chosen: tuple[int, ...], products: list[int], values: list[int]) -> Formula | None:
    first, other = 0, next((i for i, product in enumerate(products) if product != products[0]), 0)
    if not other:
        return None
    factor, rest = divmod(values[other] - values[first], products[other] - products[first])
    offset = values[first] - factor * products[first]
    fits = not rest and all(factor * product + offset == value for product, value in zip(products, values))
    return Formula(chosen, factor, offset) if fits else None


def _quotient(chosen: tuple[int, ...], products: list[int], values: list[int]) -> Formula | None:
    """``(product + offset) // divisor``, where the recordings leave one offset only."""
    for divisor in range(2, _LARGEST_DIVISOR + 1):
        least = max(divisor * value - product for product, value in zip(products, values))
        most = min(divisor * value + divisor - 1 - product for product, value in zip(products, values))
        if least == most:
            return Formula(chosen, 1, least, divisor)
    return None


def _ratio(sizes: list[int], values: list[int]) -> bool:
    if not all(sizes):
        return False
    factor = values[0] // sizes[0]
    return len({*sizes}) > 1 and all(size * factor == value for size, value in zip(sizes, values))
