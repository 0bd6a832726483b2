"""Matrix products on the tile unit: which operand goes where, and whether it pays at all."""

from __future__ import annotations

import functools

import numpy as np

from ...base import settings
from ..host import host
from ..kernel import compiled, pool
from ..scratch import scratch
from .panels import PANEL, SCRATCH_HEAD, STEP_WORDS
from .product import build

# Cycles, measured on an Intel Xeon (Emerald Rapids), for what a product is made of.
_STEP = 400  # a step of two panels: 32 x 32 x 32 multiplications
_BLOCK = 250  # a block besides its steps
_PACK, _TURN = 0.5, 0.4  # an element packed, and turned around
_TURNED_STORE = 0.6  # an element of the result written transposed
_PLAIN_PER_CYCLE = 27  # multiplications a cycle of the vector units
_SCRATCH_BYTES = 800_000  # of panels that a chunk keeps in the second cache
_LONGEST_BLOCK = 32  # steps, the k that are added up before the next ones are packed
_FEWEST_CYCLES = 30_000  # of work; less goes to the other kernels
_THREADED_CYCLES = 50_000


@functools.lru_cache(4096)
def plan(rows, columns, depth, batch, left_depth, right_depth):
    """How to compute a product: (cycles, turned, stream_left, group, block_steps), the cheapest of four ways.

    ``left_depth`` and ``right_depth`` say whether the operand's k lie side by side.
    """
    return min(
        _way(rows, columns, depth, batch, left_depth, right_depth, turned, stream_left)
        for turned in (False, True)
        for stream_left in (False, True)
    )


def _way(rows, columns, depth, batch, left_depth, right_depth, turned, stream_left):
    if turned:
        rows, columns, left_depth, right_depth = columns, rows, right_depth, left_depth
    row_panels, column_panels, steps = (-(-extent // PANEL) for extent in (rows, columns, depth))
    cycles = row_panels * column_panels * (steps * _STEP + _BLOCK)
    cycles += rows * depth * (_PACK + _TURN * (not left_depth)) + columns * depth * (_PACK + _TURN * right_depth)
    cycles += rows * columns * _TURNED_STORE * turned
    streamed, shared = (row_panels, column_panels) if stream_left else (column_panels, row_panels)
    cycles += shared * steps * STEP_WORDS * 4 / 16  # the shared operand goes through memory
    block_steps = -(-steps // -(-steps // _LONGEST_BLOCK))
    threads = settings.get_num_threads()
    chunks = 4 * threads if batch < 4 * threads else 1
    group = max(1, min(_SCRATCH_BYTES // (block_steps * STEP_WORDS * 4), -(-streamed // chunks)))
    # Every group reads the shared operand again; too few groups leave threads without work.
    groups = -(-streamed // group)
    cycles += groups * shared * steps * STEP_WORDS * 4 / 16
    idle = max(1, threads / (groups * batch))
    return batch * cycles * idle, turned, stream_left, group, block_steps


def pays(rows, columns, depth, batch, left_depth, right_depth):
    """Whether the tile unit is there and wins over the vector units for such a product."""
    machine = host()
    if machine is None or not machine.has_tiles or min(rows, columns) < 16 or depth < 16:
        return False
    cycles = plan(rows, columns, depth, batch, left_depth, right_depth)[0]
    return _FEWEST_CYCLES < cycles < batch * rows * columns * depth / _PLAIN_PER_CYCLE


def product(a, b, out, bias=None, accumulate=False):
    """out = a @ b (+ bias over the columns) (+ out), all float32.

    ``a`` is (rows, depth) or (batch, rows, depth), ``b`` (depth, columns) or with the same batch, ``out`` contiguous in
    its last dimension; one of the last two strides of ``a`` and of ``b`` must be that of one element.
    """
    batch = out.shape[0] if out.ndim == 3 else 1
    rows, columns = out.shape[-2:]
    depth = a.shape[-1]
    left_depth = a.strides[-1] == 4 and (a.strides[-2] != 4 or depth > 1)
    right_depth = not (b.strides[-1] == 4 and (b.strides[-2] != 4 or columns > 1))
    cycles, turned, stream_left, group, block_steps = plan(rows, columns, depth, batch, left_depth, right_depth)
    a_stride = a.strides[-2 if left_depth else -1] // 4
    b_stride = b.strides[-1 if right_depth else -2] // 4
    batches = tuple(x.strides[0] // 4 if x.ndim == 3 else 0 for x in (a, b, out))
    if turned:
        a, b = b, a
        left_depth, right_depth = right_depth, left_depth
        a_stride, b_stride = b_stride, a_stride
        rows, columns = columns, rows
        batches = (batches[1], batches[0], batches[2])
    kernel = _kernel(left_depth, right_depth, stream_left, turned, None if bias is None else "bias")
    steps = -(-depth // PANEL)
    shared_panels = -(-(columns if stream_left else rows) // PANEL)
    shared = scratch("tiles.shared", batch * shared_panels * steps * STEP_WORDS, np.int32)
    words = SCRATCH_HEAD + group * min(block_steps, steps) * STEP_WORDS
    own = scratch("tiles.own", words * pool().scratch_areas, np.int32)
    run = kernel.threaded if cycles > _THREADED_CYCLES else kernel.alone
    run(
        a, b, out, bias, shared, own, rows, columns, depth, a_stride, b_stride, out.strides[-2] // 4,
        *batches, batch, group, block_steps, words, int(accumulate),
    )  # fmt: skip
    return out


@functools.cache
def _kernel(*options):
    return compiled(("tile product", *options), lambda: build(*options))
