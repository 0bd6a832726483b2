"""Loop programs of recurrent layers whose products are those of vectors.

Rows (samples) meet a panel of columns (hidden units): they are multiplied with the panel's columns of the weight, for all
gates, into scratch memory, and then the cell runs on what was found. The weight is first packed so that a panel's columns
(forward those of all gates) lie side by side; on the way back, only where it does not stay in a core's cache.

Where the weight stays in a core's cache, each thread takes some rows through all steps, with a packed weight of its own, so
that threads have nothing to wait for and nothing to tell each other. Where it does not, a step's panels are handed out, so
that each thread's cache has some of them.
"""

from __future__ import annotations

from .builder import Builder
from .matmul_packing import turning
from .recurrent_cells import CELLS
from .recurrent_programs import Layer


def panel_vectors(kind, backward):
    """How many vectors of hidden units a panel has, and how many vectors of sums that makes."""
    gates = CELLS[kind].gates
    units = 4 if backward else 4 // gates
    return units, units if backward else units * gates


def _product(scalar, lanes, rows, vectors, has_input):
    """Function that multiplies ``rows`` rows with a panel: target[r, j] = sum of a[r, k] * b[k, j] over k < depth.

    Target rows hold ``vectors`` whole vectors; of b only ``columns`` columns are read. With ``has_input`` another matrix's
    rows, ``x``, go on where those of a end.
    """
    pointer = f"{scalar}*"
    parameters = [("a", pointer), ("lda", "i64"), ("depth", "i64"), ("x", pointer), ("ldx", "i64"), ("inputs", "i64")]
    parameters += [("b", pointer), ("ldb", "i64"), ("columns", "i64"), ("target", pointer)]
    builder = Builder(f"product{rows}", parameters)
    *sources, b, ldb, columns, target = builder.parameters
    masks = [builder.first_lanes(columns - v * lanes, lanes) for v in range(vectors)]
    carried = [b] + [builder.constant(0, f"{scalar}x{lanes}")] * (rows * vectors)
    for first in (0, 3) if has_input else (0,):
        a, lda, depth = sources[first : first + 3]
        a_rows = [builder.offset(a, lda * r) for r in range(rows)]
        with builder.loop(0, depth, 1, carried) as k:
            panel, *sums = k.carry
            right = [builder.load(panel, v * lanes, lanes, masks[v]) for v in range(vectors)]
            for r, row in enumerate(a_rows):
                left = builder.splat(builder.load(row, k.index), lanes)
                for v in range(vectors):
                    sums[r * vectors + v] = builder.fma(left, right[v], sums[r * vectors + v])
            k.carry = [builder.offset(panel, ldb), *sums]
        carried = k.results
    for i, total in enumerate(carried[1:]):
        builder.store(total, target, i * lanes)
    return builder.function


