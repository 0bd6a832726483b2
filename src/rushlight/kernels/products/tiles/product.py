"""The program of matrix products on the tile unit: one for all layouts and sizes."""

from __future__ import annotations

from typing import NamedTuple

from ...language.program import Program
from .panels import (
    BLOCK,
    LANES,
    PANEL,
    STEP_WORDS,
    copy_block,
    entry,
    is_finite,
    pack_panels,
    split_blocks,
    turn_block,
)
from .product_parts import FEWS, clear_block, finish_rows, multiply_blocks, multiply_panels, multiply_strip, split_rows

HELD_STEP = 8  # numbers from worker to worker in ``held``: a cache line
HEAD = LANES  # words of a worker's scratch memory: numbers to find NaNs with
BLOCKS = 8  # of 32 x 32 numbers that follow: four of sums, two for packing, two for plain products

POINTERS = (
    ("streamed", "f32*"), ("shared", "f32*"), ("c", "f32*"), ("bias", "f32*"),
    ("scratch", "i32*"), ("held", "i64*"), ("sizes", "i64*"),
)  # fmt: skip
SIZES = (
    "streamed_extent shared_extent depth batch streamed_stride shared_stride streamed_batch shared_batch "
    "c_streamed c_shared c_batch streamed_left shared_deep turned has_bias strips group block_panels block_steps scratch_words"
).split()  # what the program reads from ``sizes``, in order; see ``_Product``


