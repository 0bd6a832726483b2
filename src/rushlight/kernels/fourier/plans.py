"""What Fourier transforms need to know of a length: its stages, its factors, and how to cut it. Computed once and kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..planning.plans import Plans
from .passes import ANY, EVEN, LARGEST, ODD, roots

_STEP = 1 << 18  # factors that are computed at once
_MOST_BYTES = 1 << 28  # of tables that are kept
_FIRST_CACHE = 1 << 15  # bytes, halved: what a block's items should fit into
_SECOND_CACHE = 1 << 19


class Stages(NamedTuple):
    """A length's stages: rows of radix, m, s and where its twiddle factors begin; and these."""

    table: np.ndarray
    twiddles: np.ndarray
    radices: frozenset


class Tables(dict):
    """Tables by what they are for. When they take too much memory, all are forgotten, and what was planned with them: it is in
    ``planned``, or forgotten by the functions ``forget``."""

    def __init__(self):
        super().__init__()
        self.bytes, self.planned, self.forget = 0, Plans(), []

    def remembered(self, make, *arguments):
        key = (make.__name__, *arguments)
        found = self.get(key)
        if found is None:
            found = make(*arguments)
            parts = found if isinstance(found, tuple) else (found,)
            size = sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
            if self.bytes + size > _MOST_BYTES:
                self.clear()
                self.planned.clear()
                for forget in self.forget:
                    forget()
                self.bytes = 0
            self.bytes += size
            self[key] = found
        return found


tables = Tables()


def radices_of(length):
    """The radices of a length's stages, or None where it has other prime factors than those."""
    found = []
    for radix in (*ODD, *range(max(ODD) + 2, LARGEST + 1, 2)):
        while length % radix == 0:
            found.append(radix)
            length //= radix
    twos = length.bit_length() - 1
    if length != 1 << twos:
        return None
    eights, rest = divmod(twos, 3)
    if rest == 1 and eights:
        return (*found, *(EVEN[0],) * (eights - 1), 4, 4)
    return (*found, *(EVEN[0],) * eights, *((1 << rest,) if rest else ()))


def stages_of(length, scalar):
    """The Stages of a length, whose radices there are."""
    rows, factors, m, s, first = [], [], length, 1, 0
    for radix in radices_of(length):
        m //= radix
        rows.append((radix, m, s, first))
        turns = roots(np.arange(m)[:, None] * np.arange(1, radix), radix * m)
        if radix > max(ODD):
            half = np.arange(1, radix // 2 + 1)
            factors.append(roots(half[:, None] * half, radix).conj().reshape(-1).view(np.float64))
            first += factors[-1].size
        factors.append(turns.reshape(-1).view(np.float64))
        first += factors[-1].size
        s *= radix
    found = np.concatenate(factors).astype(scalar)
    return Stages(np.array(rows, np.int64), found, frozenset(row[0] if row[0] <= max(ODD) else ANY for row in rows))


def between_of(n1, n2, lanes, scalar, inverse):
    """The factors between the two steps of n1 * n2 numbers, for each block of columns those of its items."""
    blocks = -(-n2 // lanes)
    whole = np.empty((blocks * n1 + lanes // 2, 2, lanes), scalar)  # the last tile may reach beyond
    whole[blocks * n1 :] = 0
    found = whole[: blocks * n1].reshape(blocks, n1, 2, lanes)
    rows, step = np.arange(n1)[:, None], max(1, _STEP // (n1 * lanes))
    within = roots(np.arange(lanes) * rows, n1 * n2)
    for block in range(0, blocks, step):
        firsts = np.arange(block, min(block + step, blocks)).reshape(-1, 1, 1) * lanes
        if scalar == "float32":  # a product in double precision is exact enough, and takes a seventh of the time
            turns = roots(firsts * rows, n1 * n2) * within
        else:
            turns = roots((firsts + np.arange(lanes)) * rows, n1 * n2)
        found[block : block + step, :, 0] = turns.real
        found[block : block + step, :, 1] = -turns.imag if inverse else turns.imag
    return whole


def halves_of(h, lanes, scalar, inverse):
    """The factors that spectra of 2 h real numbers are made with from those of h complex ones: see `halves_function`."""
    together = lanes // 2
    count = -(-(h // 2) // together) * together
    factors = -0.5j * roots(np.arange(1, count + 1), 2 * h)
    if inverse:
        factors = factors.conj()
    found = np.empty((count // together, 2, together, 2), scalar)
    found[:, 0] = factors.real.reshape(-1, together, 1)
    found[:, 1, :, 1] = factors.imag.reshape(-1, together)
    found[:, 1, :, 0] = -found[:, 1, :, 1]
    return found


def _cost(length, item_bytes):
    """What a block of so many items takes, in visits of an item."""
    size = length * item_bytes
    slower = 1 if size <= _FIRST_CACHE else 1.4 if size <= _SECOND_CACHE else 2.5
    return length * slower * (2.5 + sum(max(1, radix / 8) if radix > 3 else 0.6 for radix in radices_of(length)))


def best_cut(length, lanes, item_bytes):
    """(n1, n2, cost of a row), with n1 * n2 = length, or None: a prime."""
    best = None
    for n1 in range(2, int(length**0.5) + 1):
        if length % n1 == 0:
            for first, second in {(n1, length // n1), (length // n1, n1)}:
                cost = -(-second // lanes) * (_cost(first, item_bytes) + first)
                cost += -(-first // lanes) * _cost(second, item_bytes)
                if best is None or cost < best[2]:
                    best = first, second, cost
    return best


def batch_cost(length, rows, lanes, item_bytes):
    """What rows transformed in blocks take, by the measure of `best_cut`."""
    return -(-rows // lanes) * (_cost(length, item_bytes) + length)


def comfortable_length(least):
    """A length from ``least`` on, not much larger, that has no other prime factors than 2, 3 and 5, and many of the first."""
    if least > 512:
        return 16 * comfortable_length(-(-least // 16))
    found, five = 1 << (least - 1).bit_length(), 1
    while five < found:
        three = five
        while three < found:
            number = three << max(0, (-(-least // three) - 1).bit_length())
            if number >= least:
                found = min(found, number)
            three *= 3
        five *= 5
    return found
