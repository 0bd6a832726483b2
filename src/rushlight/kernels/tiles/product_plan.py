"""Matrix products on the tile unit: which operand goes where, and whether it pays at all."""

from __future__ import annotations

import functools

import numpy as np

from ..host import host
from ..kernel import compiled, pool
from ..plans import Plans
from ..scratch import scratch
from .panels import PANEL, STEP_WORDS
from .product import SCRATCH_HEAD, SIZES, build

# Cycles, measured on an Intel Xeon (Emerald Rapids) at 3 GHz, for what a product is made of.
_STEP = 600  # a step of two panels: 32 x 32 x 32 multiplications; 384 would do if nothing had to be loaded
_BLOCK = 300  # a block besides its steps
_PACK, _TURN = 0.75, 0.15  # an element packed, and turned around
_PACK_AHEAD = 0.3  # an element packed while the tile unit multiplies others
_STORE, _TURNED_STORE = 0.35, 0.3  # an element of the result, and written transposed
_PANEL_BYTE = 1 / 32  # of the shared operand's panels, written or read
_PLAIN_PER_CYCLE = 25  # multiplications a cycle of the vector units
_SCRATCH_BYTES = 800_000  # of panels that a chunk keeps in the second cache
_AHEAD_BYTES = 600_000  # of the shared operand's panels, which each of the others reads from the second cache
_AHEAD_PANELS, _AHEAD_STEPS = 8, 4  # of the shared operand: up to and from which that wins
_LONGEST_BLOCK = 32  # steps, the k that are added up before the next ones are packed
_WANTED_CHUNKS = 8  # so that a few threads end at about the same time
_WANTED_AHEAD = 4  # the same where the first panel of a chunk takes longer than the others
_FEWEST_CYCLES = 30_000  # of work; less goes to the other kernels
_THREADED_CYCLES = 50_000

_prepared = Plans()  # layouts -> _Product


@functools.lru_cache(4096)
def plan(rows, columns, depth, batch, left_deep, right_deep):
    """How to compute a product: (cycles, turned, streamed_left, group, block_steps, ahead), the cheapest of four ways.

    ``ahead``, panels are packed while others are multiplied: only where they need not be transposed.

    ``left_deep`` and ``right_deep`` say whether the operand's k lie side by side. Threads have no say: they could
    change results.
    """
    ways = (
        _way(rows, columns, depth, batch, left_deep, right_deep, turned, streamed_left)
        for turned in (False, True)
        for streamed_left in (True, False)
    )
    return min(ways, key=lambda way: way[0])


