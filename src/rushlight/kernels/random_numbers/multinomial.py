"""``multinomial`` by kernels: weights are summed up row beside row, numbers looked up many at once, leaders found by topk."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...random import multinomial as draw
from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import lanes
from ..planning.layout import Layout
from ..planning.plan import Check, Launch, Made, Passed, Plan, left_to_numpy
from ..planning.runner import plan_for
from ..sorting.leading import topk_pair
from ..sorting.searching import search_positions

_ROWS = 4  # whose sums are added up beside each other: an addition waits for the one before it
_NANOSECONDS = 0.61  # for a weight
_CHUNK = 1 << 14  # weights that are divided in one chunk


def cumulate_program(scalar, lanes, at_once):
    """``(weights, sums, unfit, rows, length)``: sums from the left, one by one, divided by the last; ``at_once`` rows at a
    time. ``unfit`` says for each row whether a weight is negative, or the last sum not positive and finite."""
    builder = Builder("cumulate", [("weights", f"{scalar}*"), ("sums", f"{scalar}*"), ("unfit", "bool*"),
                                   ("rows", "i64"), ("length", "i64")])  # fmt: skip
    weights, sums, unfit, rows, length = builder.parameters
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
            builder.store(~((least >= 0.0) & (total > 0.0) & (total < float("inf"))), unfit, row)
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


@plan_for()
def _sums(rows: Layout):
    if not rows.is_plain:
        return None
    (count, length), scalar = rows.shape, rows.scalar
    form = scalar, lanes(rows.itemsize), _ROWS if count >= _ROWS else 1
    launch = Launch(cumulate_program, form, ("rows", "sums", "unfit", count, length), rows.size * _NANOSECONDS)
    check = Check("unfit", left_to_numpy, ())
    return Plan([launch], {"sums": rows}, [("unfit", count, np.dtype(np.bool_))], check=check)


def _cumulated(rows):
    found = _sums(rows)
    return draw.cumulated(rows) if found is NotImplemented else found


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


def _drawn(weights, generator, num_samples, replacement):
    found = draw.multinomial(weights, num_samples, replacement, generator, (_leading, _cumulated, _looked_up))
    return np.ascontiguousarray(found)


@plan_for("multinomial")
def multinomial(self: Layout, num_samples, replacement, generator: Passed):
    """See ``ops.random.multinomial``. The host draws the numbers, and has plans of others rank them."""
    drawn = partial(_drawn, num_samples=num_samples, replacement=replacement)
    found = Layout((*self.shape[:-1], num_samples), np.dtype(np.int64))
    return Plan([], {"found": found}, made={"found": Made(drawn, ("self", "generator"))})
