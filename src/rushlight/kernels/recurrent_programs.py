"""Loop programs of recurrent layers: all steps of a sequence in one run, forward and backward.

A step is one parallel loop. A chunk of it has some rows (samples) and one panel of columns (hidden units): it multiplies
the rows' hidden states with the panel's columns of the weight, for all gates, into scratch memory, and then runs the cell
on what it found. Forward, the weight is first packed so that a panel's columns of all gates lie side by side.
"""

from __future__ import annotations

from .builder import Builder
from .matmul_packing import turning
from .program import Program
from .recurrent_cells import CELLS


def panel_vectors(kind, backward):
    """How many vectors of hidden units a panel has, and how many vectors of sums that makes."""
    gates = CELLS[kind].gates
    units = 2 if backward else 4 // gates
    return units, units if backward else units * gates


def _product(scalar, lanes, rows, vectors):
    """Function that multiplies ``rows`` rows with a panel: target[r, j] = sum of a[r, k] * b[k, j] over k < depth.

    Target rows hold ``vectors`` whole vectors; of b only ``columns`` columns are read.
    """
    parameters = [("a", f"{scalar}*"), ("lda", "i64"), ("b", f"{scalar}*"), ("ldb", "i64"), ("target", f"{scalar}*")]
    builder = Builder("product", [*parameters, ("depth", "i64"), ("columns", "i64")])
    a, lda, b, ldb, target, depth, columns = builder.parameters
    masks = [builder.first_lanes(columns - v * lanes, lanes) for v in range(vectors)]
    a_rows = [builder.offset(a, lda * r) for r in range(rows)]
    zero = builder.constant(0, f"{scalar}x{lanes}")
    with builder.loop(0, depth, 1, [b] + [zero] * (rows * vectors)) as k:
        panel, *sums = k.carry
        right = [builder.load(panel, v * lanes, lanes, masks[v]) for v in range(vectors)]
        for r, row in enumerate(a_rows):
            left = builder.splat(builder.load(row, k.index), lanes)
            for v in range(vectors):
                sums[r * vectors + v] = builder.fma(left, right[v], sums[r * vectors + v])
        k.carry = [builder.offset(panel, ldb), *sums]
    for i, total in enumerate(k.results[1:]):
        builder.store(total, target, i * lanes)
    return builder.function


class _Units:
    """A vector of hidden units of one row in the arrays of a cell."""

    def __init__(self, builder, places, size, lanes, mask):
        self._builder, self._places, self._size, self._lanes, self._mask = builder, places, size, lanes, mask

    def __contains__(self, name):
        return name in self._places

    def load(self, name, gate=0):
        return self._builder.load(self._places[name], self._size * gate, self._lanes, self._mask)

    def store(self, value, name, gate=0):
        self._builder.store(value, self._places[name], self._size * gate, self._mask)


