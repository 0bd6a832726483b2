"""The program of convolutions on the tile unit, and of their input's gradients: pixels' lines times weights' panels.

For each strip of windows, each block of 32 of them and each 32 outputs, the products of all taps and channels are added
up in tiles. In the gradient of a convolution with a stride, windows are those of the output's gradient, and elements of
the input are of several kinds (phases), each with taps of its own; all of them read the same lines.

Blocks that are not finite are noted: whoever called computes again without tiles (see ``panels.py``).
"""

from __future__ import annotations

from typing import NamedTuple

from ...language.builder import Builder
from ...language.program import Program
from ...products.tiles.panels import BLOCK, LANES, PANEL, TILE_WORDS, is_finite, multiply_parts, store_sums, turn_block
from ...products.tiles.panels import PRODUCTS as PRODUCTS_OF_THREE
from ...windows.staging import Numbers
from .lines import STAGE_NUMBERS, fetch_block, fill_lines, split_lines, stage_lines, stage_row, store_line

PARTS = {"f32": 3, "f16": 2, "bf16": 1}  # bfloat16 numbers that make one of the scalar's
# Of parts, by their number. Two parts hold a float16 number exactly, and their products are all computed.
PRODUCTS = {3: PRODUCTS_OF_THREE, 2: ((1, 0), (1, 1), (0, 1), (0, 0)), 1: ((0, 0),)}
NUMBERS = (
    *STAGE_NUMBERS,
    *"groups inputs outputs taps all_taps w_group w_output w_input phases strips image_strips row_strips".split(),
    *"column_strips tile_rows tile_columns depth_out x_sample x_group y_sample y_group y_channel y_depth y_row".split(),
    *"y_column group_words panel_words strip_words scratch_words".split(),
)  # what the program reads from ``sizes``, in order
PHASE = "steps first_step few_steps depth_out height_out width_out start table".split()  # numbers of a phase


class Form(NamedTuple):
    """What a program is specialised in.

    Attributes:
        scalar: of the operands and the result.
        deep: whether the source's channels lie side by side, as in channels_last.
        backward: whether the weight's outputs are summed over, as in the input's gradient.
        storing: "dense" (a strip's outputs lie side by side), "scattered", or "deep" (output channels do).
        few: whether strips are split once, by all threads, and weights by each chunk, as for few large pixels; else
            weights are split once, and each chunk splits a strip.
    """

    scalar: str
    deep: bool
    backward: bool
    storing: str
    few: bool


def fetch_weights(scalar, backward, functions):
    """fetch_weights(w, outputs, inputs, taps, w_output, w_input, target, stage): 32 x 32 weights of all taps.

    The target gets rows of 32 outputs, row c * taps + t for input c and tap t, in float32, zeros where there is no such
    output or input.
    """
    names = ("outputs", "inputs", "taps", "w_output", "w_input")
    parameters = [("w", f"{scalar}*"), *((n, "i64") for n in names), ("target", "f32*"), ("stage", "f32*")]
    b = Builder("fetch_weights", parameters)
    w, outputs, inputs, taps, w_output, w_input, target, stage = b.parameters
    if not backward:  # an output's inputs and taps lie side by side
        with b.loop(0, taps * PANEL, PANEL) as first:
            start, columns = b.offset(w, first.index), inputs * taps - first.index
            b.call(functions["fetch_block"], start, w_output, outputs, columns, stage)
            b.call(functions["turn_block"], stage, PANEL, b.offset(target, first.index * PANEL))
        return b.function
    with b.when(taps.equals(1)):
        b.call(functions["fetch_block"], w, w_input, inputs, outputs, target)
    with b.when(taps > 1), b.loop(0, PANEL) as row, b.loop(0, PANEL, LANES) as lane, b.loop(0, taps) as tap:
        count = b.select(row.index < inputs, outputs - lane.index, b.constant(0))
        start = b.offset(w, row.index * w_input + lane.index * w_output + tap.index)
        lanes = b.iota("i64x16") * b.splat(w_output, LANES)
        value = b.convert(b.gather(start, lanes, b.first_lanes(count, LANES)), "f32")
        b.store(value, target, (row.index * taps + tap.index) * PANEL + lane.index)
    return b.function


