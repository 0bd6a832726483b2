"""The gradient of a convolution's weight on the tile unit: products over pixels, one block for each tap.

For every tap, dW[o, i] is the sum over pixels of dY[o, pixel] times X[i, pixel + the tap's offset]. Both are laid out by
rows of a common pitch, zeros where no pixel is. X's parts are kept as words of the pixels q and q + 16 for every q, so that
32 pixels of 16 channels are one tile at any offset. Strips of images are dealt out to a fixed number of slots, each with
sums of its own; these are added up in order at the end, whatever the number of threads.
"""

from __future__ import annotations

from ..builder import Builder
from ..program import Program
from .panels import LANES, PANEL, PARTS, STEP_WORDS, TILE_WORDS, join, split, transpose_tile

NAMES = (
    ("x", "f32*"), ("dy", "f32*"), ("dw", "f32*"), ("sums", "f32*"), ("scratch", "i32*"),
    ("batch", "i64"), ("inputs", "i64"), ("outputs", "i64"), ("height", "i64"), ("width", "i64"), ("top", "i64"), ("left", "i64"),
    ("out_height", "i64"), ("out_width", "i64"), ("row_dilation", "i64"), ("column_dilation", "i64"),
    ("pitch", "i64"), ("strip", "i64"), ("x_plane", "i64"), ("steps", "i64"), ("slots", "i64"), ("scratch_words", "i64"),
)  # fmt: skip
BLOCK = PANEL * PANEL


def spread_rows():
    """spread_rows(x, width, left, rows, first, end, pitch, size, target): rows of an image, zeros between and around.

    Of ``rows`` those from ``first`` to ``end`` are there, the first of them at ``x``; fills ``size`` elements and 32 more.
    """
    names = ["width", "left", "rows", "first", "end", "pitch", "size"]
    b = Builder("spread_rows", [("x", "f32*"), *((n, "i64") for n in names), ("target", "f32*")])
    x, width, left, rows, first, end, pitch, size, target = b.parameters
    zero = b.constant(0.0, "f32x16")
    with b.loop(0, size + PANEL, LANES) as at:
        b.store(zero, target, at.index)
    with b.loop(first, b.minimum(end, rows)) as row, b.loop(0, width, LANES) as at:
        mask = b.first_lanes(width - at.index, LANES)
        value = b.load(x, (row.index - first) * width + at.index, LANES, mask)
        b.store(value, target, row.index * pitch + left + at.index, mask)
    return b.function


def split_pairs():
    """split_pairs(source, size, part, target): the parts of pixels q and q + 16 as one word, for q up to ``size``."""
    b = Builder("split_pairs", [("source", "f32*"), ("size", "i64"), ("part", "i64"), ("target", "i32*")])
    source, size, part, target = b.parameters
    before = split(b, b.load(source, 0, LANES))
    with b.loop(0, size, LANES, before) as at:
        after = split(b, b.load(source, at.index + LANES, LANES))
        for number in range(PARTS):
            word = join(b, at.carry[number], after[number])
            b.store(word, b.offset(target, part * number), at.index)
        at.carry = after
    return b.function


def multiply_pixels():
    """multiply_pixels(x, plane_bytes, part, dy, steps, c): adds to a 32 x 32 block of sums over 32 ``steps`` pixels."""
    names = [("x", "i32*"), ("plane_bytes", "i64"), ("part", "i64"), ("dy", "i32*"), ("steps", "i64"), ("c", "f32*")]
    b = Builder("multiply_pixels", names)
    x, plane_bytes, part, dy, steps, c = b.parameters
    a_tile, b_tile = 4, 6
    quarters = [(2 * i + j, i * LANES * PANEL + j * LANES) for i in range(2) for j in range(2)]
    for tile, at in quarters:
        b.tile_load(tile, c, at, PANEL * 4)
    half_planes = plane_bytes // 4 * LANES
    with b.loop(0, steps) as step:
        a_step, b_step = b.offset(x, step.index * PANEL), b.offset(dy, step.index * STEP_WORDS)
        held = {a_tile: None, b_tile: None}
        for a_part, b_part in ((2, 0), (1, 0), (1, 1), (0, 1), (0, 2), (0, 0)):
            if held[a_tile] != a_part:
                for i in range(2):
                    b.tile_load(a_tile + i, b.offset(a_step, part * a_part), half_planes * i, plane_bytes)
            if held[b_tile] != b_part:
                for j in range(2):
                    b.tile_load(b_tile + j, b_step, (b_part * 2 + j) * TILE_WORDS)
            held = {a_tile: a_part, b_tile: b_part}
            for i in range(2):
                for j in range(2):
                    b.tile_multiply(2 * i + j, a_tile + i, b_tile + j)
    for tile, at in quarters:
        b.tile_store(tile, c, at, PANEL * 4)
    return b.function


def add_slots(taps):
    """add_slots(sums, slots, slot, inputs, outputs, stride, dw): one block of all slots, added in order, to its place."""
    names = ["slots", "slot", "inputs", "outputs", "stride"]
    b = Builder("add_slots", [("sums", "f32*"), *((n, "i64") for n in names), ("dw", "f32*")])
    sums, slots, slot, inputs, outputs, stride, dw = b.parameters
    lanes = b.iota("i64x16") * b.splat(stride, LANES)
    with b.loop(0, inputs) as row, b.loop(0, PANEL, LANES) as column:
        at = row.index * PANEL + column.index
        with b.loop(0, slots, carry=[b.constant(0.0, "f32x16")]) as number:
            number.carry[0] = number.carry[0] + b.load(sums, number.index * slot + at, LANES)
        mask = b.first_lanes(outputs - column.index, LANES)
        place = b.offset(dw, row.index * taps + column.index * stride)
        b.scatter(number.results[0], place, lanes, mask)
    return b.function