class _Layer:
    """The entry of a program being built: its parameters, and the parts that forward and backward have in common."""

    _NUMBERS = ("steps", "rows", "size", "first", "direction", "blocks", "scratch_size")

    def __init__(self, name, kind, scalar, lanes, tile_rows, backward, absent):
        self.cell, self.lanes, self.tile_rows = CELLS[kind], lanes, tile_rows
        declared = self.cell.backward_arrays if backward else self.cell.forward_arrays
        self.arrays = {n: array for n, array in declared.items() if n not in absent}
        self.unit_vectors, self.vectors = panel_vectors(kind, backward)
        pointers = self.pointer_names(kind, backward, absent)
        strides = self.stride_names(kind, backward, absent)
        parameters = [(n, f"{scalar}*") for n in pointers] + [(n, "i64") for n in (*strides, *self._NUMBERS)]
        self.builder = builder = Builder(name, parameters)
        self.given = dict(zip((n for n, _ in parameters), builder.parameters))
        self.steps, self.rows, self.size = (self.given[n] for n in ("steps", "rows", "size"))
        self.direction = self.given["direction"]
        self.product = _product(scalar, lanes, tile_rows, self.vectors)
        self.width = self.unit_vectors * lanes
        self.panels = (self.size + (self.width - 1)) // self.width

    @staticmethod
    def pointer_names(kind, backward, absent):
        """The names of the pointers that the program takes, in order."""
        cell = CELLS[kind]
        arrays = cell.backward_arrays if backward else cell.forward_arrays
        names = [n for n, array in arrays.items() if not array.source and n not in absent]
        names += [array.initial for array in arrays.values() if array.source and array.initial != "hidden"]
        return ["weight", "scratch", "hidden", *(["d_hidden"] if backward else ["packed"]), *names]

    @staticmethod
    def stride_names(kind, backward, absent):
        """The names of the strides that the program takes, in order: elements from step to step and from row to row."""
        cell = CELLS[kind]
        arrays = cell.backward_arrays if backward else cell.forward_arrays
        names = [n for n, array in arrays.items() if array.strided and n not in absent]
        return [f"{n}_{part}" for n in names for part in ("step", "row")]

    def step_of(self, name, step):
        """Where a step of the contiguous array begins."""
        return self.builder.offset(self.given[name], step * self.rows * (self.size * self.arrays[name].gates))

    def before(self, array, step, is_first):
        """Where the state before a step begins."""
        earlier = self.step_of(array.source, step - self.direction)
        return self.builder.select(is_first, self.given[array.initial], earlier)

    def starts(self, step, is_first):
        """For each array, where a step of it begins and how far apart its rows are."""
        found = {}
        for name, array in self.arrays.items():
            if array.source:
                found[name] = self.before(array, step, is_first), self.size
            elif array.strided:
                begin = self.builder.offset(self.given[name], step * self.given[f"{name}_step"])
                found[name] = begin, self.given[f"{name}_row"]
            elif array.place == "step":
                found[name] = self.step_of(name, step), self.size * array.gates
            else:
                found[name] = self.given[name], self.size if array.place == "sample" else 0
        return found

    def step(self, states, depth, panel_of, ldb, starts, arithmetic):
        """One parallel loop: the product of ``states`` (rows of ``depth``) and the panels, then the cell's arithmetic.

        ``panel_of(panel)`` gives where a panel begins and how many of its columns may be read; ``arithmetic(sums,
        units)`` is built once, for a vector of units of a row.
        """
        builder, rows_at_once = self.builder, self.tile_rows
        blocks, pitch = self.given["blocks"], self.vectors * self.lanes
        with builder.parallel(blocks * self.panels) as chunk:
            block, panel = chunk // self.panels, chunk % self.panels
            tiles = self.rows // rows_at_once
            first = block * tiles // blocks * rows_at_once
            end = builder.select(block + 1 < blocks, (block + 1) * tiles // blocks * rows_at_once, self.rows)
            scratch = builder.offset(self.given["scratch"], builder.worker() * self.given["scratch_size"])
            begin, columns = panel_of(panel)
            with builder.loop(first, end, rows_at_once) as tile:
                row = builder.minimum(tile.index, end - rows_at_once)  # the last tile may repeat rows
                target = builder.offset(scratch, (row - first) * pitch)
                builder.call(
                    self.product, builder.offset(states, row * depth), depth, begin, ldb, target, depth, columns
                )
            with builder.loop(first, end) as row:
                sums = builder.offset(scratch, (row.index - first) * pitch)
                self._units_of_row(sums, row.index, panel * self.width, starts, arithmetic)

    def _units_of_row(self, sums, row, column, starts, arithmetic):
        builder, lanes = self.builder, self.lanes
        gates = self.vectors // self.unit_vectors
        with builder.loop(0, self.unit_vectors) as vector:
            place = column + vector.index * lanes
            mask = builder.first_lanes(self.size - place, lanes)
            places = {n: builder.offset(begin, row * stride + place) for n, (begin, stride) in starts.items()}
            units = _Units(builder, places, self.size, lanes, mask)
            values = [builder.load(sums, (vector.index * gates + g) * lanes, lanes) for g in range(gates)]
            arithmetic(values, units)


pointer_names, stride_names = _Layer.pointer_names, _Layer.stride_names


def forward_program(kind, scalar, lanes, tile_rows, absent=()):
    """The program of a layer of the given kind of cell: "lstm", "gru", "tanh" or "relu"; ``absent`` names arrays that
    are not given."""
    layer = _Layer("entry", kind, scalar, lanes, tile_rows, False, absent)
    builder, size, gates = layer.builder, layer.size, layer.cell.gates
    turn = turning(scalar, scalar, lanes, True)
    weight, packed, pitch = layer.given["weight"], layer.given["packed"], layer.vectors * lanes
    with builder.parallel(layer.panels) as panel:
        with builder.loop(0, layer.vectors) as vector:
            unit = builder.minimum(panel * layer.width + vector.index // gates * lanes, size - 1)
            source = builder.offset(weight, (vector.index % gates * size + unit) * size)
            target = builder.offset(packed, panel * size * pitch + vector.index * lanes)
            builder.call(turn, source, target, size, pitch, size, builder.minimum(size - unit, lanes))
    with builder.loop(0, layer.steps) as s:
        step = layer.given["first"] + s.index * layer.direction
        is_first = s.index < 1
        states = builder.select(is_first, layer.given["hidden"], layer.step_of("outputs", step - layer.direction))
        layer.step(
            states,
            size,
            lambda panel: (builder.offset(packed, panel * size * pitch), builder.constant(pitch)),
            builder.constant(pitch),
            layer.starts(step, is_first),
            lambda sums, units: layer.cell.forward(builder, sums, units),
        )
    return Program(f"{kind}_layer", [turn, layer.product, builder.function])


def backward_program(kind, scalar, lanes, tile_rows, absent=()):
    """The program of a layer's gradients; ``absent`` names gradients and other arrays that are not given."""
    layer = _Layer("entry", kind, scalar, lanes, tile_rows, True, absent)
    builder, size, weight = layer.builder, layer.size, layer.given["weight"]
    depth = size * layer.cell.gates

    def panel_of(panel):
        return builder.offset(weight, panel * layer.width), size - panel * layer.width

    with builder.loop(0, layer.steps) as s:
        step = layer.given["first"] + (layer.steps - 1 - s.index) * layer.direction
        starts = layer.starts(step, s.index >= layer.steps - 1)
        later = layer.step_of("sums", step + layer.direction)
        inner = builder.select(s.index > 0, depth, 0)
        layer.step(later, inner, panel_of, size, starts, lambda sums, units: layer.cell.backward(builder, *sums, units))
    starts = {"d_hidden": (layer.given["d_hidden"], size)}
    if layer.cell.carries_hidden:
        starts["carry"] = layer.given["carry"], size

    def finish(sums, units):
        units.store(sums[0] + units.load("carry") if "carry" in units else sums[0], "d_hidden")

    layer.step(layer.step_of("sums", layer.given["first"]), depth, panel_of, size, starts, finish)
    return Program(f"{kind}_layer_backward", [layer.product, builder.function])
