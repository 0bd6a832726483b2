"""One stage of a Fourier transform: the loop programs of its radices, on vectors of independent transforms.

Numbers lie in scratch memory as items: a vector of real parts, then a vector of imaginary ones. Each lane is a transform of
its own, so stages need no shuffles, and a stage's twiddle factors are the same for all lanes.

Stockham's order: a stage of radix r takes n = r * m * s items to another buffer. For p < m and q < s it transforms the r
items q + s * (p + m * k), k = 0, ..., r - 1, multiplies what it finds by w ** (p * k), where w = exp(-2 pi i / (r * m)), and
stores that at q + s * (r * p + k). The next stage has s * r for s. Nothing is left to be sorted at the end.
"""

from __future__ import annotations

import math

import numpy as np

from ..language.builder import Builder
from ..language.value_types import pointer, vector

EVEN = (8, 4, 2)
ODD = (3, 5, 7, 11, 13)
ANY = 0  # stands for larger primes, which one function transforms in loops
LARGEST = 127  # of them


def roots(numbers, length):
    """``exp(-2 pi i numbers / length)``, of integers, to the last bit or nearly: by angles of at most pi / 4."""
    fourfold = 4 * (numbers % length)
    quarters = (fourfold + length // 2) // length
    angles = (fourfold - quarters * length) * (np.pi / 2 / length)
    found = np.cos(angles) - 1j * np.sin(angles)
    return found * np.array([1, -1j, -1, 1j])[quarters % 4]


def pass_function(scalar, lanes, radix):
    """Function ``(source, target, twiddles, m, s)``: one stage; ``twiddles`` has radix - 1 complex numbers for each p."""
    kinds = [("source", pointer(scalar)), ("target", pointer(scalar)), ("twiddles", pointer(scalar))]
    builder = Builder(f"radix{radix}", [*kinds, ("m", "i64"), ("s", "i64")])
    source, target, twiddles, m, s = builder.parameters
    item = 2 * lanes
    apart, step = m * s * item, s * item
    with builder.loop(0, m, 1, [source, target, twiddles]) as p:
        first, out, factors = p.carry
        turns = [
            [builder.splat(builder.load(factors, 2 * k + part), lanes) for part in (0, 1)] for k in range(radix - 1)
        ]
        with builder.loop(0, step, item) as q:
            here, there = builder.offset(first, q.index), builder.offset(out, q.index)
            values = []
            for k in range(radix):
                place = builder.offset(here, apart * k if k else 0)
                values.append((builder.load(place, 0, lanes), builder.load(place, lanes, lanes)))
            for k, value in enumerate(butterfly(builder, values)):
                real, imaginary = turned(builder, value, turns[k - 1]) if k else value
                place = builder.offset(there, step * k if k else 0)
                builder.store(real, place)
                builder.store(imaginary, place, lanes)
        p.carry = [
            builder.offset(first, step),
            builder.offset(out, step * radix),
            builder.offset(factors, 2 * (radix - 1)),
        ]
    return builder.function


class _AnyPass:
    """Writes the function ``(source, target, twiddles, m, s, radix)``: a stage of any odd radix, which spoils its source.

    As `_odd`, two coefficients at a time; the twiddle factors begin with its cosines and sines, row by row.
    """

    def __init__(self, scalar, lanes):
        kinds = [("source", pointer(scalar)), ("target", pointer(scalar)), ("twiddles", pointer(scalar))]
        self.builder = builder = Builder("radix_any", [*kinds, ("m", "i64"), ("s", "i64"), ("radix", "i64")])
        source, target, twiddles, m, s, self.radix = builder.parameters
        self.lanes, self.weights, self.half = lanes, twiddles, self.radix // 2
        self.apart, self.step = m * s * (2 * lanes), s * (2 * lanes)
        self.zero = builder.constant(0, vector(scalar, lanes))
        factors = builder.offset(twiddles, self.half * self.half * 2)
        with builder.loop(0, m, 1, [source, target, factors]) as p:
            first, out, factors = p.carry
            with builder.loop(0, self.step, 2 * lanes) as q:
                self._transform(builder.offset(first, q.index), builder.offset(out, q.index), factors)
            p.carry = [
                builder.offset(first, self.step),
                builder.offset(out, self.step * self.radix),
                builder.offset(factors, (self.radix - 1) * 2),
            ]

    def _load(self, place):
        return self.builder.load(place, 0, self.lanes), self.builder.load(place, self.lanes, self.lanes)

    def _store(self, value, place):
        self.builder.store(value[0], place)
        self.builder.store(value[1], place, self.lanes)

    def _pairs(self, first, carry, body):
        """``body(number, low, high, carry)`` for the pairs that lie opposite each other; it returns the next carry."""
        builder = self.builder
        ends = [first, builder.offset(first, self.apart * self.radix)]
        with builder.loop(0, self.half, 1, [*carry, *ends]) as pair:
            *values, low, high = pair.carry
            low, high = builder.offset(low, self.apart), builder.offset(high, -self.apart)
            pair.carry = [*body(pair.index, low, high, values), low, high]
        return pair.results[: len(carry)]

    def _transform(self, first, out, factors):
        beginning = self._load(first)

        def combine(number, low, high, total):
            values = self._load(low), self._load(high)
            each = _sum(*values)
            self._store(each, low)
            self._store(_difference(*values), high)
            return _sum(total, each)

        self._store(self._pairs(first, beginning, combine), out)
        with self.builder.loop(1, self.half + 1, 2) as k:
            both = k.index, self.builder.minimum(k.index + 1, self.half)  # the last one of an odd number twice
            sums = self._weighted(first, beginning, both)
            for number, each in enumerate(both):
                self._coefficients(each, sums[4 * number : 4 * number + 4], out, factors)

    def _weighted(self, first, beginning, rows):
        """For each row of weights the sums over the pairs: of sums by cosines, of differences by sines."""
        builder = self.builder
        places = [builder.offset(self.weights, (row - 1) * self.half * 2) for row in rows]

        def add(number, low, high, totals):
            parts = [*self._load(low), *self._load(high)] * len(rows)
            weights = [builder.load(place, number * 2 + which) for place in places for which in (0, 0, 1, 1)]
            spread = [builder.splat(weight, self.lanes) for weight in weights]
            return [builder.fma(*each) for each in zip(parts, spread, totals)]

        return self._pairs(first, [*beginning, self.zero, self.zero] * len(rows), add)

    def _coefficients(self, k, sums, out, factors):
        """Number k and the one opposite, of what `_weighted` found."""
        x, y, u, v = sums
        for value, place in (((x + v, y - u), k), ((x - v, y + u), self.radix - k)):
            turn = [self.builder.splat(self.builder.load(factors, place * 2 - 2 + part), self.lanes) for part in (0, 1)]
            self._store(turned(self.builder, value, turn), self.builder.offset(out, place * self.step))


def any_function(scalar, lanes):
    """The function of a stage of any odd radix."""
    return _AnyPass(scalar, lanes).builder.function


def turned(builder, value, factor):
    """The product of two complex numbers, each a pair of vectors."""
    (a, b), (c, d) = value, factor
    return builder.fma(a, c, -(b * d)), builder.fma(a, d, b * c)


def _sum(a, b):
    return a[0] + b[0], a[1] + b[1]


def _difference(a, b):
    return a[0] - b[0], a[1] - b[1]


def butterfly(builder, values):
    """The transform of a few complex numbers, each a pair of vectors."""
    count = len(values)
    if count == 2:
        return [_sum(*values), _difference(*values)]
    if count == 4:
        return _four(values)
    return _eight(builder, values) if count == 8 else _odd(builder, values)


def _four(values):
    a, b, c, d = values
    sums = _sum(a, c), _sum(b, d)
    (x, y), (u, v) = _difference(a, c), _difference(b, d)  # the latter is turned by -i
    return [_sum(*sums), (x + v, y - u), _difference(*sums), (x - v, y + u)]


def _eight(builder, values):
    even, odd = _four(values[0::2]), _four(values[1::2])
    half = math.sqrt(0.5)
    found = [None] * 8
    for k in range(4):
        (x, y), (u, v) = even[k], odd[k]
        if k == 0:
            found[0], found[4] = (x + u, y + v), (x - u, y - v)
        elif k == 2:  # by -i
            found[2], found[6] = (x + v, y - u), (x - v, y + u)
        else:  # by (1 - i) / sqrt(2), or by (-1 - i) / sqrt(2)
            across, down = (u + v, v - u) if k == 1 else (v - u, -(u + v))
            found[k] = builder.fma(across, half, x), builder.fma(down, half, y)
            found[k + 4] = builder.fma(across, -half, x), builder.fma(down, -half, y)
    return found


def _odd(builder, values):
    """Sums and differences of what lies opposite each other, weighted by cosines and sines."""
    count = len(values)
    pairs = range(1, count // 2 + 1)
    first, turns = values[0], roots(np.arange(count), count)
    sums = [_sum(values[j], values[count - j]) for j in pairs]
    differences = [_difference(values[j], values[count - j]) for j in pairs]
    found = [first] + [None] * (count - 1)
    for each in sums:
        found[0] = _sum(found[0], each)
    for k in pairs:
        even, odd = list(first), None
        for j, each, difference in zip(pairs, sums, differences):
            cosine, sine = float(turns[j * k % count].real), -float(turns[j * k % count].imag)
            even = [builder.fma(part, cosine, total) for part, total in zip(each, even)]
            if odd is None:
                odd = [part * sine for part in difference]
            else:
                odd = [builder.fma(part, sine, total) for part, total in zip(difference, odd)]
        (x, y), (u, v) = even, odd  # less i times odd
        found[k], found[count - k] = (x + v, y - u), (x - v, y + u)
    return found
