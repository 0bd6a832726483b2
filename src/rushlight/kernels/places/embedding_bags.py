"""Embedding bags by kernels: rows of a table pooled as they are read, and the gradient of the table."""

from __future__ import annotations

import math

import numpy as np

from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import lanes
from ..planning.registry import kernel_for
from ..rows.extremes import all_inside
from .indexing import ADDED, ALONE, POSITIONS, add_rows, are_plain

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


@kernel_for("pooled_rows")
def pooled_rows(weight, rows, starts, ends, factors, mode, scale_grad_by_freq, sparse=False):
    given = [weight, rows, starts, ends] if factors is None else [weight, rows, starts, ends, factors]
    if not _takes(weight, rows, factors) or not are_plain(*given) or not all_inside(rows, weight.shape[0]):
        return NotImplemented
    if not starts.size or not weight.shape[1] or weight.shape[0] > 1 << 31:
        return NotImplemented
    return pooled(weight, rows, starts, ends, factors, mode)


def pooled(weight, rows, starts, ends, factors, mode, order=None):
    """Run the program `pool_rows`: the result, and for "max" which rows gave it. All row numbers are within bounds."""
    bags, width = starts.size, weight.shape[1]
    found = np.empty((bags, width), weight.dtype)
    places = np.empty(found.shape if mode == "max" else (0,), np.int64)
    count = lanes(weight.itemsize)
    vectors = min(math.ceil(width / count), _VECTORS)
    scaled = factors is not None if order is None else "by order"
    key = (ADDED[weight.dtype], POSITIONS[rows.dtype], count, vectors, mode, scaled)
    kernel = compiled(("pool_rows", *key), lambda: pool_rows(*key))
    share = max(1, _SHARE * bags // (rows.size * width + 1))
    run = kernel.alone if rows.size * width <= ALONE else kernel.threaded
    run(weight, rows, starts, ends, factors, *([] if order is None else [order]), found, places, width, bags, share)
    return found, places


@kernel_for("pooled_rows_gradient")
def pooled_rows_gradient(grad, rows, starts, ends, factors, length, mode, scale_grad_by_freq):
    if not grad.size or not _takes(grad, rows, factors) or not all_inside(rows, length):
        return NotImplemented
    counts = ends - starts
    owner = np.repeat(np.arange(len(counts)), counts)
    if len(owner) != len(rows) or starts[0] or (starts[1:] != ends[:-1]).any():
        return NotImplemented  # row numbers that are in no bag, or in several
    scales = factors
    if mode == "mean":
        scales = np.repeat((1 / np.maximum(counts, 1)).astype(grad.dtype), counts)
        scales = scales if factors is None else scales * factors
    if scale_grad_by_freq:
        each = (1 / np.bincount(rows)[rows]).astype(grad.dtype)
        scales = each if scales is None else scales * each
    found = np.empty((length, grad.shape[1]), grad.dtype)
    rows, grad = np.ascontiguousarray(rows), np.ascontiguousarray(grad)
    scales = None if scales is None else np.ascontiguousarray(scales)
    add_rows(found, rows, grad, owner, scales, 1, length, grad.shape[1], 1)
    return found


def _takes(values, rows, factors):
    """Whether there are programs for these dtypes."""
    return values.dtype in ADDED and rows.dtype in POSITIONS and (factors is None or factors.dtype == values.dtype)
