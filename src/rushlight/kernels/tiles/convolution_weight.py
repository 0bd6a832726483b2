"""The gradient of a convolution's weight on the tile unit: products over pixels, one block for each tap.

For every tap, dW[o, i] is the sum over pixels of dY[o, pixel] times X[i, pixel + the tap's offset]. Both are laid out by
rows of a common pitch, zeros where no pixel is. X's parts are planes of bfloat16 numbers, one for each channel: 32 pixels
of 16 planes are a tile at any offset. So the two numbers in a word are those of neighbouring pixels here, in dY too. A
few steps of 32 pixels at a time are multiplied for all taps and channels, while they are in the first-level cache. Strips of images are dealt out to a fixed number of slots, each with
sums of its own; these are added up in order at the end, whatever the number of threads.
"""

from __future__ import annotations

from ..builder import Builder
from ..program import Program
from .panels import (
    BLOCK,
    LANES,
    PANEL,
    STEP_WORDS,
    TILE_WORDS,
    entry,
    multiply_parts,
    split,
    split_blocks,
    store_sums,
    turn_block,
)

POINTERS = (
    ("x", "f32*"), ("dy", "f32*"), ("dw", "f32*"), ("sums", "f32*"), ("scratch", "i32*"), ("sizes", "i64*"),
)  # fmt: skip
SIZES = (
    "batch inputs outputs height width top left out_height out_width kernel_rows kernel_columns row_dilation "
    "column_dilation pitch strip plane steps few_steps slots scratch_words"
).split()  # what the program reads from ``sizes``, in order


def spread_rows():
    """spread_rows(x, width, left, rows, first, end, pitch, size, target): rows of an image, zeros between and around.

    Of ``rows`` those from ``first`` to ``end`` are there, the first of them at ``x``; fills ``size`` elements and up to
    47 more.
    """
    names = ("width", "left", "rows", "first", "end", "pitch", "size")
    b = Builder("spread_rows", [("x", "f32*"), *((n, "i64") for n in names), ("target", "f32*")])
    x, width, left, rows, first, end, pitch, size, target = b.parameters
    with b.loop(0, size + PANEL, LANES) as at:
        b.store(b.constant(0.0, "f32x16"), target, at.index)
    with b.loop(first, b.minimum(end, rows)) as row, b.loop(0, width, LANES) as at:
        mask = b.first_lanes(width - at.index, LANES)
        value = b.load(x, (row.index - first) * width + at.index, LANES, mask)
        b.store(value, target, row.index * pitch + left + at.index, mask)
    return b.function


def split_plane():
    """split_plane(source, size, part, target): the three parts of ``size`` numbers, each in a plane of its own."""
    b = Builder("split_plane", [("source", "f32*"), ("size", "i64"), ("part", "i64"), ("target", "u16*")])
    source, size, part, target = b.parameters
    with b.loop(0, size, LANES) as at:
        for number, word in enumerate(split(b, b.load(source, at.index, LANES))):
            upper = b.convert(b.bitcast(word, "u32") >> 16, "u16")
            b.store(upper, target, part * number + at.index)
    return b.function