class _Operand:
    """One operand of the entry: where it lies and how. ``deep``: its k lie side by side; ``left``: it is A."""

    def __init__(self, product, name, left, deep):
        self.b, self.pointer, self.left, self.deep = product.b, getattr(product, name), left, deep
        self.extent, self.stride, self.batch = (
            getattr(product, f"{name}_{what}") for what in ("extent", "stride", "batch")
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


class _Stage(NamedTuple):
    """What is multiplied at once: with which of the shared operand's panels, over which k."""

    across: object  # the first panel
    panels: object
    begin: object  # the first step
    along: object  # the first k
    steps: object
    depth: object  # how many k


class _Product:
    """Writes the entry of a product of matrices, C = A B for each of a batch.

    One operand is ``shared``: of it, every worker packs for itself what its second cache has room for (a ``stage``: that
    costs less than to fetch panels from another core's cache). The other is ``streamed``: a chunk splits a ``group`` of
    its panels, one after the other and a step ahead of the tiles, and multiplies each with all that is held. Which one is
    A (``streamed_left``), how the shared one lies in memory (``shared_deep``) and whether C's rows lie across its blocks
    (``turned``) are numbers too; the streamed one always lies so that nothing need be transposed.
    """

    def __init__(self):
        parts, jobs = (split_blocks(), copy_block(), turn_block()), (split_rows(), finish_rows())
        made = [
            *parts,
            *jobs,
            pack_panels(*parts),
            multiply_panels(*jobs),
            multiply_blocks(),
            clear_block(),
            is_finite(),
        ]
        made += [multiply_strip(*jobs, left) for left in (True, False)]
        self.functions = {function.name: function for function in made}
        self.b, values = entry("tile_product", POINTERS, SIZES)
        vars(self).update(values)
        left, self.late = self.streamed_left, self.strips + 1
        self.own = _Operand(self, "streamed", left, left)
        self.other = _Operand(self, "shared", 1 - left, self.shared_deep)

    def program(self):
        b = self.b
        self.steps = (self.depth + (PANEL - 1)) // PANEL
        self.shared_panels = (self.shared_extent + (PANEL - 1)) // PANEL
        groups = (self.streamed_extent + (self.group * PANEL - 1)) // (self.group * PANEL)
        stretches = (self.shared_panels + (self.block_panels - 1)) // self.block_panels
        with b.loop(0, self.steps, self.block_steps) as begin:
            steps, along = b.minimum(self.block_steps, self.steps - begin.index), begin.index * PANEL
            depth = b.minimum(steps * PANEL, self.depth - along)
            with b.parallel(self.batch * stretches * groups) as chunk, b.tiles():
                item, group = chunk // groups, chunk % groups
                across = item % stretches * self.block_panels
                panels = b.minimum(self.block_panels, self.shared_panels - across)
                stage = _Stage(across, panels, begin.index, along, steps, depth)
                self._hold(item // stretches, stage)
                self._multiply_group(item // stretches, group * (self.group * PANEL), stage)
        return Program("tile_product", [*self.functions.values(), b.function])

    def _scratch(self):
        """This worker's scratch memory: its head, blocks, panels of the streamed operand and of the shared one."""
        b = self.b
        head = b.offset(self.scratch, b.worker() * self.scratch_words)
        numbers = b.offset(b.reinterpret(head, "f32"), HEAD)
        panel = b.offset(head, HEAD + BLOCKS * BLOCK)
        return head, [b.offset(numbers, i * BLOCK) for i in range(BLOCKS)], panel, self._panel(panel, 2)

    def _panel(self, start, number):
        return self.b.offset(start, number * (self.block_steps * STEP_WORDS))

    def _pack(self, operand, start, extent, depth, stage_block, target):
        """Panels over ``extent`` and ``depth`` from ``start`` on."""
        b = self.b
        step_words, panel_words, deep = b.constant(STEP_WORDS), self.block_steps * STEP_WORDS, operand.deep > 0
        b.call(
            self.functions["pack_panels"], start, operand.stride, *operand.lines(extent, depth),
            b.select(deep, panel_words, step_words), b.select(deep, step_words, panel_words),
            b.convert(operand.deep.differs(operand.left), "i64"), operand.left, stage_block, target,
        )  # fmt: skip

    def _hold(self, batch, stage):
        """Pack the stage's panels of the shared operand, unless this worker did so for an earlier chunk of this run.

        ``held`` says of every worker which stage's panels it has, and is 0 where a run begins: scratch memory is no place
        for it, since that holds anything then, even what an earlier run would have written there.
        """
        b, (_, blocks, _, panels) = self.b, self._scratch()
        held = b.offset(self.held, b.worker() * HELD_STEP)
        wanted = (batch * self.shared_panels + stage.across) * self.steps + stage.begin + 1
        with b.when(b.load(held).differs(wanted)):
            first = stage.across * PANEL
            extent = b.minimum(self.shared_extent - first, stage.panels * PANEL)
            self._pack(self.other, self.other.at(batch, first, stage.along), extent, stage.depth, blocks[4], panels)
            b.store(wanted, held)

    def _multiply_group(self, batch, first, stage):
        """The streamed operand's panels from the row (or column) ``first`` on, with all that this worker holds.

        A block of sums goes into the result while the next one is computed; where two blocks grow at once, in strips,
        while the one after the next is.
        """
        b, (head, _, _, panels) = self.b, self._scratch()
        check = b.reinterpret(head, "f32")
        b.store(b.constant(0.0, "f32x16"), check)
        extent = b.minimum(self.streamed_extent - first, self.group * PANEL)
        count = (extent + (PANEL - 1)) // PANEL * stage.panels
        strips, left = self.strips > 0, self.streamed_left > 0
        call = self.functions
        with b.loop(0, count) as number:
            panel, other = number.index // stage.panels, number.index % stage.panels
            mine = self._own_panel(panel)
            with b.when(other.equals(0)):
                is_first = self._splits_itself(panel, other, stage)
                self._start_panel(batch, first + panel * PANEL, stage, mine, is_first)
            splitting = self._splitting(batch, first, stage, panel, other, count // stage.panels)
            jobs = *splitting, *self._finishing(batch, first, stage, number.index - self.late, check)
            with b.when(~strips):
                theirs = self._panel(panels, other)
                pair = b.select(left, mine, theirs), b.select(left, theirs, mine)
                b.call(call["multiply_panels"], *pair, stage.steps, self._sums(number.index), *jobs)
            for name, wanted in (("multiply_strip_left", left), ("multiply_strip_right", ~left)):
                with b.when(strips & wanted):
                    far = self.block_steps * STEP_WORDS
                    b.call(call[name], mine, panels, far, stage.steps, other, self._sums(panel * 2), *jobs)
        with b.loop(b.maximum(count - self.late, 0), count) as number:
            b.call(call["finish_rows"], *self._finishing(batch, first, stage, number.index, check), 0, FEWS)
        last = (stage.begin + stage.steps).equals(self.steps)
        with b.when(last & ~b.reduce(b.load(check, 0, LANES)).equals(0.0)), b.loop(0, count) as number:
            self._repair(batch, first, stage, number.index, check)

    def _sums(self, number):
        """Where the sums of the block of a chunk's results with that number are, until they have gone into C."""
        b, (_, blocks, *_) = self.b, self._scratch()
        return b.offset(blocks[0], number % (2 * self.late) * BLOCK)

    def _panel_at(self, batch, first, stage):
        """The streamed operand's panel at ``first``: where it begins, its extent and how many steps are whole."""
        b = self.b
        extent = b.minimum(self.streamed_extent - first, PANEL)
        whole = b.select(extent.equals(PANEL), stage.depth // PANEL, b.constant(0))
        return self.own.at(batch, first, stage.along), extent, whole

    def _start_panel(self, batch, first, stage, target, is_first):
        """Pack what is not split while tiles are multiplied: the ``first`` step if nothing came before, and blocks with
        rows or columns that are not there."""
        b, (_, blocks, *_), operand = self.b, self._scratch(), self.own
        start, extent, whole = self._panel_at(batch, first, stage)
        with b.when(is_first):
            self._pack(operand, start, extent, b.minimum(whole, b.constant(1)) * PANEL, blocks[4], target)
        tail = b.offset(start, whole * self._advance()), extent, stage.depth - whole * PANEL
        self._pack(operand, *tail, blocks[4], b.offset(target, whole * STEP_WORDS))

    def _advance(self):
        return self.b.select(self.streamed_left > 0, self.b.constant(PANEL), self.own.stride * PANEL)

    def _splitting(self, batch, first, stage, panel, other, count):
        """What is to be split while the block of results (panel, other) of a chunk grows.

        That is the panel itself, a step ahead, where it could not be before: when it is the chunk's first one or each
        is multiplied once, or needed in strips. Else it is the next panel, so many rows of each step as make it complete
        with the last of this one's blocks: as slowly as can be, for it comes from far away.
        """
        b = self.b
        itself = self._splits_itself(panel, other, stage)
        shown = b.select(itself, panel, b.minimum(panel + 1, count - 1))
        start, _, whole = self._panel_at(batch, first + shown * PANEL, stage)
        shares = b.maximum(stage.panels - 1, 1)
        rows = [
            b.select(itself, b.constant(row), (other - late) * LANES // shares) for row, late in ((0, 1), (LANES, 0))
        ]
        nothing = ~itself & ((stage.panels < 2) | other.equals(0) | shown.equals(panel))
        far, left = self.own.stride * LANES, self.streamed_left > 0
        half, pair = b.select(left, far, b.constant(LANES)), b.select(left, b.constant(LANES), far)
        splits, lead = b.select(nothing, b.constant(0), whole), b.select(itself, b.constant(1), b.constant(0))
        return start, self.own.stride, half, pair, self._advance(), splits, lead, *rows, self._own_panel(shown)

    def _splits_itself(self, panel, other, stage):
        return (self.strips > 0) | (other.equals(0) & (panel.equals(0) | (stage.panels < 2)))

    def _own_panel(self, number):
        """Where a chunk's panel of the streamed operand with that number is: two take turns."""
        return self._panel(self._scratch()[2], number % 2)

    def _places(self, first, stage, number):
        """Where the block of a chunk's results with that number begins along the streamed and the shared operand."""
        panel, other = number // stage.panels, number % stage.panels
        return first + panel * PANEL, (stage.across + other) * PANEL

    def _result(self, batch, places):
        return self.b.offset(self.c, batch * self.c_batch + places[0] * self.c_streamed + places[1] * self.c_shared)

    def _finishing(self, batch, first, stage, number, check, sums=None):
        """What ``finish_rows`` needs for the block with that number: no rows of it, if there is none (-1)."""
        b = self.b
        shown = b.maximum(number, 0)
        own, other = firsts = self._places(first, stage, shown)
        along_c = self.streamed_left.equals(self.turned)  # C's rows lie along the streamed operand's extent
        extents = self.streamed_extent - own, self.shared_extent - other
        rows, columns = b.select(along_c, *reversed(extents)), b.select(along_c, *extents)
        rows = b.select(number < 0, b.constant(0), b.minimum(rows, PANEL))
        is_first = b.convert(stage.begin.equals(0), "i64")
        has_bias = self.has_bias * is_first
        return (
            self._sums(shown) if sums is None else sums,
            self._result(batch, firsts), self._result(batch, self._places(first, stage, number + self.late)),
            b.select(along_c, self.c_shared, self.c_streamed), rows, columns,
            b.offset(self.bias, b.select(along_c, *firsts) * has_bias), check, has_bias, 1 - is_first, self.turned,
        )  # fmt: skip

    def _repair(self, batch, first, stage, number, check):
        """The block of results with that number again, over all k and in plain float32, if it is not finite."""
        b, call, (_, blocks, *_) = self.b, self.functions, self._scratch()
        everything = stage._replace(begin=b.constant(0))
        sums, stage_block, *fetched = blocks[0], blocks[4], *blocks[6:]
        finishing = self._finishing(batch, first, everything, number, check, sums)
        _, c, _, stride, rows, columns, *_ = finishing
        b.call(call["copy_block"], c, stride, rows, columns, stage_block)
        with b.when(b.call(call["is_finite"], stage_block).equals(0)):
            b.call(call["clear_block"], sums)
            with b.loop(0, self.depth, PANEL) as k:
                for operand, at, target in zip(
                    (self.own, self.other), self._places(first, stage, number), fetched, strict=True
                ):
                    turned = operand.deep.differs(operand.left)
                    lines = operand.lines(operand.extent - at, self.depth - k.index)
                    copy = b.select(turned, stage_block, target)
                    b.call(call["copy_block"], operand.at(batch, at, k.index), operand.stride, *lines, copy)
                    with b.when(turned):
                        b.call(call["turn_block"], stage_block, PANEL, target)
                left = self.streamed_left > 0
                ordered = b.select(left, *fetched), b.select(left, *reversed(fetched))
                b.call(call["multiply_blocks"], *ordered, sums)
            b.call(call["finish_rows"], *finishing, 0, FEWS)


def build():
    """The Program of a product: see ``_Product``."""
    return _Product().program()