def pack_weights(scalar, functions):
    """pack_weights(w, outputs, inputs, taps, w_output, w_input, all_taps, tap_table, target, stage): to B's steps.

    A step is 32 inputs and 32 outputs of one tap: those of the table, in its order. ``stage`` has room for a block and
    all taps.
    """
    parts = PARTS[scalar]
    names = ("outputs", "inputs", "taps", "w_output", "w_input", "all_taps")
    parameters = [("w", f"{scalar}*"), *((n, "i64") for n in names), ("tap_table", "i64*"), ("target", "i32*")]
    b = Builder("pack_weights", [*parameters, ("stage", "f32*")])
    w, outputs, inputs, taps, w_output, w_input, all_taps, tap_table, target, stage = b.parameters
    rows = b.offset(stage, BLOCK)
    b.call(functions["fetch_weights"], w, outputs, inputs, taps, w_output, w_input, rows, stage)
    with b.loop(0, all_taps) as place, b.loop(0, LANES) as row, b.loop(0, 2) as half:
        tap = b.load(tap_table, place.index)
        one, two = (
            b.load(rows, ((row.index + at) * taps + tap) * PANEL + half.index * LANES, LANES) for at in (0, LANES)
        )
        at = place.index * (2 * parts * TILE_WORDS) + half.index * TILE_WORDS + row.index * LANES
        store_line(b, one, two, target, at, parts, 2 * TILE_WORDS)
    return b.function


def multiply_taps(parts):
    """multiply_taps(pixels, panel, part_words, steps, few_steps, table, block, more): 32 windows (rows), 32 outputs.

    ``table`` says for each of the steps, the taps of 32 channels, where its lines and its weights begin. ``few_steps`` at
    a time are added up in tiles, and then to the others in ``block``: sums of many terms lose less so. ``more`` is another
    block.
    """
    parameters = [("pixels", "i32*"), ("panel", "i32*"), ("part_words", "i64"), ("steps", "i64"), ("few_steps", "i64")]
    b = Builder("multiply_taps", [*parameters, ("table", "i64*"), ("block", "f32*"), ("more", "f32*")])
    pixels, panel, part_words, steps, few_steps, table, block, more = b.parameters
    with b.loop(0, steps, few_steps) as few:
        for tile in range(4):
            b.tile_zero(tile)
        with b.loop(few.index, b.minimum(few.index + few_steps, steps)) as step:
            lines = b.offset(pixels, b.load(table, step.index * 2))
            weights = b.offset(panel, b.load(table, step.index * 2 + 1))

            def load_pixels(tile, part, half, lines=lines):
                b.tile_load(tile, lines, part_words * part + half * TILE_WORDS)

            def load_weights(tile, part, half, weights=weights):
                b.tile_load(tile, weights, (part * 2 + half) * TILE_WORDS)

            multiply_parts(b, load_pixels, load_weights, products=PRODUCTS[parts])
        with b.when(few.index.equals(0)):
            store_sums(b, block)
        with b.when(few.index > 0):
            store_sums(b, more)
            with b.loop(0, BLOCK, LANES) as at:
                b.store(b.load(block, at.index, LANES) + b.load(more, at.index, LANES), block, at.index)
    return b.function


