"""The program of the gradient of a convolution's weight on the tile unit: products over windows, for each tap a block.

For every tap, dW[o, i] is the sum over windows of dY[o, window] times X[i, the window's pixel of that tap]. X lies in
lines of channels (see ``lines.py``), dY in panels of windows. The two numbers in a word are those of two strips of
images, half of all strips apart: so every tap of X is tiles from another line on here too, and all of them are aligned.
"""

from __future__ import annotations

from typing import NamedTuple

from ...language.builder import Builder
from ...language.program import Program
from ...products.tiles.panels import BLOCK, LANES, PANEL, TILE_WORDS, multiply_parts, store_sums, turn_block
from ...windows.staging import Numbers
from .forward import PARTS, PRODUCTS
from .lines import STAGE_NUMBERS, fill_lines, split_lines, store_line

NUMBERS = (
    *STAGE_NUMBERS,
    *"groups inputs outputs taps strips pairs row_strips column_strips tile_rows tile_columns depth_out".split(),
    *"height_out width_out x_sample x_group y_sample y_group y_channel y_depth y_row slots steps few_steps".split(),
    *"half_words group_words panel_words lines_words scratch_words".split(),
)  # what the program reads from ``sizes``, in order


class WeightForm(NamedTuple):
    """What a program is specialised in: the operands' scalar, and whether strips are ``few``: split once, by all threads,
    and then multiplied block by block. Else they are dealt out to a fixed number of slots, each with sums of its own."""

    scalar: str
    few: bool


def fetch_half(scalar):
    """fetch_half(source, stride, channels, first, end, target): 32 pixels of 16 channels in float32.

    Of the pixels those from ``first`` to ``end`` are there, of the channels ``channels``; the others are zeros.
    """
    names = ("stride", "channels", "first", "end")
    b = Builder("fetch_half", [("source", f"{scalar}*"), *((n, "i64") for n in names), ("target", "f32*")])
    source, stride, channels, first, end, target = b.parameters
    with b.loop(0, LANES) as row, b.loop(0, PANEL, LANES) as column:
        count = b.select(row.index < channels, end - column.index, b.constant(0))
        mask = b.first_lanes(count, LANES) & ~b.first_lanes(first - column.index, LANES)
        value = b.load(source, row.index * stride + column.index, LANES, mask)
        b.store(b.convert(value, "f32"), target, row.index * PANEL + column.index)
    return b.function


