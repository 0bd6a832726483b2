"""Loop programs of recurrent layers on the tile unit whose weight stays in a core's cache: each thread takes some samples.

A chunk is 16 rows (samples) through all steps, so that threads have nothing to wait for and nothing to tell each other.
It goes from panel to panel of hidden units: while the tile unit multiplies the rows' states with one panel's columns of
the weight, the cell runs on the sums of the panel before.
"""

from __future__ import annotations

from contextlib import contextmanager

from ..language.builder import Builder
from ..products.tiles.panels import (
    BLOCK,
    LANES,
    PANEL,
    PARTS,
    STEP_WORDS,
    TILE_WORDS,
    copy_block,
    is_finite,
    pack_panels,
    split_blocks,
    store_parts,
    turn_block,
)
from .programs import Layer

ROWS = 16  # of a chunk
STATE_WORDS = PARTS * TILE_WORDS  # of a step of 32 k of the packed states
_PITCH = 4 * LANES  # between the rows of a block of sums: four vectors, of four gates or of two parts of two vectors
# The six products of parts, as in ``tiles.panels.multiply_parts``, one or two at a time: their parts of the states and of
# the weight, four bits for each time.
_LEFTS_AND_RIGHTS = {6: ((0x000112, 0x021100),), 3: ((0x012, 0x210), (0x001, 0x010))}


