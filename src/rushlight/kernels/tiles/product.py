"""The program of matrix products on the tile unit: one for all layouts and sizes."""

from __future__ import annotations

from typing import NamedTuple

from ..builder import Builder
from ..program import Program
from .panels import (
    BLOCK,
    LANES,
    PANEL,
    STEP_WORDS,
    TILE_WORDS,
    copy_block,
    entry,
    is_finite,
    multiply_steps,
    pack_panels,
    split_blocks,
    store_parts,
    turn_block,
)

FEW_ROWS = 4  # that are split between products of tiles
SCRATCH_HEAD = 4 * BLOCK  # words of a worker's scratch memory before its panels

POINTERS = (
    ("streamed", "f32*"), ("shared", "f32*"), ("c", "f32*"), ("bias", "f32*"),
    ("panels", "i32*"), ("scratch", "i32*"), ("sizes", "i64*"),
)  # fmt: skip
SIZES = (
    "streamed_extent shared_extent depth batch streamed_stride shared_stride streamed_batch shared_batch "
    "c_streamed c_shared c_batch streamed_deep shared_deep streamed_left turned add has_bias group block_steps "
    "ahead scratch_words"
).split()  # what the program reads from ``sizes``, in order; see ``_Product``


def split_rows():
    """split_rows(source, stride, pair, target, first, last): those rows of a tile of a step (see ``split_blocks``)."""
    b = Builder(
        "split_rows",
        [("source", "f32*"), ("stride", "i64"), ("pair", "i64"), ("target", "i32*"), ("first", "i64"), ("last", "i64")],
    )
    source, stride, pair, target, first, last = b.parameters
    with b.loop(first, last) as row:
        at = b.offset(source, stride * row.index)
        store_parts(b, b.load(at, 0, LANES), b.load(b.offset(at, pair), 0, LANES), target, row.index * LANES)
    return b.function


def multiply_panels(split_rows):
    """multiply_panels(left, right, steps, block, source, target, ...): the 32 x 32 sums over steps of two panels.

    In the first ``splits`` of the steps, one tile of a step of another panel is split (see ``split_blocks``):
    the vector units are idle while the tile unit multiplies. From step to step the source is ``advance`` further.
    """
    names = ("splits", "stride", "pair", "advance")
    b = Builder(
        "multiply_panels",
        [("left", "i32*"), ("right", "i32*"), ("steps", "i64"), ("block", "f32*"), ("source", "f32*")]
        + [("target", "i32*"), *((name, "i64") for name in names)],
    )
    left, right, steps, block, source, target, splits, stride, pair, advance = b.parameters

    def splitting(step):
        start, words = b.offset(source, step * advance), b.offset(target, step * STEP_WORDS)
        count = b.select(step < splits, b.constant(FEW_ROWS), b.constant(0))
        for few in range(0, LANES, FEW_ROWS):
            b.call(split_rows, start, stride, pair, words, few, few + count)
            yield

    multiply_steps(b, left, right, steps, block, splitting)
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


def finish_block():
    """finish_block(block, c, stride, rows, columns, bias, has_bias, add): a 32 x 32 block into the result.

    Adds a bias to each column, and what is there already.
    """
    names = ("stride", "rows", "columns", "has_bias", "add")
    b = Builder("finish_block", [("block", "f32*"), ("c", "f32*"), ("bias", "f32*"), *((n, "i64") for n in names)])
    block, c, bias, stride, rows, columns, has_bias, add = b.parameters
    halves = []
    for column in range(0, PANEL, LANES):
        mask = b.first_lanes(columns - column, LANES)
        before = b.first_lanes((columns - column) * add, LANES)
        added = b.load(bias, column, LANES, b.first_lanes((columns - column) * has_bias, LANES))
        halves.append((column, mask, before, added))
    with b.loop(0, rows) as row:
        for column, mask, before, added in halves:
            at = row.index * stride + column
            value = b.load(block, row.index * PANEL + column, LANES) + added
            b.store(value + b.load(c, at, LANES, before), c, at, mask)
    return b.function


class _Operand:
    """One operand of the entry: where it lies and how. ``deep`` says that its k lie side by side."""

    def __init__(self, product, name):
        self.b, self.pointer = product.b, getattr(product, name)
        self.extent, self.stride, self.batch, self.deep = (
            getattr(product, f"{name}_{what}") for what in ("extent", "stride", "batch", "deep")
        )

    def at(self, batch, first, along):
        """Pointer to the row of A (column of B) ``first`` at k ``along``."""
        b = self.b
        place = b.select(self.deep > 0, first * self.stride + along, along * self.stride + first)
        return b.offset(self.pointer, batch * self.batch + place)

    def lines(self, extent, depth):
        """How many lines lie in memory, and how long they are."""
        deep = self.deep > 0
        return self.b.select(deep, extent, depth), self.b.select(deep, depth, extent)


