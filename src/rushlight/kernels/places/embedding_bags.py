"""Embedding bags by kernels: rows of a table pooled as they are read, and the gradient of the table."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import lanes
from ..planning.layout import Layout, copies
from ..planning.plan import Condition, Launch, Made, Passed, Plan
from ..planning.runner import plan_for
from ..rows.extremes import all_inside
from .indexing import ADDED, NANOSECONDS, POSITIONS
from .writing import LISTED, add_rows

_INT64 = np.dtype(np.int64)
_VECTORS = 4  # of a row, that one pass over a bag adds up
_SHARE = 1 << 13  # elements of the table that a chunk reads


def pool_rows(scalar, index_scalar, lanes, vectors, mode, scaled):
    """``(weight, rows, starts, ends, factors, out, places, width, bags, share)``: out[b, :] = the rows of ``weight`` whose
    numbers stand in ``rows`` from starts[b] to ends[b], times ``factors`` with ``scaled``, pooled by ``mode``.

    With ``scaled`` "by order" the factor of what stands at i is factors[order[i]]; ``order`` is a parameter behind ``factors``
    then. Chunks are ``share`` bags. For "max", places[b, :] says which row gave each element, -1 in empty bags.
    """
    arrays = [("weight", scalar), ("rows", index_scalar), ("starts", "i64"), ("ends", "i64"), ("factors", scalar)]
    arrays += [("order", "i64")] if scaled == "by order" else []
    arrays += [("out", scalar), ("places", "i64")]
    sizes = [(name, "i64") for name in ("width", "bags", "share")]
    builder = Builder("entry", [*((name, kind + "*") for name, kind in arrays), *sizes])
    weight, rows, starts, ends, factors, *order, out, places, width, bags, share = builder.parameters
    zero = builder.constant(0, weight.type.element.with_lanes(lanes))
    nowhere = builder.constant(-1, f"i32x{lanes}")

    def pooled(bag, column):
        masks = [builder.first_lanes(width - column - i * lanes, lanes) for i in range(vectors)]
        begin, end = builder.load(starts, bag), builder.load(ends, bag)
        carry = [zero] * vectors + [nowhere] * (vectors if mode == "max" else 0)
        with builder.loop(begin, end, 1, carry) as each:
            number = builder.convert(builder.load(rows, each.index), "i64")
            row = builder.offset(weight, number * width + column)
            values = [builder.load(row, i * lanes, lanes, mask) for i, mask in enumerate(masks)]
            if scaled:
                place = builder.load(order[0], each.index) if order else each.index
                values = [value * builder.load(factors, place) for value in values]
            if mode == "max":
                best, chosen = each.carry[:vectors], each.carry[vectors:]
                better = [(value > b) | (c < 0) for value, b, c in zip(values, best, chosen)]
                this = builder.splat(builder.convert(number, "i32"), lanes)
                each.carry = [builder.select(yes, value, b) for yes, value, b in zip(better, values, best)]
                each.carry += [builder.select(yes, this, c) for yes, c in zip(better, chosen)]
            else:
                each.carry = [total + value for total, value in zip(each.carry, values)]
        found = each.results[:vectors]
        if mode == "mean":
            count = builder.convert(builder.maximum(end - begin, 1), weight.type.element.scalar)
            found = [total / builder.splat(count, lanes) for total in found]
        for i, mask in enumerate(masks):
            builder.store(found[i], out, bag * width + column + i * lanes, mask)
            if mode == "max":
                place = builder.convert(each.results[vectors + i], "i64")
                builder.store(place, places, bag * width + column + i * lanes, mask)

    with builder.parallel((bags + share - 1) // share) as chunk:
        with builder.loop(chunk * share, builder.minimum((chunk + 1) * share, bags)) as bag:
            with builder.loop(0, width, vectors * lanes) as strip:
                pooled(bag.index, strip.index)
    return Program("pool_rows", [builder.function])


@plan_for("pooled_rows")
def pooled_rows(
    weight: Layout, rows: Layout, starts: Layout, ends: Layout, factors: Layout | None, mode, scale_grad_by_freq: Passed,
    sparse: Passed,
):  # fmt: skip
    plan = pooled(weight, rows, starts, ends, factors, mode)
    return plan and plan._replace(conditions=[Condition(all_inside, ("rows", weight.shape[0]))])


def pooled(
    weight,
    rows,
    starts,
    ends,
    factors,
    mode,
    order=None,
    names=("weight", "rows", "starts", "ends", "factors", "order"),
):
    """The Plan of the program `pool_rows`: the result, and for "max" which rows gave it. All row numbers are within bounds."""
    given = [each for each in (weight, rows, starts, ends, factors, order) if each is not None]
    if not _takes(weight, rows, factors) or not all(each.is_plain for each in given):
        return None
    bags, width = starts.size, weight.shape[1]
    if not bags or not width or weight.shape[0] > 1 << 31:
        return None
    found, places = Layout((bags, width), weight.dtype), Layout((bags, width) if mode == "max" else (0,), _INT64)
    count = lanes(weight.itemsize)
    vectors = min(math.ceil(width / count), _VECTORS)
    scaled = factors is not None if order is None else "by order"
    form = (ADDED[weight.dtype], POSITIONS[rows.dtype], count, vectors, mode, scaled)
    share = max(1, _SHARE * bags // (rows.size * width + 1))
    arguments = [None if each is None else name for each, name in zip((weight, rows, starts, ends, factors), names)]
    arguments += ([] if order is None else [names[5]]) + ["found", "places", width, bags, share]
    launch = Launch(pool_rows, form, tuple(arguments), rows.size * width * NANOSECONDS)
    return Plan([launch], {"found": found, "places": places})


def _owners(rows, starts, ends):
    """The bag that each row number is in; NotImplemented where some are in no bag, or in several."""
    counts = ends - starts
    owner = np.repeat(np.arange(len(counts)), counts)
    if len(owner) != len(rows) or starts[0] or (starts[1:] != ends[:-1]).any():
        return NotImplemented
    return owner


def _scales(rows, starts, ends, factors, mode, by_frequency, dtype):
    """What the gradient of each row is multiplied with."""
    counts, scales = ends - starts, factors
    if mode == "mean":
        scales = np.repeat((1 / np.maximum(counts, 1)).astype(dtype), counts)
        scales = scales if factors is None else scales * factors
    if by_frequency:
        each = (1 / np.bincount(rows)[rows]).astype(dtype)
        scales = each if scales is None else scales * each
    return np.ascontiguousarray(scales)


@plan_for("pooled_rows_gradient")
def pooled_rows_gradient(
    grad: Layout, rows: Layout, starts: Layout, ends: Layout, factors: Layout | None, length, mode, scale_grad_by_freq
):
    if not grad.size or not rows.size or not _takes(grad, rows, factors):
        return None
    out, made, scales = Layout((length, grad.shape[1]), grad.dtype), {}, None
    made["owner"] = Made(_owners, ("rows", "starts", "ends"))
    if mode == "mean" or scale_grad_by_freq or factors is not None:
        scales, given = "scales", None if factors is None else "factors"
        scale = partial(_scales, mode=mode, by_frequency=scale_grad_by_freq, dtype=grad.dtype)
        made[scales] = Made(scale, ("rows", "starts", "ends", given))
    launch = add_rows(out, rows, ("out", "rows", "grad"), ("owner", scales), 1, length, grad.shape[1], 1)
    return Plan([launch], {"out": out}, thread_scratch=LISTED, made=made, copied=copies(grad=grad, rows=rows),
                conditions=[Condition(all_inside, ("rows", length))])  # fmt: skip


def _takes(values, rows, factors):
    """Whether there are programs for these dtypes."""
    return values.dtype in ADDED and rows.dtype in POSITIONS and (factors is None or factors.dtype == values.dtype)