def multiply_pixels():
    """multiply_pixels(x, plane, part, dy, steps, block): adds to a block of sums over 32 ``steps`` pixels."""
    names = [("x", "u16*"), ("plane", "i64"), ("part", "i64"), ("dy", "i32*"), ("steps", "i64"), ("block", "f32*")]
    b = Builder("multiply_pixels", names)
    x, plane, part, dy, steps, block = b.parameters
    for tile in range(4):
        b.tile_load(tile, block, tile // 2 * LANES * PANEL + tile % 2 * LANES, PANEL * 4)
    with b.loop(0, steps) as step:

        def load_x(tile, part_number, half, at=step.index * PANEL):
            b.tile_load(tile, x, at + part * part_number + plane * (LANES * half), plane * 2)

        def load_dy(tile, part_number, half, at=step.index * STEP_WORDS):
            b.tile_load(tile, b.offset(dy, at), (part_number * 2 + half) * TILE_WORDS)

        multiply_parts(b, load_x, load_dy)
    store_sums(b, block)
    return b.function


def add_slots():
    """add_slots(sums, slots, slot, inputs, outputs, taps, stride, dw): a block of all slots, in order, to its place."""
    names = ("slots", "slot", "inputs", "outputs", "taps", "stride")
    b = Builder("add_slots", [("sums", "f32*"), *((n, "i64") for n in names), ("dw", "f32*")])
    sums, slots, slot, inputs, outputs, taps, stride, dw = b.parameters
    lanes = b.iota("i64x16") * b.splat(stride, LANES)
    with b.loop(0, inputs) as row, b.loop(0, PANEL, LANES) as column:
        at = row.index * PANEL + column.index
        with b.loop(0, slots, carry=[b.constant(0.0, "f32x16")]) as number:
            number.carry[0] = number.carry[0] + b.load(sums, number.index * slot + at, LANES)
        mask = b.first_lanes(outputs - column.index, LANES)
        b.scatter(number.results[0], b.offset(dw, row.index * taps + column.index * stride), lanes, mask)
    return b.function


class _WeightGradient:
    """Writes the entry: strips of images into slots, then the slots together."""

    def __init__(self):
        made = [spread_rows(), split_plane(), turn_block(), split_blocks(), multiply_pixels(), add_slots()]
        self.functions = {function.name: function for function in made}
        self.b, values = entry("tile_convolution_weight", POINTERS, SIZES)
        vars(self).update(values)

    def program(self):
        b = self.b
        self.taps = self.kernel_rows * self.kernel_columns
        self.input_blocks, self.output_blocks = ((n + (PANEL - 1)) // PANEL for n in (self.inputs, self.outputs))
        self.pair = self.taps * BLOCK  # words of the sums of a block of inputs and one of outputs
        self.slot = self.input_blocks * self.output_blocks * self.pair
        strips = (self.out_height + self.strip - 1) // self.strip
        units = self.batch * strips
        with b.parallel(self.slots) as slot, b.tiles():
            sums = b.offset(self.sums, slot * self.slot)
            with b.loop(0, self.slot, LANES) as at:
                b.store(b.constant(0.0, "f32x16"), sums, at.index)
            with b.loop(slot * units // self.slots, (slot + 1) * units // self.slots) as unit:
                self._strip(unit.index // strips, unit.index % strips * self.strip, sums)
        with b.parallel(self.input_blocks * self.output_blocks * self.taps) as block:
            tap, pair = block % self.taps, block // self.taps
            row, column = pair // self.output_blocks * PANEL, pair % self.output_blocks * PANEL
            stride = self.inputs * self.taps
            b.call(
                self.functions["add_slots"], b.offset(self.sums, block * BLOCK), self.slots, self.slot,
                b.minimum(self.inputs - row, PANEL), self.outputs - column, self.taps, stride,
                b.offset(self.dw, column * stride + row * self.taps + tap),
            )  # fmt: skip
        return Program("tile_convolution_weight", [*self.functions.values(), b.function])

    def _strip(self, image, first_row, sums):
        b = self.b
        own = b.offset(self.scratch, b.worker() * self.scratch_words)
        # Scratch: a block, 32 channels spread out, dY's panels, X's planes.
        stage = b.reinterpret(own, "f32")
        self.spread = b.offset(stage, BLOCK)
        panels = b.offset(own, BLOCK + PANEL * (self.plane + 2 * PANEL))
        planes = b.reinterpret(b.offset(panels, self.output_blocks * self.steps * STEP_WORDS), "u16")
        part = self.input_blocks * PANEL * self.plane
        rows = b.minimum(self.strip, self.out_height - first_row)
        self._split_inputs(image, first_row, rows, planes, part)
        self._pack_outputs(image, first_row, rows, stage, panels)
        with b.loop(0, self.input_blocks) as i, b.loop(0, self.steps, self.few_steps) as step:
            steps = b.minimum(self.few_steps, self.steps - step.index)
            x = b.offset(planes, i.index * PANEL * self.plane + step.index * PANEL)
            with b.loop(0, self.output_blocks) as o, b.loop(0, self.taps) as tap:
                down, across = tap.index // self.kernel_columns, tap.index % self.kernel_columns
                shift = down * (self.row_dilation * self.pitch) + across * self.column_dilation
                dy = b.offset(panels, (o.index * self.steps + step.index) * STEP_WORDS)
                block = (i.index * self.output_blocks + o.index) * self.pair + tap.index * BLOCK
                b.call(
                    self.functions["multiply_pixels"],
                    b.offset(x, shift),
                    self.plane,
                    part,
                    dy,
                    steps,
                    b.offset(sums, block),
                )

    def _split_inputs(self, image, first_row, rows, planes, part):
        b = self.b
        needed = rows + self.row_dilation * (self.kernel_rows - 1)
        above = self.top - first_row
        first, skipped = b.maximum(above, 0), b.maximum(-above, 0) * self.width
        end = b.minimum(needed, above + self.height)
        area = self.height * self.width
        with b.loop(0, self.input_blocks * PANEL) as channel:
            x = b.offset(self.x, (image * self.inputs + channel.index) * area + skipped)
            last = b.select(channel.index < self.inputs, end, b.constant(0))
            b.call(
                self.functions["spread_rows"], x, self.width, self.left, needed, first, last, self.pitch, self.plane,
                self.spread,
            )  # fmt: skip
            target = b.offset(planes, channel.index * self.plane)
            b.call(self.functions["split_plane"], self.spread, self.plane, part, target)

    def _pack_outputs(self, image, first_row, rows, stage, panels):
        """dY's rows, spread out, 32 channels at a time, to panels of B's tiles: pixels across, channels along."""
        b = self.b
        area, size = self.out_height * self.out_width, self.steps * PANEL
        with b.loop(0, self.output_blocks) as block:
            with b.loop(0, PANEL) as within:
                channel = block.index * PANEL + within.index
                dy = b.offset(self.dy, (image * self.outputs + channel) * area + first_row * self.out_width)
                last = b.select(channel < self.outputs, rows, b.constant(0))
                b.call(
                    self.functions["spread_rows"], dy, self.out_width, 0, rows, 0, last, self.pitch, size,
                    b.offset(self.spread, within.index * size),
                )  # fmt: skip
            target = b.offset(panels, block.index * (self.steps * STEP_WORDS))
            with b.loop(0, self.steps) as step:
                b.call(self.functions["turn_block"], b.offset(self.spread, step.index * PANEL), size, stage)
                # The words of a row of the tiles are of the pixels 2 r and 2 r + 1: two rows of the block.
                target_step = b.offset(target, step.index * STEP_WORDS)
                b.call(self.functions["split_blocks"], stage, 2 * PANEL, LANES, PANEL, 1, 0, target_step)


def build():
    """The Program of the weight's gradient for convolutions of stride 1."""
    return _WeightGradient().program()
