"""Sobol' points on arrays: direction numbers, points in the order of Gray's code, scrambling.

The direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections" (2008),
for 21,201 dimensions, https://web.maths.unsw.edu.au/~fkuo/sobol/ (new-joe-kuo-6.21201). Each dimension but the first has a primitive
polynomial, all of a degree in ascending order, and as many first numbers as its degree. The file beside this one has these numbers,
degree after degree: number k is odd and has k bits, of which the last is left out, and each bit is stored for all dimensions of the degree.
"""

from __future__ import annotations

import os

import numpy as np

from .primitive_polynomials import primitive_polynomials

BITS = 30
MOST_DIMENSIONS = 21201
_COUNTS = (1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776)  # dimensions by degree
_FILE = os.path.join(os.path.dirname(__file__), "sobol_numbers.bin")
_PLACES = np.arange(BITS)


def direction_numbers(dimensions):
    """An int64 array (dimensions, 30): the numbers whose exclusive sums are the points."""
    found = np.empty((dimensions, BITS), np.int64)
    found[0] = 1
    packed, first, row = np.fromfile(_FILE, np.uint8), 0, 1
    for degree, count in enumerate(_COUNTS, 1):
        if row >= dimensions:
            break
        last = first + count * (degree * (degree - 1) // 2)
        bits = np.unpackbits(packed[first // 8 : -(-last // 8)])[first % 8 :][: last - first].reshape(-1, count)
        wanted = slice(min(count, dimensions - row))
        found[row : row + count] = _numbers(bits[:, wanted], primitive_polynomials(degree)[wanted]).T
        first, row = last, row + count
    return found << (BITS - 1 - _PLACES)


def _numbers(bits, polynomials):
    """The numbers (30, dimensions) of dimensions of one degree, without their scale: the first from bits, then by recurrence."""
    degree = int(polynomials[0]).bit_length() - 1
    numbers, stored = np.ones((BITS, len(polynomials)), np.int64), iter(bits)
    for place in range(degree):
        for bit in range(place, 0, -1):
            numbers[place] |= next(stored).astype(np.int64) << bit
    coefficients = polynomials >> np.arange(degree + 1)[:, None] & 1
    for place in range(degree, BITS):
        numbers[place] = numbers[place - degree]
        for back in range(1, degree + 1):
            numbers[place] ^= coefficients[degree - back] * numbers[place - back] << back
    return numbers


def _changes(count, generated):
    """Which direction number each of the next ``count`` points differs by: the place of the lowest bit that is 0."""
    numbers = np.arange(generated, generated + count)
    lowest = ~numbers & (numbers + 1)
    return np.log2(lowest).astype(np.int64)


def next_points(state, directions, count, generated):
    """The next points after ``generated``, an int64 array (count, dimensions): numbers below 2**30; the last is the new state."""
    steps = directions.T[_changes(count, generated)]
    steps[:1] ^= state
    return np.bitwise_xor.accumulate(steps, 0)


def skipped(state, directions, count, generated):
    """The state after ``count`` more points."""
    return state ^ np.bitwise_xor.reduce(directions.T[_changes(count, generated)], 0)


def scrambled(directions, matrices):
    """Direction numbers multiplied by lower triangular matrices of bits, an int64 array (dimensions, 30, 30), modulo 2."""
    rows = matrices.copy()
    rows[:, _PLACES, _PLACES] = 1
    masks = rows @ (1 << _PLACES[::-1])
    parities = np.bitwise_count(masks[:, None, :] & directions[:, :, None]) & 1
    return parities.astype(np.int64) @ (1 << _PLACES[::-1])