def _way(rows, columns, depth, batch, left_deep, right_deep, turned, streamed_left):
    if turned:
        rows, columns, left_deep, right_deep = columns, rows, right_deep, left_deep
    row_panels, column_panels, steps = (-(-extent // PANEL) for extent in (rows, columns, depth))
    streamed, shared = (row_panels, column_panels) if streamed_left else (column_panels, row_panels)
    turns = (not left_deep, right_deep) if streamed_left else (right_deep, not left_deep)
    ahead = not turns[0] and 2 <= shared <= _AHEAD_PANELS and steps >= _AHEAD_STEPS
    longest = min(_LONGEST_BLOCK, _AHEAD_BYTES // (shared * STEP_WORDS * 4)) if ahead else _LONGEST_BLOCK
    depths = -(-steps // longest)
    cycles = row_panels * column_panels * (steps * _STEP + depths * _BLOCK)
    cycles += rows * columns * depths * (_STORE + _TURNED_STORE * turned)
    block_steps = -(-steps // depths)
    fitting = streamed if ahead else max(1, _SCRATCH_BYTES // (block_steps * STEP_WORDS * 4))
    wanted = _WANTED_AHEAD if ahead else _WANTED_CHUNKS
    groups = max(-(-streamed // fitting), min(streamed, -(-wanted // batch)))
    group = -(-streamed // groups)
    groups = -(-streamed // group)
    packed = _PACK_AHEAD + (_PACK - _PACK_AHEAD) * groups / streamed if ahead else _PACK  # the first of a group before
    cycles += PANEL * depth * (streamed * (packed + _TURN * turns[0]) + shared * (_PACK + _TURN * turns[1]))
    # The shared operand goes through memory: written once, and read by every group.
    cycles += (1 + groups) * shared * steps * STEP_WORDS * 4 * _PANEL_BYTE
    return batch * cycles * max(1, 2 / (groups * batch)), turned, streamed_left, group, block_steps, ahead


def pays(rows, columns, depth, batch, left_deep, right_deep):
    """Whether the tile unit is there and wins over the vector units for such a product."""
    machine = host()
    if machine is None or not machine.has_tiles or min(rows, columns) < 16 or depth < 16:
        return False
    cycles = plan(rows, columns, depth, batch, left_deep, right_deep)[0]
    return _FEWEST_CYCLES < cycles < batch * rows * columns * depth / _PLAIN_PER_CYCLE


class _Product:
    """A product of given layouts, ready to run."""

    __slots__ = ("own", "shared", "sizes", "streams_a", "threaded")

    def __init__(self, a, b, out, bias, accumulate, way):
        cycles, turned, streamed_left, group, block_steps, ahead = way
        left, right = _operand(a, -2, -1), _operand(b, -1, -2)
        rows, columns = out.shape[-2:]
        c_row, c_column = out.strides[-2] // 4, 1
        self.streams_a = streamed_left != turned
        if self.streams_a:
            streamed, shared, extents, c_steps = left, right, (rows, columns), (c_row, c_column)
        else:
            streamed, shared, extents, c_steps = right, left, (columns, rows), (c_column, c_row)
        steps = -(-a.shape[-1] // PANEL)
        scratch_words = SCRATCH_HEAD + (2 if ahead else group) * block_steps * STEP_WORDS
        batch, c_batch = (out.shape[0], out.strides[0] // 4) if out.ndim == 3 else (1, 0)
        sizes = {
            "streamed_extent": extents[0], "shared_extent": extents[1], "depth": a.shape[-1], "batch": batch,
            "streamed_stride": streamed[0], "shared_stride": shared[0],
            "streamed_batch": streamed[1], "shared_batch": shared[1],
            "streamed_deep": streamed[2], "shared_deep": shared[2],
            "c_streamed": c_steps[0], "c_shared": c_steps[1], "c_batch": c_batch,
            "streamed_left": streamed_left, "turned": turned, "add": accumulate, "has_bias": bias is not None,
            "group": group, "block_steps": block_steps, "ahead": ahead, "scratch_words": scratch_words,
        }  # fmt: skip
        self.sizes = np.array([sizes[name] for name in SIZES], np.int64)
        self.shared, self.own = batch * -(-extents[1] // PANEL) * steps * STEP_WORDS, scratch_words
        self.threaded = cycles > _THREADED_CYCLES


def _operand(array, extent, depth):
    """Steps of an operand: from line to line and matrix to matrix; and whether its k lie side by side."""
    deep = _is_deep(array, extent, depth)
    return array.strides[extent if deep else depth] // 4, array.strides[0] // 4 if array.ndim == 3 else 0, deep


def _is_deep(array, extent, depth):
    if array.shape[depth] == 1 < array.shape[extent]:
        return array.strides[extent] != 4
    return array.strides[depth] == 4


def product(a, b, out, bias=None, accumulate=False):
    """out = a @ b (+ bias over the columns) (+ out), all float32.

    ``a`` is (rows, depth) or (batch, rows, depth), ``b`` (depth, columns) or with the same batch, ``out`` contiguous in
    its last dimension; one of the last two strides of ``a`` and of ``b`` must be that of one element. Sizes are not 0.
    """
    key = (a.shape, a.strides, b.shape, b.strides, out.strides, bias is None, accumulate)
    found = _prepared.get(key)
    if found is None:
        found = _prepared[key] = prepare(a, b, out, bias, accumulate)
    run(found, a, b, out, bias)
    return out


def run(prepared, a, b, out, bias):
    """Compute a product of arrays for which it was prepared."""
    shared = scratch("tiles.shared", prepared.shared, np.int32)
    own = scratch("tiles.own", prepared.own * pool().scratch_areas, np.int32)
    streamed, other = (a, b) if prepared.streams_a else (b, a)
    kernel = _kernel()
    call = kernel.threaded if prepared.threaded else kernel.alone
    call(streamed, other, out, bias, shared, own, prepared.sizes)


@functools.cache
def _kernel():
    return compiled(("tile product",), build)


def prepare(a, b, out, bias, accumulate, way=None):
    """The _Product for such arrays, in the cheapest way, or in that one (see ``plan``)."""
    batch = out.shape[0] if out.ndim == 3 else 1
    deep = _is_deep(a, -2, -1), _is_deep(b, -1, -2)
    return _Product(a, b, out, bias, accumulate, way or plan(*out.shape[-2:], a.shape[-1], batch, *deep))