def store_windows(scalar, storing):
    """store_windows(block, bias, y, y_channel, outputs, table, rows, limit): the windows of a block that are outputs.

    ``table`` says where the block's windows go. "dense": for each 16 of them where the first goes, which ones count, as
    bits, and how many; ``limit`` outputs are there at all. Else: for each its place, negative for none; the first
    ``limit`` windows are there. The block's rows are windows where storing is "deep", else outputs.
    """
    parameters = [("block", "f32*"), ("bias", "f32*"), ("y", f"{scalar}*"), ("y_channel", "i64"), ("outputs", "i64")]
    b = Builder("store_windows", [*parameters, ("table", "i32*"), ("limit", "i64")])
    block, bias, y, y_channel, outputs, table, limit = b.parameters
    if storing == "deep":
        biases = [b.load(bias, i * LANES, LANES, b.first_lanes(outputs - i * LANES, LANES)) for i in range(2)]
        masks = [b.first_lanes(outputs - i * LANES, LANES) for i in range(2)]
        with b.loop(0, b.minimum(limit, PANEL)) as window:
            place = b.convert(b.load(table, window.index), "i64")
            with b.when(place >= 0):
                for i in range(2):
                    value = b.load(block, window.index * PANEL + i * LANES, LANES) + biases[i]
                    b.store(b.convert(value, scalar), y, place + i * LANES, masks[i])
        return b.function
    bits = b.constant(tuple(1 << lane for lane in range(LANES)), "i32x16")
    with b.loop(0, PANEL, LANES) as half:
        if storing == "dense":
            first, chosen, count = (b.load(table, half.index // LANES * 3 + i) for i in range(3))
            first = b.convert(first, "i64")
            chosen = (b.splat(chosen, LANES) & bits).differs(0)
            mask = b.first_lanes(b.minimum(b.convert(count, "i64"), limit - first), LANES)
        else:
            places = b.load(table, half.index, LANES)
            mask = (places >= 0) & b.first_lanes(limit - half.index, LANES)
        with b.loop(0, outputs) as output:
            value = b.load(block, output.index * PANEL + half.index, LANES) + b.load(bias, output.index)
            row = b.offset(y, output.index * y_channel)
            if storing == "dense":
                b.store(b.convert(b.compress(value, chosen), scalar), row, first, mask)
            else:
                b.scatter(b.convert(value, scalar), row, places, mask)
    return b.function


class _Convolution:
    """Writes the entry: first what chunks share, then windows by windows and outputs by outputs."""

    def __init__(self, form):
        self.form, scalar, self.parts = form, form.scalar, PARTS[form.scalar]
        self.functions = {}
        for made in (fetch_block(scalar), turn_block(), is_finite(), fill_lines(self.parts)):
            self.functions[made.name] = made
        split_from = scalar if form.deep else "f32"
        for make in (
            lambda: split_lines(split_from, self.parts),
            lambda: stage_row(scalar, form.deep, self.functions),
            lambda: stage_lines(scalar, self.functions),
            lambda: fetch_weights(scalar, form.backward, self.functions),
            lambda: pack_weights(scalar, self.functions),
            lambda: multiply_taps(self.parts),
            lambda: store_windows(scalar, form.storing),
        ):
            function = make()
            self.functions[function.name] = function
        pointers = [("x", f"{scalar}*"), ("w", f"{scalar}*"), ("bias", "f32*"), ("y", f"{scalar}*"), ("flags", "i32*")]
        pointers += [
            ("shared", "i32*"),
            ("own", "i32*"),
            ("table", "i32*"),
            ("taps", "i64*"),
            ("steps", "i64*"),
            ("phases", "i64*"),
        ]
        pointers += [("slabs", "i64*"), ("residues", "i64*"), ("sizes", "i64*")]
        self.b = b = Builder("tile_convolution", pointers)
        vars(self).update({name: value for (name, _), value in zip(pointers, b.parameters)})
        self.n = Numbers(b, self.sizes, NUMBERS)

    def program(self):
        b, n = self.b, self.n
        channel_groups, out_blocks = _panels(n["inputs"]), _panels(n["outputs"])
        if self.form.few:
            with b.parallel(n["strips"] * channel_groups) as chunk:
                target = b.offset(self.shared, chunk // channel_groups * n["strip_words"])
                self._stage(chunk // channel_groups, chunk % channel_groups, target)
            with b.parallel(n["groups"] * out_blocks) as chunk:
                panel = b.offset(b.offset(self.own, b.worker() * n["scratch_words"]), self._head())
                with b.loop(0, channel_groups) as inputs:
                    self._pack(chunk, inputs.index, b.offset(panel, inputs.index * n["panel_words"]))
                group, strips = chunk // out_blocks, n["strips"] // n["groups"]
                with b.tiles(), b.loop(0, strips) as strip:
                    number = _strip_of_group(n, group, strip.index)
                    lines = b.offset(self.shared, number * n["strip_words"])
                    self._phases(number, lines, (chunk % out_blocks, chunk % out_blocks + 1), panel, chunk)
        else:
            with b.parallel(n["groups"] * out_blocks * channel_groups) as chunk:
                target = b.offset(self.shared, chunk * n["panel_words"])
                self._pack(chunk // channel_groups, chunk % channel_groups, target)
            with b.parallel(n["strips"]) as strip:
                lines = b.offset(b.offset(self.own, b.worker() * n["scratch_words"]), self._head())
                with b.loop(0, channel_groups) as inputs:
                    self._stage(strip, inputs.index, lines)
                group = strip // n["image_strips"] % n["groups"]
                panel = b.offset(self.shared, group * out_blocks * channel_groups * n["panel_words"])
                with b.tiles():
                    self._phases(strip, lines, (0, out_blocks), panel, strip)
        return Program("tile_convolution", [*self.functions.values(), b.function])

    def _head(self):
        """Words of a worker's scratch memory before what it holds: blocks, and the rows of a panel's weights."""
        return (self.n["taps"] + 3) * BLOCK

    def _scratch(self):
        return self.b.reinterpret(self.b.offset(self.own, self.b.worker() * self.n["scratch_words"]), "f32")

    def _pack(self, chunk, inputs, target):
        """32 outputs of a group (``chunk`` counts them) and 32 inputs to a panel's steps."""
        b, n = self.b, self.n
        out_blocks = _panels(n["outputs"])
        group, first, along = chunk // out_blocks, chunk % out_blocks * PANEL, inputs * PANEL
        w = b.offset(self.w, group * n["w_group"] + first * n["w_output"] + along * n["w_input"])
        b.call(
            self.functions["pack_weights"], w, b.minimum(n["outputs"] - first, PANEL),
            b.minimum(n["inputs"] - along, PANEL), n["taps"], n["w_output"], n["w_input"], n["all_taps"], self.taps,
            target, self._scratch(),
        )  # fmt: skip

    def _place(self, strip):
        """(sample, group, depth, row, column) of a strip's first window."""
        n = self.n
        column, rest = strip % n["column_strips"] * n["tile_columns"], strip // n["column_strips"]
        row, rest = rest % n["row_strips"] * n["tile_rows"], rest // n["row_strips"]
        depth, image = rest % n["depth_out"], rest // n["depth_out"]
        return image // n["groups"], image % n["groups"], depth, row, column

    def _stage(self, strip, inputs, lines):
        """32 channels of a strip to lines."""
        b, n = self.b, self.n
        sample, group, *first = self._place(strip)
        x = b.offset(self.x, sample * n["x_sample"] + group * n["x_group"] + inputs * PANEL * n["x_channel"])
        channels = b.minimum(n["inputs"] - inputs * PANEL, PANEL)
        target = b.offset(lines, inputs * n["group_words"])
        b.call(
            self.functions["stage_lines"], x, channels, target, self.slabs, self.residues, self.sizes, *first,
            self._scratch(),
        )  # fmt: skip

    def _phases(self, strip, lines, blocks, panel, chunk):
        """All phases of a strip, for a range of blocks of outputs, whose panels begin at ``panel``."""
        b, n = self.b, self.n
        sample, group, depth, row, column = self._place(strip)
        y = b.offset(self.y, sample * n["y_sample"] + group * n["y_group"] + depth * n["y_depth"])
        y = b.offset(y, row * n["y_row"] + column * n["y_column"])
        biases = b.offset(self.bias, group * n["outputs"])
        with b.loop(0, n["phases"]) as number:
            p = Numbers(b, b.offset(self.phases, number.index * len(PHASE)), PHASE)
            rows = b.minimum(n["tile_rows"], p["height_out"] - row)
            columns = b.minimum(n["tile_columns"], p["width_out"] - column)
            table = b.offset(self.table, p["table"])
            there = (depth < p["depth_out"]) & (rows > 0) & (columns > 0)
            windows = b.select(there, (rows - 1) * n["pitch"] + columns, b.constant(0))
            limit = rows * columns if self.form.storing == "dense" else windows
            # Outputs before windows: so what is stored goes on where the block before it ended.
            with b.loop(*blocks) as block, b.loop(0, windows, PANEL) as window:
                self._block(p, block.index, window.index, lines, panel, (y, biases, table, limit, chunk))

    def _block(self, p, block, window, lines, panel, result):
        """32 windows and 32 outputs of a phase."""
        b, n, call = self.b, self.n, self.functions
        y, biases, table, limit, chunk = result
        if not self.form.few:
            panel = b.offset(panel, block * (_panels(n["inputs"]) * n["panel_words"]))
        found = self._scratch()
        other = b.offset(found, BLOCK)
        b.call(
            call["multiply_taps"], b.offset(lines, window * LANES), panel, n["part_words"], p["steps"], p["few_steps"],
            b.offset(self.steps, p["first_step"] * 2), found, other,
        )  # fmt: skip
        if self.parts > 1:
            with b.when(b.call(call["is_finite"], found).equals(0)):
                b.store(b.constant(1, "i32"), self.flags, chunk)
        if self.form.storing != "deep":
            b.call(call["turn_block"], found, PANEL, other)
            found = other
        if self.form.storing == "dense":
            table = b.offset(table, window // LANES * 3)
        else:
            table, limit = b.offset(table, window), limit - window
        first = block * PANEL
        b.call(
            call["store_windows"], found, b.offset(biases, first), b.offset(y, p["start"] + first * n["y_channel"]),
            n["y_channel"], b.minimum(n["outputs"] - first, PANEL), table, limit,
        )  # fmt: skip


def _panels(extent):
    return (extent + (PANEL - 1)) // PANEL


def _strip_of_group(n, group, number):
    """Which strip is number ``number`` of those of a group: images are ordered by sample, then by group."""
    each = n["image_strips"]
    return (number // each * n["groups"] + group) * each + number % each


def build(form):
    """The Program of convolutions of a Form."""
    return _Convolution(form).program()