class _Stretch(NamedTuple):
    """The k that are added up at once: of which of the batch's products, from which step and k on, and how many."""

    batch: object
    begin: object
    along: object
    steps: object
    depth: object


class _Product:
    """Writes the entry of a product of matrices, C = A B for each of a batch.

    One operand is ``shared``: packed whole at first, by all threads. The other is ``streamed``: each chunk packs a group
    of its panels for itself, ``block_steps`` at a time, and multiplies them with all of the other's: panel by panel,
    packing the next one meanwhile, where it goes ``ahead``, and else packed together before. Which one is A
    (``streamed_left``), how they lie in memory (``deep``) and whether C's rows lie across its blocks (``turned``) are
    numbers too.
    """

    def __init__(self):
        parts = (split_blocks(), copy_block(), turn_block())
        rows = split_rows()
        made = [*parts, rows, pack_panels(*parts), multiply_panels(rows)]
        made += [multiply_blocks(), is_finite(), finish_block()]
        self.functions = {function.name: function for function in made}
        self.b, values = entry("tile_product", POINTERS, SIZES)
        vars(self).update(values)
        self.operands = _Operand(self, "streamed"), _Operand(self, "shared")

    def program(self):
        b = self.b
        self.steps = (self.depth + (PANEL - 1)) // PANEL
        self.panel_words = self.steps * STEP_WORDS
        self.shared_panels = (self.shared_extent + (PANEL - 1)) // PANEL
        with b.parallel(self.batch * self.shared_panels) as chunk:
            self._pack_shared(chunk // self.shared_panels, chunk % self.shared_panels)
        groups = (self.streamed_extent + (self.group * PANEL - 1)) // (self.group * PANEL)
        with b.parallel(self.batch * groups) as chunk, b.tiles():
            self._multiply_group(chunk // groups, chunk % groups * self.group)
        return Program("tile_product", [*self.functions.values(), b.function])

    def _scratch(self):
        """This worker's blocks (see ``SCRATCH_HEAD``) and its panels."""
        b = self.b
        own = b.offset(self.scratch, b.worker() * self.scratch_words)
        blocks = [b.offset(b.reinterpret(own, "f32"), i * BLOCK) for i in range(SCRATCH_HEAD // BLOCK)]
        return blocks, b.offset(own, SCRATCH_HEAD)

    def _pack(self, operand, left, start, extent, depth, panel_words, stage, target):
        b = self.b
        step_words, deep = b.constant(STEP_WORDS), operand.deep > 0
        b.call(
            self.functions["pack_panels"], start, operand.stride, *operand.lines(extent, depth),
            b.select(deep, panel_words, step_words), b.select(deep, step_words, panel_words),
            b.convert(operand.deep.differs(left), "i64"), left, stage, target,
        )  # fmt: skip

    def _pack_shared(self, batch, panel):
        b, operand = self.b, self.operands[1]
        extent = b.minimum(self.shared_extent - panel * PANEL, PANEL)
        target = b.offset(self.panels, (batch * self.shared_panels + panel) * self.panel_words)
        start = operand.at(batch, panel * PANEL, b.constant(0))
        blocks, _ = self._scratch()
        self._pack(operand, 1 - self.streamed_left, start, extent, self.depth, self.panel_words, blocks[0], target)

    def _multiply_group(self, batch, first):
        """The streamed operand's panels from ``first`` on, with all of the other's."""
        b, start = self.b, first * PANEL
        extent = b.minimum(self.streamed_extent - start, self.group * PANEL)
        with b.loop(0, self.steps, self.block_steps) as begin:
            steps = b.minimum(self.block_steps, self.steps - begin.index)
            along = begin.index * PANEL
            stretch = _Stretch(batch, begin.index, along, steps, b.minimum(steps * PANEL, self.depth - along))
            ahead, rows = self.ahead > 0, (extent + (PANEL - 1)) // PANEL
            self._pack_own(
                stretch, start, b.select(ahead, b.minimum(extent, PANEL), extent), b.constant(0), b.constant(0)
            )
            inner = b.select(ahead, self.shared_panels, rows)
            with b.loop(0, rows * self.shared_panels) as block:
                outer = block.index // inner
                rest = block.index - outer * inner
                row, other = b.select(ahead, outer, rest), b.select(ahead, rest, outer)
                slot, following = b.select(ahead, row % 2, row), (row + 1) * PANEL
                whole = b.select(following + PANEL <= extent, stretch.depth // PANEL * self.ahead, b.constant(0))
                splitting = self._splitting(
                    stretch, start + following, b.select(other < 2, whole, b.constant(0)), slot, other
                )
                self._multiply(stretch, slot, (start + row * PANEL, other * PANEL), other, splitting)
                with b.when(ahead & (other + 1).equals(self.shared_panels) & (following < extent)):
                    count = b.minimum(extent - following, PANEL)
                    self._pack_own(stretch, start + following, count, whole, 1 - slot)

    def _pack_own(self, stretch, first, extent, begin, slot):
        """Pack the streamed operand's panels over ``extent`` from ``first`` on, without the first ``begin`` steps."""
        operand, (blocks, packed) = self.operands[0], self._scratch()
        along = begin * PANEL
        start = operand.at(stretch.batch, first, stretch.along + along)
        words = stretch.steps * STEP_WORDS
        target = self.b.offset(packed, slot * words + begin * STEP_WORDS)
        self._pack(operand, self.streamed_left, start, extent, stretch.depth - along, words, blocks[0], target)

    def _splitting(self, stretch, first, splits, slot, tile):
        """What ``multiply_panels`` is to split: so many steps of a tile of the panel at ``first``.

        The first two blocks of results of a panel (there must be two) split the two tiles of the next one's whole
        steps, whose blocks need no transposition.
        """
        b, operand, (_, packed) = self.b, self.operands[0], self._scratch()
        left, far = self.streamed_left > 0, operand.stride * LANES
        half, pair = b.select(left, far, b.constant(LANES)), b.select(left, b.constant(LANES), far)
        advance = b.select(operand.deep > 0, b.constant(PANEL), operand.stride * PANEL)
        source = b.offset(operand.at(stretch.batch, first, stretch.along), tile * half)
        target = b.offset(packed, (1 - slot) * (stretch.steps * STEP_WORDS) + tile * TILE_WORDS)
        return source, target, splits, operand.stride, pair, advance

    def _multiply(self, stretch, slot, firsts, other, splitting):
        """One block of results, of the packed panel in ``slot``, while splitting what ``_splitting`` says."""
        b, (blocks, packed) = self.b, self._scratch()
        mine = b.offset(packed, slot * (stretch.steps * STEP_WORDS))
        words = (stretch.batch * self.shared_panels + other) * self.panel_words + stretch.begin * STEP_WORDS
        theirs = b.offset(self.panels, words)
        left = self.streamed_left > 0
        panels = b.select(left, mine, theirs), b.select(left, theirs, mine)
        b.call(self.functions["multiply_panels"], *panels, stretch.steps, blocks[0], *splitting)
        with b.when(b.call(self.functions["is_finite"], blocks[0]).equals(0)):
            self._multiply_plainly(stretch.batch, firsts, stretch.along, stretch.depth, blocks)
        self._finish(stretch.batch, firsts, stretch.begin, blocks)

    def _multiply_plainly(self, batch, firsts, along, depth, blocks):
        """The block of results at ``firsts`` again, over ``depth`` k from ``along`` on, without tiles."""
        b, call = self.b, self.functions
        result, stage, *fetched = blocks
        with b.loop(0, BLOCK, LANES) as at:
            b.store(b.constant(0.0, "f32x16"), result, at.index)
        lefts = self.streamed_left, 1 - self.streamed_left
        with b.loop(0, depth, PANEL) as k:
            for operand, first, left, target in zip(self.operands, firsts, lefts, fetched):
                start = operand.at(batch, first, along + k.index)
                lines = operand.lines(operand.extent - first, depth - k.index)
                turned = operand.deep.differs(left)
                b.call(call["copy_block"], start, operand.stride, *lines, b.select(turned, stage, target))
                with b.when(turned):
                    b.call(call["turn_block"], stage, PANEL, target)
            left = self.streamed_left > 0
            ordered = b.select(left, *fetched), b.select(left, *reversed(fetched))
            b.call(call["multiply_blocks"], *ordered, result)

    def _finish(self, batch, firsts, begin, blocks):
        """Add a block to C, or store it; the bias comes with the first k."""
        b, turned = self.b, self.turned > 0
        with b.when(turned):
            b.call(self.functions["turn_block"], blocks[0], PANEL, blocks[1])
        extents = [operand.extent - first for operand, first in zip(self.operands, firsts)]
        along_c = self.streamed_left.equals(self.turned)  # C's rows lie along the streamed operand's extent
        rows, columns = b.select(along_c, *reversed(extents)), b.select(along_c, *extents)
        at = batch * self.c_batch + firsts[0] * self.c_streamed + firsts[1] * self.c_shared
        is_first = b.convert(begin.equals(0), "i64")
        has_bias = self.has_bias * is_first
        b.call(
            self.functions["finish_block"], b.select(turned, blocks[1], blocks[0]), b.offset(self.c, at),
            b.offset(self.bias, b.select(along_c, *firsts) * has_bias), b.select(along_c, self.c_shared, self.c_streamed),
            b.minimum(rows, PANEL), columns, has_bias, b.maximum(self.add, 1 - is_first),
        )  # fmt: skip


def build():
    """The Program of a product: see ``_Product``."""
    return _Product().program()