def scratch_words(size, inputs, gates, backward):
    """How much scratch memory a worker needs: two blocks of sums, two to pack with, and two areas of packed states."""
    return 4 * BLOCK + 2 * (size * (gates if backward else 1) // PANEL - -inputs // PANEL) * STATE_WORDS


def packed_words(size, inputs, gates):
    """How many words the packed weights take."""
    return gates * (size // PANEL) * (size // PANEL - -inputs // PANEL) * STEP_WORDS


def plain_sums():
    """plain_sums(states, pitch, weight, unit_step, k_step, depth, rows, add, sums): a vector of sums of each row.

    In float32; with ``add``, they are added to what is there.
    """
    names = ("pitch", "weight", "unit_step", "k_step", "depth", "rows", "add", "sums")
    types = ("i64", "f32*", "i64", "i64", "i64", "i64", "i64", "f32*")
    b = Builder("plain_sums", [("states", "f32*"), *zip(names, types)])
    states, pitch, weight, unit_step, k_step, depth, rows, add, sums = b.parameters
    there = b.first_lanes(add * LANES, LANES)
    units = b.iota(f"i64x{LANES}") * b.splat(unit_step, LANES)
    with b.loop(0, rows) as row:
        start = b.offset(states, row.index * pitch)
        with b.loop(0, depth, 1, [b.load(sums, row.index * _PITCH, LANES, there)]) as k:
            column = b.gather(b.offset(weight, k.index * k_step), units)
            k.carry = [b.fma(b.splat(b.load(start, k.index), LANES), column, k.carry[0])]
        b.store(k.results[0], sums, row.index * _PITCH)
    return b.function


class _RowLayer(Layer):
    """A layer of float32 numbers whose size is a whole number of panels."""

    def __init__(self, kind, backward, absent):
        super().__init__(kind, "f32", backward, absent)
        parts = (split_blocks(), copy_block(), turn_block())
        made = [*parts, pack_panels(*parts), plain_sums(), is_finite()]
        self.functions = {function.name: function for function in made}
        self.product_functions = made
        self.by_gates = not backward and self.cell.gates > 2  # one vector of units of each gate, or two of one sum
        self.columns = self.cell.gates if self.by_gates else 2
        self.slots = 6 if self.by_gates else 3  # times that four (or three) tile products make up a step of 32 k
        self.width = LANES if self.by_gates else PANEL  # hidden units of a panel
        self.inputs = self.given["inputs"] if "input" in self.arrays else self.builder.constant(0)
        self.input_steps = (self.inputs + (PANEL - 1)) // PANEL
        self.panels, self.deep_steps = self.size // PANEL, self.depth // PANEL + self.input_steps
        self.packed = self.builder.reinterpret(self.given["packed"], "i32")

    # ---- memory

    def _block(self, number):
        return self.builder.offset(self.scratch_start, number * BLOCK)

    def _area(self, index):
        """Where the packed states of a step are."""
        builder = self.builder
        areas = builder.reinterpret(builder.offset(self.scratch_start, 4 * BLOCK), "i32")
        return builder.offset(areas, index % 2 * (self.deep_steps * STATE_WORDS))

    # ---- before the steps

    def prepare(self):
        """Pack the weight, and after each of its panels the same columns of the input's."""
        builder, size, inputs = self.builder, self.size, self.inputs
        deep_words = self.deep_steps * STEP_WORDS
        with builder.parallel(size // PANEL * self.cell.gates) as line:
            self.scratch_start = self.scratch()
            source = builder.offset(self.given["weight"], line * PANEL * size)
            words = (STEP_WORDS, deep_words, 0) if self.backward else (deep_words, STEP_WORDS, 1)
            target = builder.offset(self.packed, line * words[0])
            builder.call(self.functions["pack_panels"], source, size, PANEL, size, *words, 0, self._block(2), target)
            if "input" in self.arrays:
                source = builder.offset(self.given["w_ih"], line * PANEL * inputs)
                target = builder.offset(target, size // PANEL * STEP_WORDS)
                numbers = inputs, PANEL, inputs, *words
                builder.call(self.functions["pack_panels"], source, *numbers, 0, self._block(2), target)

    def _steps_forward(self):
        with self._chunks():
            with self.builder.loop(0, self.rows_here) as row, self.builder.loop(0, self.size, PANEL) as unit:
                place = (self.first_row + row.index) * self.size + unit.index
                self._split(self.given["hidden"], place, self._area(0), unit.index // PANEL, row.index)
            super()._steps_forward()

    def _steps_backward(self):
        with self._chunks():
            super()._steps_backward()

    @contextmanager
    def _chunks(self):
        """What is done for 16 rows stands inside."""
        builder = self.builder
        with builder.parallel((self.rows + (ROWS - 1)) // ROWS) as chunk:
            self.scratch_start = self.scratch()
            self.first_row = chunk * ROWS
            self.rows_here = builder.minimum(self.rows - self.first_row, ROWS)
            words = builder.select(self.rows_here < ROWS, self.deep_steps * (2 * STATE_WORDS), 0)
            with builder.loop(0, words, LANES) as word:  # rows that are not there are 0
                builder.store(builder.constant(0, f"i32x{LANES}"), self._area(0), word.index)
            with builder.tiles():
                yield

    def _split(self, source, place, area, step, row, count=None):
        """Pack 32 numbers of a row, or only so many: the row of three parts' tiles that they are."""
        builder = self.builder
        masks = [None if count is None else builder.first_lanes(count - half, LANES) for half in (0, LANES)]
        values = [builder.load(source, place + half, LANES, mask) for half, mask in zip((0, LANES), masks)]
        store_parts(builder, *values, area, step * STATE_WORDS + row * LANES, TILE_WORDS)

    # ---- a step

    def step(self, index, states, depth, starts, arithmetic):
        builder = self.builder
        area, following, panels = self._area(index), self._area(index + 1), self.size // self.width
        products = (depth // PANEL + self.input_steps) * self.slots
        if "input" in starts:
            self._pack_input(*starts["input"], area)
        with builder.loop(0, panels + 1) as panel:  # the last round only runs the cell
            block, before = self._block(panel.index % 2), self._block((panel.index + 1) % 2)
            rows = builder.select(panel.index > 0, self.rows_here, 0)
            products_here = builder.select(panel.index < panels, products, 0)
            weights = self._weights(panel.index)
            for tile in range(4):
                builder.tile_zero(tile)
            with builder.loop(0, builder.maximum(products_here, rows)) as turn:
                with builder.when(turn.index < products_here):
                    self._multiply(area, weights, turn.index // self.slots, turn.index % self.slots)
                with builder.when(turn.index < rows):
                    self._run_cell(starts, arithmetic, turn.index, panel.index - 1, before, following)
            for tile in range(4):
                builder.tile_store(tile, block, tile * LANES, 4 * _PITCH)
            with builder.when(builder.call(self.functions["is_finite"], block).equals(0)):
                self._multiply_plainly(states, starts, depth, panel.index, block)

    def _pack_input(self, begin, stride, area):
        """Pack a step's input after its states."""
        b = self.builder
        with b.loop(0, self.rows_here) as row, b.loop(0, self.input_steps) as step:
            at = step.index * PANEL
            place = (self.first_row + row.index) * stride + at
            self._split(begin, place, area, self.panels + step.index, row.index, self.inputs - at)

    def _run_cell(self, starts, arithmetic, row, panel, sums, area):
        """Run the cell on the sums of a row of a panel, and pack what the next step multiplies."""
        b, at = self.builder, row * _PITCH
        for vector in range(0, self.width, LANES):
            column = panel * self.width + vector
            if self.by_gates:
                values = [b.load(sums, at + gate * LANES, LANES) for gate in range(self.columns)]
            else:  # of every vector of units two sums
                first, second = (b.load(sums, at + (vector + i * PANEL), LANES) for i in range(2))
                values = [first + second]
            arithmetic(b, values, self.units(starts, self.first_row + row, column, LANES))
        if self.state in starts:
            self._pack_row(starts[self.state], row, panel, area)

    def _pack_row(self, state, row, panel, area):
        """Pack 32 units of each gate of a row whose cells have run; where panels have 16, with the second of two."""
        b, (begin, stride) = self.builder, state
        per_step = PANEL // self.width
        step = panel // per_step
        with b.when((panel % per_step).equals(per_step - 1)):
            place = (self.first_row + row) * stride + step * PANEL
            with b.loop(0, self.arrays[self.state].gates) as gate:
                self._split(begin, place + gate.index * self.size, area, gate.index * self.panels + step, row)

    def _weights(self, panel):
        """The packed columns of the weight that make each tile of a panel's block of sums."""
        if self.by_gates:
            places = [(gate * self.panels + panel // 2, panel % 2) for gate in range(self.columns)]
        else:
            places = [(panel, half) for half in range(2)]
        words = self.deep_steps * STEP_WORDS
        return [self.builder.offset(self.packed, number * words + half * TILE_WORDS) for number, half in places]

    def _multiply(self, area, weights, step, slot):
        """Four tile products: the block of sums, 16 rows of states and a panel, grows by one product of parts or by two.

        Four tiles grow in turn, so that none has to wait for itself: where there are only two vectors of units, each has
        two tiles, which are added up later.
        """
        b = self.builder
        left = b.offset(area, step * STATE_WORDS)
        rights = [b.offset(weight, step * STEP_WORDS) for weight in weights]
        tile = 0
        for mine, theirs in _LEFTS_AND_RIGHTS[self.slots]:
            mine, theirs = (((b.constant(digits) >> slot * 4) & 3) for digits in (mine, theirs))
            b.tile_load(4, left, mine * TILE_WORDS)
            for right in rights:
                b.tile_load(5 + tile % 3, right, theirs * (2 * TILE_WORDS))
                b.tile_multiply(tile, 4, 5 + tile % 3)
                tile += 1

    def _multiply_plainly(self, states, starts, depth, panel, block):
        """The block again, in float32."""
        b, size, plain_sums = self.builder, self.size, self.functions["plain_sums"]
        start = b.offset(states, self.first_row * self.state_row)
        for column in range(4):
            if self.by_gates:
                unit = panel * LANES + min(column, self.columns - 1) * size
            else:
                unit = panel * PANEL + column % 2 * LANES
            steps = (b.constant(1), size) if self.backward else (size, b.constant(1))
            # The second of two sums is 0.
            deep = b.constant(0) if column >= 2 and not self.by_gates else depth
            weight, place = b.offset(self.given["weight"], unit * steps[0]), b.offset(block, column * LANES)
            b.call(plain_sums, start, self.state_row, weight, *steps, deep, self.rows_here, 0, place)
            if "input" in starts:
                (begin, stride), inputs = starts["input"], self.inputs
                weight, begin = b.offset(self.given["w_ih"], unit * inputs), b.offset(begin, self.first_row * stride)
                b.call(plain_sums, begin, stride, weight, inputs, 1, inputs, self.rows_here, 1, place)


def row_program(kind, backward, absent):
    """The program of a layer, or that of its gradients, sample by sample on the tile unit."""
    return _RowLayer(kind, backward, absent).program()
