"""What products on the tile unit are made of: blocks of sums, and what the vector units do while they grow.

The tile unit takes 16 cycles for a product of tiles, in which the processor can do a hundred other things. So the
streamed operand is split one step ahead of the tiles that are multiplied, and a block of sums goes into the result
while the next one is computed.
"""

from __future__ import annotations

from itertools import product

from ...language.builder import Builder
from .panels import BLOCK, LANES, PANEL, PARTS, STEP_WORDS, TILE_WORDS, multiply_steps, store_parts, turned_fours

FEW_ROWS = 4  # that are split, or finished, between products of tiles
FEWS = PANEL // FEW_ROWS  # in a block
PLACES = 4  # of a strip's steps
SPLIT_JOB = ("source", "stride", "half", "pair", "advance", "splits", "lead", "first_row", "last_row", "target")
FINISH_JOB = (
    "sums",
    "result",
    "coming",
    "result_stride",
    "rows",
    "columns",
    "bias",
    "check",
    "has_bias",
    "add",
    "turned",
)
_TYPES = dict(source="f32*", target="i32*", sums="f32*", result="f32*", coming="f32*", bias="f32*", check="f32*")


def _parameters(names):
    return [(name, _TYPES.get(name, "i64")) for name in names]


def split_rows():
    """split_rows(source, stride, pair, target, first, last): those rows of a tile of a step.

    The rows are ``stride`` elements apart, and the numbers of k + 16 ``pair`` after those of k.
    """
    b = Builder("split_rows", _parameters(("source", "stride", "pair", "target", "first", "last")))
    source, stride, pair, target, first, last = b.parameters
    with b.loop(first, last) as row:
        at = b.offset(source, stride * row.index)
        store_parts(b, b.load(at, 0, LANES), b.load(b.offset(at, pair), 0, LANES), target, row.index * LANES)
    return b.function


def finish_rows():
    """finish_rows(sums, result, result_stride, rows, columns, bias, check, has_bias, add, turned, first, last).

    Every four of the first ``rows`` rows of a 32 x 32 block from the ``first`` on to the ``last`` go into the result: as
    they are, or those of the block's transpose (``turned``); with a bias for each column, and added to what is there
    already (``add``). A NaN is put into ``check``, 16 numbers, if something that is written is not finite.
    """
    b = Builder("finish_rows", _parameters((*FINISH_JOB, "first", "last")))
    sums, result, coming, stride, rows, columns, bias, check, has_bias, add, turned, first, last = b.parameters
    places = range(0, PANEL, LANES)
    biases = [b.load(bias, at, LANES, b.first_lanes((columns - at) * has_bias, LANES)) for at in places]

    def masks(count):
        """Which numbers of a row are written, and which of those are added to what is there."""
        return [(b.first_lanes(count - at, LANES), b.first_lanes((count - at) * add, LANES)) for at in places]

    def finish(row, values, masks, check):
        for at, value, added, (written, old) in zip(places, values, biases, masks):
            value = value + added + b.load(result, row * stride + at, LANES, old)
            b.store(value, result, row * stride + at, written)
            b.prefetch(coming, row * stride + at, write=True)
            # 0 times a finite number is 0; nothing else is. What is not written does not count.
            check = b.fma(b.select(written, value, b.constant(0.0, value.type)), 0.0, check)
        return check

    with b.when(turned <= 0):
        whole = masks(columns)
        with b.loop(first * FEW_ROWS, b.minimum(last * FEW_ROWS, rows), carry=[b.load(check, 0, LANES)]) as row:
            values = [b.load(sums, row.index * PANEL + at, LANES) for at in places]
            row.carry[0] = finish(row.index, values, whole, row.carry[0])
        b.store(row.results[0], check)
    with b.when(turned > 0):
        with b.loop(first, last, carry=[b.load(check, 0, LANES)]) as few:
            start = few.index * FEW_ROWS
            halves = [turned_fours(b, b.offset(sums, start + at * PANEL), b.constant(PANEL)) for at in places]
            for row, values in enumerate(zip(*halves)):
                there = masks(b.select(start + row < rows, columns, b.constant(0)))
                few.carry[0] = finish(start + row, values, there, few.carry[0])
        b.store(few.results[0], check)
    return b.function


def _finish_few(b, finish_rows, job, step, steps):
    """While a step is multiplied: its share of the rows of an earlier block of sums."""
    fews_of_step = (steps + (FEWS - 1)) // steps
    begin = step * fews_of_step
    end = b.minimum(begin + fews_of_step, b.constant(FEWS))
    with b.when(begin < end):
        b.call(finish_rows, *job, begin, end)


