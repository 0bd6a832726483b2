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

from .builder import Builder
from .value_types import pointer

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


def any_function(scalar, lanes):
    """Function ``(source, target, twiddles, m, s, radix)``: a stage of any odd radix, which leaves nothing of its source.

    As `_odd`, two coefficients at a time; the factors begin with its cosines and sines, row by row.
    """
    kinds = [("source", pointer(scalar)), ("target", pointer(scalar)), ("twiddles", pointer(scalar))]
    builder = Builder("radix_any", [*kinds, ("m", "i64"), ("s", "i64"), ("radix", "i64")])
    source, target, twiddles, m, s, radix = builder.parameters
    item, half = 2 * lanes, radix // 2
    apart, step = m * s * item, s * item
    zero = builder.constant(0, source.type.element.with_lanes(lanes))

    def item_at(place):
        return builder.load(place, 0, lanes), builder.load(place, lanes, lanes)

    def store(value, place):
        builder.store(value[0], place)
        builder.store(value[1], place, lanes)

    def coefficient(first, out, factors, k, sums):
        (x, y), (u, v) = sums
        for value, place in (((x + v, y - u), k), ((x - v, y + u), radix - k)):
            turn = [builder.splat(builder.load(factors, place * 2 - 2 + part), lanes) for part in (0, 1)]
            store(turned(builder, value, turn), builder.offset(out, place * step))

    def weighted(first, beginning, rows):
        """For each row of weights the sums over the pairs: of sums by cosines, of differences by sines."""
        start = [*beginning, zero, zero] * len(rows)
        with builder.loop(0, half, 1, [*start, first, builder.offset(first, apart * radix)]) as pair:
            *totals, low, high = pair.carry
            low, high = builder.offset(low, apart), builder.offset(high, -apart)
            parts = [*item_at(low), *item_at(high)]
            weights = [builder.load(row, pair.index * 2 + which) for row in rows for which in (0, 0, 1, 1)]
            found = [
                builder.fma(part, builder.splat(weight, lanes), total)
                for part, weight, total in zip(parts * len(rows), weights, totals)
            ]
            pair.carry = [*found, low, high]
        sums = pair.results
        return [(sums[4 * i : 4 * i + 2], sums[4 * i + 2 : 4 * i + 4]) for i in range(len(rows))]

    def transform(first, out, factors):
        beginning = item_at(first)
        with builder.loop(0, half, 1, [*beginning, first, builder.offset(first, apart * radix)]) as pair:
            *total, low, high = pair.carry
            low, high = builder.offset(low, apart), builder.offset(high, -apart)
            values = item_at(low), item_at(high)
            each = _sum(*values)
            store(each, low)
            store(_difference(*values), high)
            pair.carry = [*_sum(total, each), low, high]
        store(pair.results[:2], out)
        with builder.loop(1, half + 1, 2) as k:
            both = k.index, builder.minimum(k.index + 1, half)  # the last one of an odd number twice
            rows = [builder.offset(twiddles, (each - 1) * half * 2) for each in both]
            for each, sums in zip(both, weighted(first, beginning, rows)):
                coefficient(first, out, factors, each, sums)

    with builder.loop(0, m, 1, [source, target, builder.offset(twiddles, half * half * 2)]) as p:
        first, out, factors = p.carry
        with builder.loop(0, step, item) as q:
            transform(builder.offset(first, q.index), builder.offset(out, q.index), factors)
        p.carry = [
            builder.offset(first, step),
            builder.offset(out, step * radix),
            builder.offset(factors, (radix - 1) * 2),
        ]
    return builder.function


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
