"""Loop programs of recurrent layers whose products run on the tile unit, as those of ``tiles.product`` do.

A chunk of a step has 32 rows (samples) and 32 hidden units. The weight is packed once; the rows' states, or the gradients
of the gates' sums, are packed by the chunks that compute them, for the next step, into the other one of two areas.
"""

from __future__ import annotations

from ..products.tiles.panels import (
    BLOCK,
    LANES,
    PANEL,
    STEP_WORDS,
    TILE_WORDS,
    copy_block,
    is_finite,
    multiply_steps,
    pack_panels,
    split_blocks,
    store_parts,
    turn_block,
)
from ..products.tiles.product import multiply_blocks
from .programs import Layer


def blocks_of_scratch(gates):
    """How many blocks of 32 x 32 numbers a worker needs: sums of all gates, two to pack, two for plain products."""
    return gates + 4


def packed_words(rows, size, gates):
    """How many words the packed weight takes, and those of the two areas of states of the larger direction."""
    panels = size // PANEL
    return panels * panels * gates * STEP_WORDS, 2 * -(-rows // PANEL) * panels * gates * STEP_WORDS


class _TileLayer(Layer):
    """A layer of float32 numbers whose size is a whole number of panels."""

    def __init__(self, kind, backward, absent):
        super().__init__(kind, "f32", backward, absent)
        parts = (split_blocks(), copy_block(), turn_block())
        made = [*parts, pack_panels(*parts), multiply_blocks(), is_finite()]
        self.functions = {function.name: function for function in made}
        self.product_functions = made
        self.gates = 1 if backward else self.cell.gates  # blocks of sums that a chunk computes
        self.panels = self.size // PANEL
        self.row_blocks = (self.rows + (PANEL - 1)) // PANEL
        self.deep_steps = self.depth // PANEL
        self.packed = self.builder.reinterpret(self.given["packed"], "i32")

    def _area(self, index):
        """Where the packed states of a step are."""
        builder, area_words = self.builder, self.row_blocks * self.deep_steps * STEP_WORDS
        weight_words = self.panels * self.panels * (self.cell.gates * STEP_WORDS)
        return builder.offset(self.packed, weight_words + index % 2 * area_words)

    def _block(self, number):
        return self.builder.offset(self.scratch_blocks, number * BLOCK)

    def prepare(self):
        builder, call, size = self.builder, self.functions, self.size
        deep_words = self.deep_steps * STEP_WORDS
        with builder.parallel(self.panels * self.cell.gates) as line:
            self.scratch_blocks = self.scratch()
            source = builder.offset(self.given["weight"], line * PANEL * size)
            words = (STEP_WORDS, deep_words, 0) if self.backward else (deep_words, STEP_WORDS, 1)
            target = builder.offset(self.packed, line * words[0])
            builder.call(call["pack_panels"], source, size, PANEL, size, *words, 0, self._block(self.gates), target)
        missing = self.row_blocks * PANEL - self.rows
        last = (self.row_blocks - 1) * deep_words
        with builder.parallel(2) as area:  # rows that are not there stay 0
            with builder.loop(0, builder.select(missing > 0, deep_words, 0), LANES) as word:
                builder.store(builder.constant(0, f"i32x{LANES}"), self._area(area), last + word.index)
        if not self.backward:
            with builder.parallel(self.row_blocks) as block:
                self.scratch_blocks = self.scratch()
                source = builder.offset(self.given["hidden"], block * PANEL * size)
                rows = builder.minimum(self.rows - block * PANEL, PANEL)
                target = builder.offset(self._area(builder.constant(0)), block * deep_words)
                numbers = size, rows, size, 0, STEP_WORDS, 0, 1
                builder.call(call["pack_panels"], source, *numbers, self._block(self.gates), target)

    def step(self, index, states, depth, starts, arithmetic):
        builder = self.builder
        area, following = self._area(index), self._area(index + 1)
        with builder.parallel(self.row_blocks * self.panels) as chunk:
            self.scratch_blocks = self.scratch()
            row, panel = chunk // self.panels * PANEL, chunk % self.panels
            left = builder.offset(area, row // PANEL * self.deep_steps * STEP_WORDS)
            end = builder.minimum(self.rows, row + PANEL)
            with builder.tiles(), builder.loop(0, self.gates) as gate:
                right = builder.offset(self.packed, (gate.index * self.panels + panel) * self.deep_steps * STEP_WORDS)
                multiply_steps(builder, left, right, depth // PANEL, self._block(gate.index))
            with builder.loop(0, self.gates) as gate:
                with builder.when(builder.call(self.functions["is_finite"], self._block(gate.index)).equals(0)):
                    self._multiply_plainly(states, depth, row, end, gate.index * self.panels + panel, gate.index)
            with builder.loop(row, end) as r:
                with builder.loop(0, PANEL, LANES) as column:
                    at = (r.index - row) * PANEL + column.index
                    sums = [builder.load(self._block(gate), at, LANES) for gate in range(self.gates)]
                    arithmetic(builder, sums, self.units(starts, r.index, panel * PANEL + column.index, LANES))
                if self.state in starts:
                    self._split_row(starts[self.state], r.index, panel, following)

    def _split_row(self, state, row, panel, area):
        """Pack 32 units of a row that was just computed: the row of two tiles' parts that they are, for each gate."""
        builder, (begin, stride) = self.builder, state
        block, row_of_block = row // PANEL, row % PANEL
        place = row_of_block // LANES * TILE_WORDS + row_of_block % LANES * LANES
        with builder.loop(0, self.arrays[self.state].gates) as gate:
            step = gate.index * self.panels + panel
            source = builder.offset(begin, row * stride + step * PANEL)
            values = [builder.load(source, half, LANES) for half in (0, LANES)]
            store_parts(builder, *values, area, (block * self.deep_steps + step) * STEP_WORDS + place)

    def _multiply_plainly(self, states, depth, row, end, panel, gate):
        """A block of sums again, in float32."""
        builder, call, size, weight = self.builder, self.functions, self.size, self.given["weight"]
        result, (left, right) = self._block(gate), (self._block(self.gates + 2 + i) for i in range(2))
        with builder.loop(0, BLOCK, LANES) as at:
            builder.store(builder.constant(0.0, f"f32x{LANES}"), result, at.index)
        with builder.loop(0, depth, PANEL) as k:
            start = builder.offset(states, row * self.state_row + k.index)
            builder.call(call["copy_block"], start, self.state_row, end - row, PANEL, left)
            if self.backward:
                start = builder.offset(weight, k.index * size + panel * PANEL)
                builder.call(call["copy_block"], start, size, PANEL, PANEL, right)
            else:
                builder.call(call["turn_block"], builder.offset(weight, panel * PANEL * size + k.index), size, right)
            builder.call(call["multiply_blocks"], left, right, result)


def tile_program(kind, backward, absent):
    """The program of a layer, or that of its gradients, on the tile unit."""
    return _TileLayer(kind, backward, absent).program()