class _WeightGradient:
    """Writes the entry: strips of images into slots, then the slots together."""

    def __init__(self, kernel_rows, kernel_columns):
        self.size = kernel_rows, kernel_columns
        self.taps = kernel_rows * kernel_columns
        made = [spread_rows(), split_pairs(), pack_row(), transpose_tile(), multiply_pixels(), add_slots(self.taps)]
        self.functions = {function.name: function for function in made}
        self.b = Builder("tile_convolution_weight", NAMES)
        for (name, _), value in zip(NAMES, self.b.parameters):
            setattr(self, name, value)

    def program(self):
        b = self.b
        self.input_blocks, self.output_blocks = ((n + (PANEL - 1)) // PANEL for n in (self.inputs, self.outputs))
        self.slot = self.input_blocks * self.output_blocks * (self.taps * BLOCK)
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
                b.minimum(self.inputs - row, PANEL), self.outputs - column, stride,
                b.offset(self.dw, column * stride + row * self.taps + tap),
            )  # fmt: skip
        return Program("tile_convolution_weight", [*self.functions.values(), b.function])

    def _strip(self, image, first_row, sums):
        b = self.b
        own = b.offset(self.scratch, b.worker() * self.scratch_words)
        # Scratch: one spread-out image of a channel, the planes of X's pairs, the panels of dY.
        spread, planes = b.reinterpret(own, "f32"), b.offset(own, self.x_plane + 2 * PANEL)
        part = self.input_blocks * PANEL * self.x_plane
        panels = b.offset(planes, part * PARTS)
        rows = b.minimum(self.strip, self.out_height - first_row)
        self._split_inputs(image, first_row, rows, spread, planes, part)
        self._pack_outputs(image, first_row, rows, spread, panels)
        panel_words = self.steps * STEP_WORDS
        with b.loop(0, self.input_blocks) as i, b.loop(0, self.output_blocks) as o:
            block = b.offset(sums, (i.index * self.output_blocks + o.index) * (self.taps * BLOCK))
            for tap in range(self.taps):
                down, across = divmod(tap, self.size[1])
                shift = down * self.row_dilation * self.pitch + across * self.column_dilation
                b.call(
                    self.functions["multiply_pixels"], b.offset(planes, i.index * PANEL * self.x_plane + shift),
                    self.x_plane * 4, part, b.offset(panels, o.index * panel_words), self.steps, b.offset(block, tap * BLOCK),
                )  # fmt: skip

    def _split_inputs(self, image, first_row, rows, spread, planes, part):
        b = self.b
        needed = rows + self.row_dilation * (self.size[0] - 1)
        above = self.top - first_row
        first, skipped = b.maximum(above, 0), b.maximum(-above, 0) * self.width
        end = b.minimum(needed, above + self.height)
        area = self.height * self.width
        with b.loop(0, self.input_blocks * PANEL) as channel:
            x = b.offset(self.x, (image * self.inputs + channel.index) * area + skipped)
            last = b.select(channel.index < self.inputs, end, b.constant(0))
            b.call(
                self.functions["spread_rows"],
                x,
                self.width,
                self.left,
                needed,
                first,
                last,
                self.pitch,
                self.x_plane,
                spread,
            )
            target = b.offset(planes, channel.index * self.x_plane)
            b.call(self.functions["split_pairs"], spread, self.x_plane, part, target)

    def _pack_outputs(self, image, first_row, rows, spread, panels):
        """dY's rows, spread out, 16 channels at a time, to panels of B's tiles: pixels across, channels along."""
        b = self.b
        area, size = self.out_height * self.out_width, self.steps * PANEL
        with b.loop(0, self.output_blocks * PANEL) as channel:
            dy = b.offset(self.dy, (image * self.outputs + channel.index) * area + first_row * self.out_width)
            last = b.select(channel.index < self.outputs, rows, b.constant(0))
            b.call(
                self.functions["spread_rows"], dy, self.out_width, b.constant(0), rows, b.constant(0), last, self.pitch, size,
                spread,
            )  # fmt: skip
            within = channel.index % PANEL
            at = (
                channel.index // PANEL * (self.steps * STEP_WORDS)
                + within // LANES * TILE_WORDS
                + within % LANES * LANES
            )
            # One row of the tiles: the others belong to the neighbouring channels.
            b.call(self.functions["pack_row"], spread, size, b.offset(panels, at))
        with b.loop(0, self.output_blocks * self.steps * (STEP_WORDS // TILE_WORDS)) as tile:
            b.call(self.functions["transpose_tile"], b.offset(panels, tile.index * TILE_WORDS))


def pack_row():
    """pack_row(source, depth, target): one row with k side by side to row 0 of A's tiles; ``depth`` is whole steps."""
    b = Builder("pack_row", [("source", "f32*"), ("depth", "i64"), ("target", "i32*")])
    source, depth, target = b.parameters
    with b.loop(0, depth, PANEL) as at:
        halves = [split(b, b.load(source, at.index + half * LANES, LANES)) for half in range(2)]
        step = at.index // PANEL * STEP_WORDS
        for number, (low, high) in enumerate(zip(*halves)):
            b.store(join(b, low, high), target, step + number * 2 * TILE_WORDS)
    return b.function


def build(kernel_rows, kernel_columns):
    """The Program of the weight's gradient for a convolution of stride 1 with kernels of that size."""
    return _WeightGradient(kernel_rows, kernel_columns).program()