def stage_pair_row(scalar, functions):
    """stage_pair_row(one, two, columns.., channels, target, residues, sizes, stage): a row of 16 channels of two strips.

    ``one`` and ``two`` are the rows' first pixels, ``column_one`` and ``column_two`` where the strips' first windows
    begin in them, ``width_one`` and ``width_two`` how long they are, 0 where there is none. ``stage`` holds two blocks.
    """
    names = ("column_one", "column_two", "width_one", "width_two", "channels")
    parameters = [("one", f"{scalar}*"), ("two", f"{scalar}*"), *((n, "i64") for n in names), ("target", "i32*")]
    b = Builder("stage_pair_row", [*parameters, ("residues", "i64*"), ("sizes", "i64*"), ("stage", "f32*")])
    one, two, column_one, column_two, width_one, width_two, channels, target, residues, sizes, stage = b.parameters
    n = Numbers(b, sizes, STAGE_NUMBERS)
    stride, pitch = n["column_stride"], n["pitch"]
    turned = b.offset(stage, BLOCK)
    extent = (pitch - 1) * stride + b.load(residues, n["residues"] - 1) + 1
    with b.loop(0, extent, PANEL) as block:
        for row, column, width, half in ((one, column_one, width_one, 0), (two, column_two, width_two, LANES * PANEL)):
            at = column + block.index
            source, target_half = b.offset(row, at), b.offset(stage, half)
            b.call(functions["fetch_half"], source, n["x_channel"], channels, 0 - at, width - at, target_half)
        b.call(functions["turn_block"], stage, PANEL, turned)
        with b.loop(0, n["residues"]) as residue:
            at = b.load(residues, residue.index)
            first, end = (
                b.minimum(pitch, (b.maximum(column - at, 0) + (stride - 1)) // stride)
                for column in (block.index, block.index + PANEL)
            )
            source = b.offset(turned, (first * stride + at - block.index) * PANEL)
            to = b.offset(target, (residue.index * n["rows"] * pitch + first) * LANES)
            b.call(functions["split_lines"], source, stride * PANEL, PANEL, end - first, n["part_words"], to)
    return b.function


def stage_pair(scalar, functions):
    """stage_pair(one, two, depth.., row.., column.., there, channels, target, slabs, residues, sizes, stage).

    16 channels of two strips to lines; ``one`` and ``two`` are their images, ``depth_one``, ... their first windows;
    ``there`` is 0 where there is no second strip.
    """
    names = [f"{what}_{which}" for which in ("one", "two") for what in ("depth", "row", "column")]
    parameters = [("one", f"{scalar}*"), ("two", f"{scalar}*"), *((n, "i64") for n in (*names, "there", "channels"))]
    parameters += [("target", "i32*"), ("slabs", "i64*"), ("residues", "i64*"), ("sizes", "i64*"), ("stage", "f32*")]
    b = Builder("stage_pair", parameters)
    one, two, *places, there, channels, target, slabs, residues, sizes, stage = b.parameters
    n = Numbers(b, sizes, STAGE_NUMBERS)
    row_words = n["pitch"] * LANES
    slab_words = n["residues"] * n["rows"] * row_words
    with b.loop(0, n["slabs"]) as slab, b.loop(0, n["rows"]) as line:
        found, widths, columns = [], [], []
        for image, (depth, row, column) in ((one, places[:3]), (two, places[3:])):
            deep = depth * n["depth_stride"] + n["depth_start"] + b.load(slabs, slab.index * 2)
            high = (row + line.index) * n["row_stride"] + n["row_start"] + b.load(slabs, slab.index * 2 + 1)
            inside = (deep >= 0) & (deep < n["depth"]) & (high >= 0) & (high < n["height"])
            found.append(b.offset(image, deep * n["x_depth"] + high * n["x_row"]))
            widths.append(b.select(inside, n["width"], b.constant(0)))
            columns.append(column * n["column_stride"] + n["column_start"])
        widths[1] = widths[1] * there
        to = b.offset(target, slab.index * slab_words + line.index * row_words)
        nothing = b.maximum(*widths).equals(0)
        with b.when(~nothing):
            b.call(functions["stage_pair_row"], *found, *columns, *widths, channels, to, residues, sizes, stage)
        with b.when(nothing), b.loop(0, n["residues"]) as residue:
            place = b.offset(to, residue.index * (n["rows"] * row_words))
            b.call(functions["fill_lines"], place, 0, n["pitch"], n["part_words"])
    b.call(functions["fill_lines"], b.offset(target, n["slabs"] * slab_words), 0, n["slack"], n["part_words"])
    return b.function


def spread_rows(scalar):
    """spread_rows(y, row_step, rows, columns, pitch, size, target): rows ``pitch`` apart in float32, zeros between.

    ``size`` elements are filled, and up to 15 more.
    """
    names = ("row_step", "rows", "columns", "pitch", "size")
    b = Builder("spread_rows", [("y", f"{scalar}*"), *((n, "i64") for n in names), ("target", "f32*")])
    y, row_step, rows, columns, pitch, size, target = b.parameters
    with b.loop(0, size, LANES) as at:
        b.store(b.constant(0.0, "f32x16"), target, at.index)
    with b.loop(0, rows) as row, b.loop(0, columns, LANES) as at:
        mask = b.first_lanes(columns - at.index, LANES)
        value = b.load(y, row.index * row_step + at.index, LANES, mask)
        b.store(b.convert(value, "f32"), target, row.index * pitch + at.index, mask)
    return b.function


def split_windows(parts):
    """split_windows(one, two, steps, target): an output's windows of two strips to its row in steps of a panel."""
    b = Builder("split_windows", [("one", "f32*"), ("two", "f32*"), ("steps", "i64"), ("target", "i32*")])
    one, two, steps, target = b.parameters
    with b.loop(0, steps) as step:
        first, second = (b.load(strip, step.index * LANES, LANES) for strip in (one, two))
        store_line(b, first, second, target, step.index * (2 * parts * TILE_WORDS), parts, 2 * TILE_WORDS)
    return b.function


def multiply_windows(parts):
    """multiply_windows(panel, lines, half_words, part_words, steps, few_steps, sums, block): adds to 32 x 32 sums.

    ``few_steps`` at a time are added up in tiles, and then to the sums; ``block`` is room for them.
    """
    names = ("half_words", "part_words", "steps", "few_steps")
    parameters = [("panel", "i32*"), ("lines", "i32*"), *((n, "i64") for n in names), ("sums", "f32*")]
    b = Builder("multiply_windows", [*parameters, ("block", "f32*")])
    panel, lines, half_words, part_words, steps, few_steps, sums, block = b.parameters
    with b.loop(0, steps, few_steps) as few:
        for tile in range(4):
            b.tile_zero(tile)
        with b.loop(few.index, b.minimum(few.index + few_steps, steps)) as step:
            windows = b.offset(panel, step.index * (2 * parts * TILE_WORDS))
            pixels = b.offset(lines, step.index * TILE_WORDS)

            def load_windows(tile, part, half, windows=windows):
                b.tile_load(tile, windows, (part * 2 + half) * TILE_WORDS)

            def load_pixels(tile, part, half, pixels=pixels):
                b.tile_load(tile, pixels, half_words * half + part_words * part)

            multiply_parts(b, load_windows, load_pixels, products=PRODUCTS[parts])
        store_sums(b, block)
        with b.loop(0, BLOCK, LANES) as at:
            b.store(b.load(sums, at.index, LANES) + b.load(block, at.index, LANES), sums, at.index)
    return b.function


def add_slots():
    """add_slots(sums, slots, slot, outputs, inputs, taps, w_output, dw): 1 if a sum is not finite, else 0.

    The blocks of all taps, of all slots in order, to the places of 32 outputs and inputs, or fewer.
    """
    names = ("slots", "slot", "outputs", "inputs", "taps", "w_output")
    b = Builder("add_slots", [("sums", "f32*"), *((n, "i64") for n in names), ("dw", "f32*")])
    sums, slots, slot, outputs, inputs, taps, w_output, dw = b.parameters
    lanes = b.iota("i64x16") * b.splat(taps, LANES)
    zero = b.constant(0.0, "f32x16")
    with b.loop(0, outputs, carry=[zero]) as row:
        with b.loop(0, inputs, LANES, row.carry) as column:
            mask = b.first_lanes(inputs - column.index, LANES)
            with b.loop(0, taps, carry=column.carry) as tap:
                at = tap.index * BLOCK + row.index * PANEL + column.index
                with b.loop(0, slots, carry=[zero]) as number:
                    number.carry[0] = number.carry[0] + b.load(sums, number.index * slot + at, LANES)
                total = number.results[0]
                b.scatter(total, b.offset(dw, row.index * w_output + column.index * taps + tap.index), lanes, mask)
                tap.carry = [b.fma(total, 0.0, tap.carry[0])]  # 0 times a finite number is 0; nothing else is
            column.carry = tap.results
        row.carry = column.results
    b.returns(b.select(b.reduce(row.results[0]).equals(0.0), b.constant(0), b.constant(1)))
    return b.function


class _WeightGradient:
    """Writes the entry."""

    def __init__(self, form):
        self.form, scalar, self.parts = form, form.scalar, PARTS[form.scalar]
        self.functions = {}
        for make in (
            lambda: fetch_half(scalar),
            turn_block,
            lambda: fill_lines(self.parts),
            lambda: split_lines("f32", self.parts),
            lambda: stage_pair_row(scalar, self.functions),
            lambda: stage_pair(scalar, self.functions),
            lambda: spread_rows(scalar),
            lambda: split_windows(self.parts),
            lambda: multiply_windows(self.parts),
            add_slots,
        ):
            function = make()
            self.functions[function.name] = function
        pointers = [("x", f"{scalar}*"), ("dy", f"{scalar}*"), ("dw", "f32*"), ("flags", "i32*"), ("sums", "f32*")]
        pointers += [("shared", "i32*"), ("own", "i32*"), ("taps", "i64*"), ("slabs", "i64*"), ("residues", "i64*")]
        self.b = b = Builder("tile_convolution_weight", [*pointers, ("sizes", "i64*")])
        vars(self).update({name: value for (name, _), value in zip([*pointers, ("sizes", "")], b.parameters)})
        self.n = Numbers(b, self.sizes, NUMBERS)

    def program(self):
        b, n = self.b, self.n
        self.input_blocks, self.output_blocks = _panels(n["inputs"]), _panels(n["outputs"])
        self.pieces = self.input_blocks * 2 + self.output_blocks  # of a pair of strips that are split one by one
        (self._few if self.form.few else self._slots)()
        return Program("tile_convolution_weight", [*self.functions.values(), b.function])

    def _few(self):
        """All strips are split, then block by block all of them multiplied."""
        b, n = self.b, self.n
        pair_words = n["lines_words"] + self.output_blocks * n["panel_words"]
        with b.parallel(n["groups"] * n["pairs"] * self.pieces) as chunk:
            number = chunk // self.pieces
            place = b.offset(self.shared, number * pair_words)
            self._split(number // n["pairs"], number % n["pairs"], chunk % self.pieces, place)
        blocks = self.output_blocks * self.input_blocks
        with b.parallel(n["groups"] * blocks) as chunk, b.tiles():
            group, block = chunk // blocks, chunk % blocks
            sums = b.offset(self._scratch(), self._head())
            self._clear(sums, n["taps"] * BLOCK)
            with b.loop(0, n["taps"]) as tap, b.loop(0, n["pairs"]) as pair:
                place = b.offset(self.shared, (group * n["pairs"] + pair.index) * pair_words)
                self._multiply(place, block, tap.index, b.offset(sums, tap.index * BLOCK))
            self._finish(group, block, sums, 1, chunk)

    def _slots(self):
        """Strips go to slots; then these are added up."""
        b, n = self.b, self.n
        blocks = self.output_blocks * self.input_blocks
        slot_words = blocks * n["taps"] * BLOCK
        with b.parallel(n["groups"] * n["slots"]) as chunk, b.tiles():
            group, slot = chunk // n["slots"], chunk % n["slots"]
            sums = b.offset(self.sums, chunk * slot_words)
            self._clear(sums, slot_words)
            place = b.reinterpret(b.offset(self._scratch(), self._head()), "i32")
            with b.loop(slot * n["pairs"] // n["slots"], (slot + 1) * n["pairs"] // n["slots"]) as pair:
                with b.loop(0, self.pieces) as piece:
                    self._split(group, pair.index, piece.index, place)
                with b.loop(0, blocks) as block, b.loop(0, n["taps"]) as tap:
                    at = (block.index * n["taps"] + tap.index) * BLOCK
                    self._multiply(place, block.index, tap.index, b.offset(sums, at))
        with b.parallel(n["groups"] * blocks) as chunk:
            group, block = chunk // blocks, chunk % blocks
            sums = b.offset(self.sums, group * n["slots"] * slot_words + block * n["taps"] * BLOCK)
            self._finish(group, block, sums, n["slots"], chunk, slot_words)

    def _scratch(self):
        return self.b.reinterpret(self.b.offset(self.own, self.b.worker() * self.n["scratch_words"]), "f32")

    def _head(self):
        """Words of a worker's scratch memory before what it holds: two blocks, and the windows of two strips."""
        return self.n["steps"] * (2 * LANES) + 2 * BLOCK

    def _clear(self, sums, size):
        with self.b.loop(0, size, LANES) as at:
            self.b.store(self.b.constant(0.0, "f32x16"), sums, at.index)

    def _place(self, strip):
        """(sample, depth, row, column) of a strip's first window."""
        n = self.n
        column, rest = strip % n["column_strips"] * n["tile_columns"], strip // n["column_strips"]
        row, rest = rest % n["row_strips"] * n["tile_rows"], rest // n["row_strips"]
        return rest // n["depth_out"], rest % n["depth_out"], row, column

    def _split(self, group, pair, piece, place):
        """A piece of a pair of strips: 16 channels of X to lines, or 32 outputs of dY to a panel."""
        b, n = self.b, self.n
        strips = pair, pair + n["pairs"]
        there = b.convert(strips[1] < n["strips"], "i64")
        halves = self.input_blocks * 2
        first = self._place(strips[0])
        second = self._place(strips[1] * there)
        with b.when(piece < halves):
            channel = piece * LANES
            channels = b.maximum(b.minimum(n["inputs"] - channel, LANES), 0)
            images = [
                b.offset(self.x, p[0] * n["x_sample"] + group * n["x_group"] + channel * n["x_channel"])
                for p in (first, second)
            ]
            target = b.offset(place, piece * n["half_words"])
            b.call(
                self.functions["stage_pair"], *images, *first[1:], *second[1:], there, channels, target, self.slabs,
                self.residues, self.sizes, self._scratch(),
            )  # fmt: skip
        with b.when(piece >= halves):
            block = piece - halves
            panel = b.offset(place, n["lines_words"] + block * n["panel_words"])
            self._split_outputs(group, block, (first, second), there, panel)

    def _split_outputs(self, group, block, places, there, panel):
        b, n = self.b, self.n
        rows_of = b.offset(self._scratch(), 2 * BLOCK)
        size = n["steps"] * LANES
        with b.loop(0, PANEL) as row:
            output = block * PANEL + row.index
            spread = [rows_of, b.offset(rows_of, size)]
            for (sample, depth, first, column), is_there, target in zip(places, (b.constant(1), there), spread):
                y = b.offset(self.dy, sample * n["y_sample"] + group * n["y_group"] + output * n["y_channel"])
                y = b.offset(y, depth * n["y_depth"] + first * n["y_row"] + column)
                rows = b.minimum(n["tile_rows"], n["height_out"] - first) * is_there
                rows = b.select(output < n["outputs"], rows, b.constant(0))
                columns = b.minimum(n["tile_columns"], n["width_out"] - column)
                b.call(self.functions["spread_rows"], y, n["y_row"], rows, columns, n["pitch"], size, target)
            target = b.offset(panel, row.index // LANES * TILE_WORDS + row.index % LANES * LANES)
            b.call(self.functions["split_windows"], *spread, n["steps"], target)

    def _multiply(self, place, block, tap, sums):
        """Adds to the sums of a block of outputs and inputs what a pair of strips gives for a tap."""
        b, n = self.b, self.n
        outputs, inputs = block // self.input_blocks, block % self.input_blocks
        panel = b.offset(place, n["lines_words"] + outputs * n["panel_words"])
        lines = b.offset(place, inputs * n["group_words"] + b.load(self.taps, tap))
        b.call(
            self.functions["multiply_windows"], panel, lines, n["half_words"], n["part_words"], n["steps"],
            n["few_steps"], sums, self._scratch(),
        )  # fmt: skip

    def _finish(self, group, block, sums, slots, chunk, slot_words=0):
        b, n = self.b, self.n
        output, along = block // self.input_blocks * PANEL, block % self.input_blocks * PANEL
        w_output = n["inputs"] * n["taps"]
        dw = b.offset(self.dw, (group * n["outputs"] + output) * w_output + along * n["taps"])
        outputs, inputs = b.minimum(n["outputs"] - output, PANEL), b.minimum(n["inputs"] - along, PANEL)
        found = b.call(self.functions["add_slots"], sums, slots, slot_words, outputs, inputs, n["taps"], w_output, dw)
        with b.when(found > 0):
            b.store(b.constant(1, "i32"), self.flags, chunk)


def _panels(extent):
    return (extent + (PANEL - 1)) // PANEL


def build(form):
    """The Program of weights' gradients of a WeightForm."""
    return _WeightGradient(form).program()