class _VectorLayer(Layer):
    """What both ways of handing out the work have in common; ``tile_rows`` rows are multiplied at once."""

    def __init__(self, kind, scalar, lanes, tile_rows, backward, absent):
        super().__init__(kind, scalar, backward, absent)
        self.lanes, self.tile_rows = lanes, tile_rows
        self.unit_vectors, self.vectors = panel_vectors(kind, backward)
        self.has_input = "input" in self.arrays
        self.product = _product(scalar, lanes, tile_rows, self.vectors, self.has_input)
        self.turn = turning(scalar, scalar, lanes, True)
        self.product_functions = [self.product] if backward else [self.turn, self.product]
        self.width, self.pitch = self.unit_vectors * lanes, self.vectors * lanes
        self.panels = (self.size + (self.width - 1)) // self.width
        self.inputs = self.given["inputs"] if self.has_input else self.builder.constant(0)

    def pack_panel(self, panel, packed):
        """Lay the columns of the weights that make a panel side by side."""
        if self.backward:
            self._copy_panel(panel, packed)
        else:
            self._turn_panel(panel, packed)

    def _copy_panel(self, panel, packed):
        builder, column = self.builder, panel * self.width
        source = builder.offset(self.given["weight"], column)
        target = builder.offset(packed, panel * self.depth * self.pitch)
        places = range(0, self.pitch, self.lanes)
        masks = [builder.first_lanes(self.size - column - place, self.lanes) for place in places]
        with builder.loop(0, self.depth) as k:
            for place, mask in zip(places, masks):
                values = builder.load(source, k.index * self.size + place, self.lanes, mask)
                builder.store(values, target, k.index * self.pitch + place)

    def _turn_panel(self, panel, packed):
        builder, size, gates = self.builder, self.size, self.cell.gates
        with builder.loop(0, self.vectors) as vector:
            unit = builder.minimum(panel * self.width + vector.index // gates * self.lanes, size - 1)
            place = panel * (size + self.inputs) * self.pitch + vector.index * self.lanes
            row, count = vector.index % gates * size + unit, builder.minimum(size - unit, self.lanes)
            for name, depth in (("weight", size), ("w_ih", self.inputs))[: 1 + self.has_input]:
                source, target = builder.offset(self.given[name], row * depth), builder.offset(packed, place)
                builder.call(self.turn, source, target, depth, self.pitch, depth, count)
                place = place + depth * self.pitch

    def run_panel(self, panel, first, end, packed, states, depth, starts, arithmetic):
        """The rows from ``first`` to ``end`` and one panel of the packed weight, or of that itself: products, then the cell."""
        builder, rows_at_once, pitch = self.builder, self.tile_rows, self.pitch
        sums = self.scratch()
        if packed is None:
            column = panel * self.width
            weight = builder.offset(self.given["weight"], column), self.size, self.size - column
        else:
            weight = builder.offset(packed, panel * (self.depth + self.inputs) * pitch), pitch, pitch
        input, stride = starts["input"] if self.has_input else (states, 0)
        with builder.loop(first, end, rows_at_once) as tile:
            row = builder.minimum(tile.index, end - rows_at_once)  # the last tile may repeat rows
            left = builder.offset(states, row * self.state_row), self.state_row, depth
            left += builder.offset(input, row * stride), stride, self.inputs
            builder.call(self.product, *left, *weight, builder.offset(sums, (row - first) * pitch))
        with builder.loop(first, end) as row:
            place = builder.offset(sums, (row.index - first) * pitch)
            self._run_cell(place, row.index, panel * self.width, starts, arithmetic)

    def _run_cell(self, sums, row, column, starts, arithmetic):
        builder, lanes = self.builder, self.lanes
        gates = self.vectors // self.unit_vectors
        with builder.loop(0, self.unit_vectors) as vector:
            place = column + vector.index * lanes
            mask = builder.first_lanes(self.size - place, lanes)
            values = [builder.load(sums, (vector.index * gates + g) * lanes, lanes) for g in range(gates)]
            arithmetic(builder, values, self.units(starts, row, place, lanes, mask))


class _ByPanels(_VectorLayer):
    """A step is a parallel loop, over some blocks of rows and all panels."""

    def prepare(self):
        with self.builder.parallel(self.panels) as panel:
            self.pack_panel(panel, self.given["packed"])

    def step(self, index, states, depth, starts, arithmetic):
        builder, rows_at_once, blocks = self.builder, self.tile_rows, self.given["blocks"]
        with builder.parallel(blocks * self.panels) as chunk:
            panel, block = chunk // blocks, chunk % blocks  # so that a thread has the same panels at every step
            tiles = self.rows // rows_at_once
            first = block * tiles // blocks * rows_at_once
            end = builder.select(block + 1 < blocks, (block + 1) * tiles // blocks * rows_at_once, self.rows)
            self.run_panel(panel, first, end, self.given["packed"], states, depth, starts, arithmetic)


class _ByRows(_VectorLayer):
    """A chunk is a block of rows through all steps; forward, it packs the weight for itself, behind its worker's sums."""

    def _steps_forward(self):
        with self.builder.parallel(self.given["blocks"]) as block:
            self._begin(block)
            with self.builder.loop(0, self.panels) as panel:
                self.pack_panel(panel.index, self.packed)
            super()._steps_forward()

    def _steps_backward(self):
        with self.builder.parallel(self.given["blocks"]) as block:
            self._begin(block)
            self.packed = None  # its rows lie close enough to stay in the cache
            super()._steps_backward()

    def _begin(self, block):
        blocks = self.given["blocks"]
        self.first, self.end = block * self.rows // blocks, (block + 1) * self.rows // blocks
        most = (self.rows + (blocks - 1)) // blocks
        self.packed = self.builder.offset(self.scratch(), most * self.pitch)

    def step(self, index, states, depth, starts, arithmetic):
        with self.builder.loop(0, self.panels) as panel:
            self.run_panel(panel.index, self.first, self.end, self.packed, states, depth, starts, arithmetic)


def vector_program(kind, backward, scalar, lanes, tile_rows, by_rows, absent=()):
    """The program of a layer of the given kind of cell ("lstm", "lstm_sequence", "gru", "tanh" or "relu"), or that of its
    gradients; ``absent`` names arrays that are not given."""
    layer = _ByRows if by_rows else _ByPanels
    return layer(kind, scalar, lanes, tile_rows, backward, absent).program()