def multiply_panels(split_rows, finish_rows):
    """multiply_panels(left, right, steps, block, split job, finish job): the 32 x 32 sums over steps of two panels.

    Meanwhile the rows from ``first_row`` to ``last_row`` of the two tiles of each of the steps below ``splits`` of some
    panel are split, those of a step ``lead`` steps ahead of the one that is multiplied; and the rows of an earlier block
    go into the result. Of what is split, ``half`` is the way to the second tile's numbers, ``pair`` from those of k to
    those of k + 16, ``advance`` to the next step's.
    """
    given = [("left", "i32*"), ("right", "i32*"), ("steps", "i64"), ("block", "f32*")]
    b = Builder("multiply_panels", given + _parameters((*SPLIT_JOB, *FINISH_JOB)))
    left, right, steps, block, source, stride, half, pair, advance, splits, *rest = b.parameters
    lead, first_row, last_row, target, *finish_job = rest

    def meanwhile(step):
        coming = step + lead
        start, words = b.offset(source, coming * advance), b.offset(target, coming * STEP_WORDS)
        end_row = b.select(coming < splits, last_row, b.constant(0))
        for few in range(0, LANES, FEW_ROWS):
            rows = b.maximum(first_row, few), b.minimum(end_row, few + FEW_ROWS)
            with b.when(rows[0] < rows[1]):
                b.call(split_rows, start, stride, pair, words, *rows)
                b.call(split_rows, b.offset(start, half), stride, pair, b.offset(words, TILE_WORDS), *rows)
            yield
        _finish_few(b, finish_rows, finish_job, step, steps)
        yield

    multiply_steps(b, left, right, steps, block, meanwhile)
    return b.function


def multiply_strip(split_rows, finish_rows, left):
    """multiply_strip_left(own, held, far, steps, strip, block, split job, finish job), and .._right: 16 x 64 sums.

    They are those of 16 rows of A (the ``strip``, 0 or 1, of a streamed panel) and two panels of B that are ``far`` words
    apart, or of 16 columns of B and two panels of A; they go into a half of each of two blocks. A strip is split as
    ``multiply_panels`` tells, one step ahead and all of its rows, but needed only once: so its steps take turns in a few places, which stay in the nearest
    cache, up to those from ``splits`` on, which are there already.
    """
    given = [("own", "i32*"), ("held", "i32*"), ("far", "i64"), ("steps", "i64"), ("strip", "i64"), ("block", "f32*")]
    b = Builder(f"multiply_strip_{'left' if left else 'right'}", given + _parameters((*SPLIT_JOB, *FINISH_JOB)))
    own, held, far, steps, strip, block, source, stride, half, pair, advance, splits, *rest = b.parameters
    finish_job = rest[4:]
    source, own = b.offset(source, strip * half), b.offset(own, strip * TILE_WORDS)
    for tile in range(4):
        b.tile_zero(tile)
    with b.loop(0, steps) as loop:
        step, following = loop.index, loop.index + 1
        mine = b.offset(own, b.select(step < splits, step % PLACES, step) * STEP_WORDS)
        start, words = b.offset(source, following * advance), b.offset(own, following % PLACES * STEP_WORDS)
        for part in range(PARTS):
            b.tile_load(4 + part, mine, part * 2 * TILE_WORDS)
        theirs = b.offset(held, step * STEP_WORDS)
        theirs = theirs, b.offset(theirs, far)
        # Small products first: of the held low part only that with the strip's high part counts, and so on.
        for count, (part, tile) in enumerate(product((2, 1, 0), range(4))):
            b.tile_load(7, theirs[tile // 2], (part * 2 + tile % 2) * TILE_WORDS)
            for mine_part in range(PARTS - 1 - part, -1, -1):
                b.tile_multiply(tile, *((4 + mine_part, 7) if left else (7, 4 + mine_part)))
            few = count // PARTS * FEW_ROWS
            if count % PARTS == 0:
                with b.when(following < splits):
                    b.call(split_rows, start, stride, pair, words, few, few + FEW_ROWS)
        _finish_few(b, finish_rows, finish_job, step, steps)
    to_strip = strip * (LANES * PANEL if left else LANES)
    for tile in range(4):
        at = tile // 2 * BLOCK + tile % 2 * (LANES if left else LANES * PANEL)
        b.tile_store(tile, b.offset(block, to_strip), at, PANEL * 4)
    return b.function


def multiply_blocks():
    """multiply_blocks(left, right, block): adds the product of two 32 x 32 blocks in plain float32."""
    b = Builder("multiply_blocks", [("left", "f32*"), ("right", "f32*"), ("block", "f32*")])
    left, right, block = b.parameters
    with b.loop(0, PANEL) as row, b.loop(0, PANEL, LANES) as column:
        at = row.index * PANEL + column.index
        with b.loop(0, PANEL, carry=[b.load(block, at, LANES)]) as k:
            factor = b.load(left, row.index * PANEL + k.index)
            k.carry[0] = b.fma(factor, b.load(right, k.index * PANEL + column.index, LANES), k.carry[0])
        b.store(k.results[0], block, at)
    return b.function


def clear_block():
    """clear_block(block): zeros."""
    b = Builder("clear_block", [("block", "f32*")])
    with b.loop(0, BLOCK, LANES) as at:
        b.store(b.constant(0.0, "f32x16"), b.parameters[0], at.index)
    return b.function
