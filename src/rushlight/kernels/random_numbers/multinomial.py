"""``multinomial`` by kernels: weights are summed up row beside row, numbers looked up many at once, leaders found by topk."""

from __future__ import annotations

import numpy as np

from ...random import multinomial as draw
from ..compiler.kernel import compiled
from ..elementwise.layouts import is_plain
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import scalar_of
from ..machine.host import lanes
from ..planning.registry import kernel_for
from ..sorting.leading import topk_pair
from ..sorting.searching import search_positions

_ROWS = 4  # whose sums are added up beside each other: an addition waits for the one before it
_ALONE = 1 << 13  # weights that are summed up before another thread has come to help
_CHUNK = 1 << 14  # weights that are divided in one chunk


def cumulate_program(scalar, lanes, at_once):
    """``(weights, sums, fits, rows, length)``: sums from the left, one by one, divided by the last; ``at_once`` rows at a
    time. ``fits`` says for each row whether no weight is negative and the last sum positive and finite."""
    builder = Builder("cumulate", [("weights", f"{scalar}*"), ("sums", f"{scalar}*"), ("fits", "bool*"),
                                   ("rows", "i64"), ("length", "i64")])  # fmt: skip
    weights, sums, fits, rows, length = builder.parameters
    zero = builder.constant(0, scalar)
    with builder.parallel((rows + (at_once - 1)) // at_once) as chunk:
        own = [builder.minimum(chunk * at_once + i, rows - 1) for i in range(at_once)]
        lines = [(builder.offset(weights, row * length), builder.offset(sums, row * length)) for row in own]
        with builder.loop(0, length, 1, [zero] * (2 * at_once)) as loop:
            following = []
            for i, (source, target) in enumerate(lines):
                total, least = loop.carry[2 * i : 2 * i + 2]
                weight = builder.load(source, loop.index)
                total = total + weight
                builder.store(total, target, loop.index)
                following += [total, builder.minimum(weight, least)]
            loop.carry = following
        for i, row in enumerate(own):
            total, least = loop.results[2 * i : 2 * i + 2]
            builder.store((least >= 0.0) & (total > 0.0) & (total < float("inf")), fits, row)
    pieces = (length + (_CHUNK - 1)) // _CHUNK
    with builder.parallel(rows * pieces) as chunk:
        line, first = builder.offset(sums, chunk // pieces * length), chunk % pieces * _CHUNK
        total = builder.load(line, length - 1)

        def divided(index, mask, _):
            builder.store(builder.load(line, index, lanes, mask) / total, line, index, mask)

        # The last sum is divided by itself in the end of all: others still need it.
        builder.for_lanes(first, builder.minimum(first + _CHUNK, length - 1), lanes, divided)
    with builder.parallel(1), builder.loop(1, rows + 1) as row:
        builder.store(1.0, sums, row.index * length - 1)
    return Program("cumulate", [builder.function])


def _cumulated(rows):
    if not is_plain(rows):
        return draw.cumulated(rows)
    (count, length), scalar, width = rows.shape, scalar_of(rows.dtype), lanes(rows.itemsize)
    at_once = _ROWS if count >= _ROWS else 1
    kernel = compiled(("cumulate", scalar, width, at_once), lambda: cumulate_program(scalar, width, at_once))
    sums, fits = np.empty(rows.shape, rows.dtype), np.empty(count, np.bool_)
    (kernel.alone if rows.size <= _ALONE else kernel.threaded)(rows, sums, fits, count, length)
    return sums if fits.all() else draw.cumulated(rows)


def _looked_up(sums, uniform):
    numbers = uniform
    if sums.dtype != uniform.dtype:  # a sum reaches a number if it reaches the next float32 above
        numbers = uniform.astype(sums.dtype)
        numbers[numbers < uniform] = np.nextafter(numbers[numbers < uniform], np.float32(np.inf))
    found = search_positions(sums, numbers, False, False)
    return draw.looked_up(sums, uniform) if found is NotImplemented else found


def _leading(quotients, count):
    found = NotImplemented if count == 1 else topk_pair(quotients, count, -1, True, True)
    return draw.leading(quotients, count) if found is NotImplemented else found[1]


@kernel_for("multinomial")
def multinomial(self, num_samples, replacement, generator):
    """See ``ops.random.multinomial``."""
    found = draw.multinomial(self, num_samples, replacement, generator, (_leading, _cumulated, _looked_up))
    return np.ascontiguousarray(found)
