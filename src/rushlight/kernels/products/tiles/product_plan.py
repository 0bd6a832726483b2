"""Matrix products on the tile unit: which operand goes where, and whether it pays at all."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ....base import settings
from ...machine.host import host
from ...planning.plan import Launch, Plan
from .panels import BLOCK, PANEL, STEP_WORDS
from .product import BLOCKS, HEAD, HELD_STEP, SIZES, build

# Cycles, measured on an Intel Xeon (Emerald Rapids) at 3 GHz, for what a product is made of.
_STEP = 500  # a step of two panels: 32 x 32 x 32 multiplications
_BLOCK = 150  # a block besides its steps
_PACK, _TURN = 0.7, 0.2  # an element packed, and turned around
_SPLIT, _FAR = 0.2, 0.3  # an element of the streamed operand, split while tiles are multiplied; more from row to row
_STORE, _TURNED_STORE = 0.1, 0.1  # an element of the result, and written transposed
_PLAIN_PER_CYCLE = 25  # multiplications a cycle of the vector units
_HELD_STEPS = 180  # steps of the shared operand's panels that a worker holds in its second cache: 1.1 MB
_FEWEST_STEPS = 16  # at once, where there are more: every stage reads and writes the result
_MOST_STEPS = 32  # at once: longer sums in a row are less accurate
_GROUP_CYCLES = 8_000  # of a chunk, at least
_GROUPS_OF_THREAD = 2  # few groups of the streamed operand's panels: the first of a group is split in a hurry
_FEWEST_CYCLES = 30_000  # of work; less goes to the other kernels
_NANOSECONDS = 5_000 / 50_000  # for a cycle: from 50,000 on other threads are called in


class Way(NamedTuple):
    """A way to compute a product: what it takes, which operand is what, and how much is done at once."""

    cycles: float
    turned: bool
    streamed_left: bool
    group: int  # panels of the streamed operand to a chunk
    block_panels: int  # of the shared operand that are held at once
    block_steps: int
    strips: bool  # 16 rows of the streamed operand with 64 of the other, in place of 32 with 32


@functools.lru_cache(4096)
def plan(rows, columns, depth, batch, left_deep, right_deep):
    """The cheapest Way for a product.

    ``left_deep`` and ``right_deep`` say whether the operand's k lie side by side.
    """
    ways = (
        _way(rows, columns, depth, batch, left_deep, right_deep, turned, streamed_left)
        for turned in (False, True)
        for streamed_left in (True, False)
    )
    return min(filter(None, ways))


def _way(rows, columns, depth, batch, left_deep, right_deep, turned, streamed_left):
    if turned:
        rows, columns, left_deep, right_deep = columns, rows, right_deep, left_deep
    if streamed_left != (left_deep if streamed_left else right_deep):
        return None  # the streamed operand would have to be transposed
    row_panels, column_panels, steps = (-(-extent // PANEL) for extent in (rows, columns, depth))
    streamed, shared = (row_panels, column_panels) if streamed_left else (column_panels, row_panels)
    turns = right_deep if streamed_left else not left_deep
    block_panels = _cut(shared, max(1, _HELD_STEPS // min(steps, _FEWEST_STEPS)))
    block_steps = _cut(steps, min(_MOST_STEPS, max(1, _HELD_STEPS // block_panels)))
    stages = -(-steps // block_steps)
    blocks = row_panels * column_panels
    cycles = blocks * (steps * _STEP + stages * _BLOCK)
    cycles += rows * columns * stages * (_STORE + _TURNED_STORE * turned)
    # Two threads pack the shared operand each for themselves; one panel of the other is split for each block of panels.
    packed = 2 * shared * (_PACK + _TURN * turns)
    split = streamed * -(-shared // block_panels) * (_SPLIT if streamed_left else _SPLIT + _FAR)
    cycles += PANEL * depth * (packed + split)
    wanted = streamed // (_GROUPS_OF_THREAD * settings.get_num_threads())  # this, and no more, is for threads to say
    group = min(streamed, max(-(-_GROUP_CYCLES // (block_panels * block_steps * _STEP)), wanted))
    groups = -(-streamed // group)
    cycles *= batch * max(1, 2 / (groups * batch))
    return Way(cycles, turned, streamed_left, group, block_panels, block_steps, shared == 2)


def _cut(total, most):
    """The size of the largest of the fewest equal parts of ``total`` that have at most ``most``."""
    return -(-total // -(-total // most))


def pays(rows, columns, depth, batch, left_deep, right_deep):
    """Whether the tile unit is there and wins over the vector units for such a product."""
    machine = host()
    if machine is None or not machine.has_tiles or min(rows, columns) < 16 or depth < 16:
        return False
    cycles = plan(rows, columns, depth, batch, left_deep, right_deep).cycles
    return _FEWEST_CYCLES < cycles < batch * rows * columns * depth / _PLAIN_PER_CYCLE


def plan_of(a, b, out, bias=None, way=None):
    """The Plan of ``out = a @ b``, plus ``bias`` over the columns, all float32, in the cheapest way or in that one (see `plan`).

    ``a``, ``b`` and ``out`` are pairs (name, Layout): (rows, depth) or (batch, rows, depth), (depth, columns) or with the same
    batch, and one contiguous in its last dimension; one of the last two steps of ``a`` and of ``b`` must be 1. Sizes are not 0.
    ``bias`` is a name, or None.
    """
    (a_name, a), (b_name, b), (out_name, out) = a, b, out
    left, right = _operand(a, -2, -1), _operand(b, -1, -2)
    rows, columns = out.shape[-2:]
    batch, c_batch = (out.shape[0], out.steps[0]) if out.ndim == 3 else (1, 0)
    way = way or plan(rows, columns, a.shape[-1], batch, left[2], right[2])
    c_row, c_column = out.steps[-2], 1
    streams_a = way.streamed_left != way.turned
    if streams_a:
        streamed, shared, extents, c_steps = left, right, (rows, columns), (c_row, c_column)
    else:
        streamed, shared, extents, c_steps = right, left, (columns, rows), (c_column, c_row)
    scratch_words = HEAD + BLOCKS * BLOCK + (2 + way.block_panels) * way.block_steps * STEP_WORDS
    sizes = {
        "streamed_extent": extents[0], "shared_extent": extents[1], "depth": a.shape[-1], "batch": batch,
        "streamed_stride": streamed[0], "shared_stride": shared[0],
        "streamed_batch": streamed[1], "shared_batch": shared[1], "shared_deep": shared[2],
        "c_streamed": c_steps[0], "c_shared": c_steps[1], "c_batch": c_batch,
        "streamed_left": way.streamed_left, "turned": way.turned, "has_bias": bias is not None,
        "strips": way.strips,
        "group": way.group, "block_panels": way.block_panels, "block_steps": way.block_steps,
        "scratch_words": scratch_words,
    }  # fmt: skip
    held = f"{out_name}_held"  # zeros before each launch
    own = [("tiles", scratch_words, np.dtype(np.int32)), (held, HELD_STEP, np.dtype(np.int64))]
    operands = (a_name, b_name) if streams_a else (b_name, a_name)
    arguments = *operands, out_name, bias, "tiles", held, tuple([sizes[name] for name in SIZES])
    launch = Launch(build, (), arguments, way.cycles * _NANOSECONDS, "tile product")
    return Plan([launch], {out_name: out}, thread_scratch=own, zeroed=(held,))


def _operand(layout, extent, depth):
    """Steps of an operand: from line to line and matrix to matrix; and whether its k lie side by side."""
    deep = is_deep(layout, extent, depth)
    return layout.steps[extent if deep else depth], layout.steps[0] if layout.ndim == 3 else 0, deep


def is_deep(layout, extent, depth):
    """Whether an operand's k lie side by side."""
    if layout.shape[depth] == 1 < layout.shape[extent]:
        return layout.steps[extent] != 1
    return layout.steps[depth] == 1
