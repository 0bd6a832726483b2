"""Loop programs of recurrent layers whose products are those of vectors.

Rows (samples) meet a panel of hidden units: they are multiplied with the panel's columns of the weight, gate by gate, into
scratch memory, and then the cell runs on what was found. The weight is first packed so that the columns of a panel and a
gate lie side by side. A panel has two vectors of units, so that there are registers for many rows of sums (a vector of the
weight then serves as many rows, and may come from a far cache) and the cell has two chains of arithmetic at a time.

Where the weight stays in a core's cache, each thread takes some rows through all steps, with a packed weight of its own, so
that threads have nothing to wait for and nothing to tell each other. Where it does not, a step's panels are handed out, so
that each thread's cache has some of them.
"""

from __future__ import annotations

import functools
from contextlib import contextmanager

from ..language.builder import Builder
from ..machine.host import vector_registers
from ..products.matmul_packing import PAIRS, copying, turning
from .cells import CELLS
from .programs import Layer, compute_scalar

PANEL_VECTORS = 2  # of hidden units
TILE_ROWS = {32: 12, 16: 6}
_LONGEST = 384  # products that are added up in a row at most: short chains of additions round less
_CHAIN = 32  # products that are added up in a row, where there are registers for more than one chain


def gates_of_sums(kind, backward):
    """How many sums there are for each hidden unit."""
    return 1 if backward else CELLS[kind].gates


