"""Sobol' points on arrays: direction numbers, points in the order of Gray's code, scrambling.

The direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections" (2008),
for 21,201 dimensions, https://web.maths.unsw.edu.au/~fkuo/sobol/ (new-joe-kuo-6.21201). The file beside this one has, for each
dimension but the first, the inner coefficients of its primitive polynomial and its first numbers, which are odd, without their
last bits: dimensions of one degree are equally long, and all degrees follow each other bit by bit.
"""

from __future__ import annotations

import os

import numpy as np

BITS = 30
MOST_DIMENSIONS = 21201
_COUNTS = (1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176, 144, 630, 756, 1800, 2048, 7710, 7776)  # dimensions by degree
_FILE = os.path.join(os.path.dirname(__file__), "sobol_directions.bin")
_PLACES = np.arange(BITS)


def direction_numbers(dimensions):
    """An int64 array (dimensions, 30): the numbers whose exclusive sums are the points."""
    found = np.empty((dimensions, BITS), np.int64)
    found[0] = 1
    packed, first, row = np.fromfile(_FILE, np.uint8), 0, 1
    for degree, count in enumerate(_COUNTS, 1):
        if row >= dimensions:
            break
        wanted, length = min(count, dimensions - row), degree - 1 + degree * (degree - 1) // 2
        last = first + wanted * length
        bits = np.unpackbits(packed[first // 8 : -(-last // 8)])[first % 8 :][: wanted * length].astype(np.int64)
        found[row : row + wanted] = _continued(bits.reshape(wanted, length), degree)
        first, row = first + count * length, row + count
    return found << (BITS - 1 - _PLACES)


def _continued(bits, degree):
    """The 30 numbers of dimensions whose polynomials are of one degree, by their recurrence; still without their scale."""
    numbers = np.empty((len(bits), BITS), np.int64)
    inner, at = bits[:, : degree - 1], degree - 1
    for place in range(degree):
        numbers[:, place] = 2 * (bits[:, at : at + place] @ (1 << _PLACES[:place][::-1])) + 1
        at += place
    for place in range(degree, BITS):
        following = numbers[:, place - degree] ^ (numbers[:, place - degree] << degree)
        for back in range(1, degree):
            following ^= inner[:, back - 1] * (numbers[:, place - back] << back)
        numbers[:, place] = following
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