def _product(scalar, packed, lanes, rows, vectors, pitch, has_input):
    """Function that multiplies ``rows`` rows with ``vectors`` vectors of columns: target[r * pitch + j] is the sum of
    a[r * lda + k] * b[k, j] over k < depth; all of b lies side by side. Where it is ``packed`` in PAIRS, one k of ``depth``
    and of ``inputs`` is a pair.

    With ``has_input`` another matrix's rows, ``x``, go on where those of a end. To ``resume`` is to add to what is there.
    """
    pointer, compute, pairs = f"{scalar}*", compute_scalar(scalar), packed == PAIRS
    parameters = [("a", pointer), ("lda", "i64"), ("depth", "i64"), ("x", pointer), ("ldx", "i64"), ("inputs", "i64")]
    parameters += [("b", f"{packed}*"), ("target", f"{compute}*"), ("resume", "i64")]
    builder = Builder(f"product{rows}x{vectors}", parameters)
    *sources, b, target, resume = builder.parameters
    count = rows * vectors
    chains = _chains(count)
    zeros = [builder.constant(0, f"{compute}x{lanes}")] * (count * chains)

    multiplied = functools.partial(_multiplied, builder, lanes, vectors, pairs)

    def chained(a_rows, first, end, carried):
        """The next place in b, and the sums of the chains with the products of some k, a whole number for each chain."""
        with builder.loop(first, end, chains, carried) as k:
            panel, *sums = k.carry
            k.carry = [builder.offset(panel, chains * vectors * lanes)]
            for chain in range(chains):
                place = builder.offset(panel, chain * vectors * lanes)
                k.carry += multiplied(a_rows, k.index + chain, place, sums[chain * count : (chain + 1) * count])
        return k.results

    carried = [b, *zeros[:count]]
    for first in (0, 3) if has_input else (0,):
        a, lda, depth = sources[first : first + 3]
        a_rows = [builder.offset(a, lda * r) for r in range(rows)]
        if chains == 1:
            carried = chained(a_rows, 0, depth, carried)
            continue
        whole = depth // chains * chains
        with builder.loop(0, whole, chains * _CHAIN, carried) as block:
            panel, *totals = block.carry
            end = builder.minimum(whole, block.index + chains * _CHAIN)
            panel, *sums = chained(a_rows, block.index, end, [panel, *zeros])
            block.carry = [panel, *(total + more for total, more in zip(totals, _folded(sums, count)))]
        with builder.loop(whole, depth, 1, block.results) as k:
            panel, *sums = k.carry
            k.carry = [builder.offset(panel, vectors * lanes), *multiplied(a_rows, k.index, panel, sums)]
        carried = k.results
    places = [i // vectors * pitch + i % vectors * lanes for i in range(count)]

    def resumed():
        return [total + builder.load(target, place, lanes) for total, place in zip(carried[1:], places)]

    for total, place in zip(builder.choose(resume > 0, resumed, lambda: carried[1:]), places):
        builder.store(total, target, place)
    return builder.function


def _multiplied(builder, lanes, vectors, pairs, a_rows, index, panel, sums):
    """The sums of one chain with the products of one k."""
    multiply = builder.dot if pairs else builder.fma
    right = [builder.load(panel, v * lanes, lanes) for v in range(vectors)]
    found = []
    for r, row in enumerate(a_rows):
        left = builder.bitcast(builder.load(row, index * 2, 2), PAIRS) if pairs else builder.load(row, index)
        left = builder.splat(left, lanes)
        found += [multiply(left, right[v], sums[r * vectors + v]) for v in range(vectors)]
    return found


def _chains(count):
    """Into how many chains of additions ``count`` vectors of sums are divided: short ones round less, and 8 additions run at
    a time. Where registers are left for one chain only, tiles have so many rows that PyTorch's library has no more either."""
    if count <= 2:
        return 4
    return 2 if 2 * count <= TILE_ROWS[vector_registers()] * PANEL_VECTORS else 1


def _folded(values, count):
    """So many vectors of chains of them, which are added up by a tree of halves."""
    while len(values) > count:
        half = len(values) // 2
        values = [x + y for x, y in zip(values[:half], values[half:])]
    return values


class _VectorLayer(Layer):
    """What both ways of handing out the work have in common.

    ``widths`` are the vectors that panels have (the last may be narrower), ``heights`` the rows that tiles have;
    ``fetches`` says whether what cells read and write is fetched before.
    """

    def __init__(self, kind, scalar, lanes, widths, heights, fetches, backward, absent):
        super().__init__(kind, scalar, backward, absent)
        self.lanes, self.widths, self.heights, self.fetches = lanes, widths, heights, fetches
        self.gates = gates_of_sums(kind, backward)
        self.has_input = "input" in self.arrays
        self.width = PANEL_VECTORS * lanes
        self.pitch = self.gates * self.width  # of rows of sums
        self.packed_scalar, self.in_step = (PAIRS, 2) if scalar == "bf16" else (scalar, 1)  # of k
        shapes = [(rows, vectors) for rows in heights for vectors in widths]
        types = scalar, self.packed_scalar, lanes
        self.products = {s: _product(*types, *s, self.pitch, self.has_input) for s in shapes}
        self.packers = {v: copying(*types, v) for v in widths} if backward else {1: turning(*types, True)}
        self.product_functions = [*self.packers.values(), *self.products.values()]
        self.panels = (self.size + (self.width - 1)) // self.width
        self.inputs = self.given["inputs"] if self.has_input else self.builder.constant(0)
        self.deep = (self.depth + self.inputs) // self.in_step

    def by_width(self, panel, body):
        """``body(vectors)`` for the width that a panel has."""
        if len(self.widths) == 1:
            body(self.widths[0])
            return
        is_wide = panel * self.width + self.lanes < self.size
        with self.builder.when(is_wide):
            body(self.widths[0])
        with self.builder.when(~is_wide):
            body(self.widths[1])

    # ---- packing

    def as_packed(self, pointer):
        """Memory for sums as memory for packed weights."""
        if self.packed_scalar == self.compute:
            return pointer
        return self.builder.reinterpret(pointer, self.packed_scalar)

    def place_of(self, panel, gate, vectors, packed):
        """Where a panel's packed columns of a gate begin."""
        return self.builder.offset(
            packed, (panel * (self.gates * PANEL_VECTORS) + gate * vectors) * (self.deep * self.lanes)
        )

    def pack_panel(self, panel, packed):
        """Lay the columns of the weights that make a panel side by side."""
        pack = self._copy_panel if self.backward else self._turn_panel
        self.by_width(panel, lambda vectors: pack(panel, packed, vectors))

    def _copy_panel(self, panel, packed, vectors):
        builder, column, pitch = self.builder, panel * self.width, vectors * self.lanes
        source, target = builder.offset(self.given["weight"], column), self.place_of(panel, 0, vectors, packed)
        count = builder.minimum(self.size - column, pitch)
        builder.call(self.packers[vectors], source, target, self.size, pitch, self.depth, count)

    def _turn_panel(self, panel, packed, vectors):
        builder, size, pitch = self.builder, self.size, vectors * self.lanes
        with builder.loop(0, self.gates) as gate, builder.loop(0, vectors) as vector:
            unit = panel * self.width + vector.index * self.lanes
            place = builder.offset(self.place_of(panel, gate.index, vectors, packed), vector.index * self.lanes)
            row, count = gate.index * size + unit, builder.minimum(size - unit, self.lanes)
            for name, depth in (("weight", size), ("w_ih", self.inputs))[: 1 + self.has_input]:
                source = builder.offset(self.given[name], row * depth)
                builder.call(self.packers[1], source, place, depth, pitch, depth, count)
                place = builder.offset(place, depth // self.in_step * pitch)

    # ---- a step

    def run_panel(self, panel, first, end, packed, states, depth, starts, arithmetic):
        """The rows from ``first`` to ``end`` and one panel of the packed weight: products, then the cell."""

        def run(vectors):
            self._multiply(panel, first, end, packed, states, depth, starts, vectors)
            self._run_cells(panel, first, end, starts, arithmetic, vectors)

        self.by_width(panel, run)

    def _multiply(self, panel, first, end, packed, states, depth, starts, vectors):
        builder, sums, count = self.builder, self.scratch(), end - first
        input, stride = starts["input"] if self.has_input else (states, 0)
        tiles, pieces = self._tiles(), self._pieces(depth)
        with builder.loop(0, self.gates) as gate, builder.loop(0, tiles) as tile:
            row, following = (index * count // tiles for index in (tile.index, tile.index + 1))
            if self.fetches:
                with builder.when(gate.index.equals(0)):
                    self._fetch(panel, first + row, first + following, starts, vectors)
            left = builder.offset(states, (first + row) * self.state_row), self.state_row
            added = builder.offset(input, (first + row) * stride), stride
            right = self.place_of(panel, gate.index, vectors, packed)
            target = builder.offset(sums, row * self.pitch + gate.index * self.width)
            for height in self.heights:
                with builder.when((following - row).equals(height)):
                    self._multiply_tile(self.products[height, vectors], left, added, right, target, vectors, pieces)

    def _pieces(self, depth):
        """In how many pieces the products of a depth are added up, how many k are in a piece, and in all."""
        deep = depth // self.in_step
        count = self.builder.maximum((deep + (_LONGEST - 1)) // _LONGEST, 1)
        return count, self.builder.maximum((deep + (count - 1)) // count, 1), deep

    def _multiply_tile(self, product, left, added, right, target, vectors, pieces):
        builder, (states, pitch), (count, piece, deep) = self.builder, left, pieces
        with builder.loop(0, count) as loop:
            k = loop.index * piece
            these = builder.offset(states, k * self.in_step), pitch, builder.minimum(deep - k, piece)
            inputs = builder.select(loop.index.equals(count - 1), self.inputs // self.in_step, 0)
            panel = builder.offset(right, k * (vectors * self.lanes))
            builder.call(product, *these, *added, inputs, panel, target, loop.index)

    def _tiles(self):
        """Into how many tiles a block's rows are cut: as many as for the largest block."""
        most, height = (self.rows + (self.given["blocks"] - 1)) // self.given["blocks"], self.heights[0]
        return (most + (height - 1)) // height

    def _fetch(self, panel, first, end, starts, vectors):
        """Fetch what the cell will read and write of some rows while their products are made: its lines lie far apart."""
        builder, column = self.builder, panel * self.width
        with builder.loop(first, end) as row:
            for name, (begin, stride) in starts.items():
                array = self.arrays.get(name)
                if array is None or array.place == "all" or name == "input":
                    continue
                place = builder.offset(begin, row.index * stride + column)
                for gate in range(array.gates):
                    for unit in range(0, vectors * self.lanes, self.lanes * self.in_step):
                        builder.prefetch(place, self.size * gate + unit)

    def _run_cells(self, panel, first, end, starts, arithmetic, vectors):
        builder, lanes, column = self.builder, vectors * self.lanes, panel * self.width
        sums = self.scratch()
        mask = builder.first_lanes(self.size - column, lanes)
        with builder.loop(first, end) as row:
            place = builder.offset(sums, (row.index - first) * self.pitch)
            values = [builder.load(place, gate * self.width, lanes) for gate in range(self.gates)]
            arithmetic(builder, values, self.units(starts, row.index, column, lanes, mask))


class _ByPanels(_VectorLayer):
    """A step is a parallel loop, over some blocks of rows and all panels."""

    def prepare(self):
        self.packed = self.as_packed(self.given["packed"])
        with self.builder.parallel(self.panels) as panel:
            self.pack_panel(panel, self.packed)

    def step(self, index, states, depth, starts, arithmetic):
        blocks = self.given["blocks"]
        with self.builder.parallel(blocks * self.panels) as chunk:
            panel, block = chunk // blocks, chunk % blocks  # so that a thread has the same panels at every step
            first, end = block * self.rows // blocks, (block + 1) * self.rows // blocks
            self.run_panel(panel, first, end, self.packed, states, depth, starts, arithmetic)


class _ByRows(_VectorLayer):
    """A chunk is a block of rows through all steps; it packs the weight for itself, behind its worker's sums."""

    def _steps_forward(self):
        with self._blocks():
            super()._steps_forward()

    def _steps_backward(self):
        with self._blocks():
            super()._steps_backward()

    @contextmanager
    def _blocks(self):
        builder, blocks = self.builder, self.given["blocks"]
        with builder.parallel(blocks) as block:
            self.first, self.end = block * self.rows // blocks, (block + 1) * self.rows // blocks
            most = (self.rows + (blocks - 1)) // blocks
            self.packed = self.as_packed(builder.offset(self.scratch(), most * self.pitch))
            with builder.loop(0, self.panels) as panel:
                self.pack_panel(panel.index, self.packed)
            yield

    def step(self, index, states, depth, starts, arithmetic):
        with self.builder.loop(0, self.panels) as panel:
            self.run_panel(panel.index, self.first, self.end, self.packed, states, depth, starts, arithmetic)


def vector_program(kind, backward, scalar, lanes, widths, heights, by_rows, fetches, absent=()):
    """The program of a layer of the given kind of cell ("lstm", "lstm_sequence", "gru", "tanh" or "relu"), or that of its
    gradients; ``absent`` names arrays that are not given."""
    layer = _ByRows if by_rows else _ByPanels
    return layer(kind, scalar, lanes, widths, heights, fetches, backward, absent).program()
