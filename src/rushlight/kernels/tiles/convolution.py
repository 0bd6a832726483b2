"""Convolution on the tile unit (see ``panels.py``): the image is split once, and every tap is a load at another offset.

A strip of an image's rows is split into three bfloat16 parts and laid out in planes of words: lane by lane the pixels in
rows of a common pitch, in each word two channels, c and c + 16. Sixteen planes with one pixel offset are then a tile of
32 channels by 16 pixels, for every tap (row and column of the kernel) at another offset, without any copy. Rows share
their zero columns: the padding on the right of one is the padding on the left of the next. Pixels of the pitch that are
no pixels of the result are computed and left out when it is stored.
"""

from __future__ import annotations

from ..builder import Builder
from ..program import Program
from .panels import (
    BLOCK,
    LANES,
    PANEL,
    PARTS,
    STEP_WORDS,
    TILE_WORDS,
    entry,
    is_finite,
    multiply_parts,
    store_parts,
    store_sums,
)

POINTERS = (
    ("x", "f32*"), ("w", "f32*"), ("bias", "f32*"), ("y", "f32*"), ("table", "i32*"), ("panels", "i32*"),
    ("scratch", "i32*"), ("sizes", "i64*"),
)  # fmt: skip
SIZES = (
    "batch inputs outputs height width top left out_height out_width kernel_rows kernel_columns row_dilation "
    "column_dilation w_output w_input w_tap pitch strip plane scratch_words"
).split()  # what the program reads from ``sizes``, in order

SLACK = 4 * PANEL  # words after a plane that may be read: they must be zeros


def pack_weights():
    """pack_weights(w, w_output, w_input, w_tap, outputs, inputs, taps, target): 32 outputs' weights to A's steps.

    A step is 32 input channels of one tap; the taps of the same channels follow each other.
    """
    names = ("w_output", "w_input", "w_tap", "outputs", "inputs", "taps")
    b = Builder("pack_weights", [("w", "f32*"), *((n, "i64") for n in names), ("target", "i32*")])
    w, w_output, w_input, w_tap, outputs, inputs, taps, target = b.parameters
    lane_offsets = b.iota("i64x16") * b.splat(w_input, LANES)
    with b.loop(0, inputs, PANEL) as first, b.loop(0, taps) as tap, b.loop(0, PANEL) as row:
        start = b.offset(w, row.index * w_output + first.index * w_input + tap.index * w_tap)
        left = b.select(row.index < outputs, inputs - first.index, b.constant(0))
        one, two = (
            b.gather(b.offset(start, w_input * at), lane_offsets, b.first_lanes(left - at, LANES)) for at in (0, LANES)
        )
        step = (first.index // PANEL * taps + tap.index) * STEP_WORDS
        store_parts(b, one, two, target, step + row.index // LANES * TILE_WORDS + row.index % LANES * LANES)
    return b.function


def split_rows():
    """split_rows(x, other, pair, width, left, rows, first, end, pitch, part, target): one plane of a strip.

    ``x`` and ``other`` are the two channels' images; there is none at ``other`` where ``pair`` is 0. Of the strip's
    ``rows`` those from ``first`` to ``end`` are there, the image's first of them at ``x``; the others are padding.
    """
    names = ("pair", "width", "left", "rows", "first", "end", "pitch", "part")
    b = Builder("split_rows", [("x", "f32*"), ("other", "f32*"), *((n, "i64") for n in names), ("target", "i32*")])
    x, other, pair, width, left, rows, first, end, pitch, part, target = b.parameters
    with b.loop(0, PARTS) as number, b.loop(0, rows * pitch + SLACK, LANES) as at:
        b.store(b.constant(0, "i32x16"), target, number.index * part + at.index)
    with b.loop(first, b.minimum(end, rows)) as row, b.loop(0, width, LANES) as at:
        source = (row.index - first) * width + at.index
        count = width - at.index
        one = b.load(x, source, LANES, b.first_lanes(count, LANES))
        two = b.load(other, source, LANES, b.first_lanes(count * pair, LANES))
        store_parts(b, one, two, target, row.index * pitch + left + at.index, part)
    return b.function


def multiply_taps():
    """multiply_taps(a, pixels, groups, kernel_rows, kernel_columns, plane, part, row_step, column_step, block).

    The sums of 32 outputs at 32 pixels over all taps and ``groups`` of 32 channels.
    """
    names = ("groups", "kernel_rows", "kernel_columns", "plane", "part", "row_step", "column_step")
    b = Builder("multiply_taps", [("a", "i32*"), ("pixels", "i32*"), *((n, "i64") for n in names), ("block", "f32*")])
    a, pixels, groups, kernel_rows, kernel_columns, plane, part, row_step, column_step, block = b.parameters
    for tile in range(4):
        b.tile_zero(tile)
    with b.loop(0, groups) as group, b.loop(0, kernel_rows) as row, b.loop(0, kernel_columns) as column:
        step = (group.index * kernel_rows + row.index) * kernel_columns + column.index
        a_step = b.offset(a, step * STEP_WORDS)
        start = group.index * (plane * LANES) + row.index * row_step + column.index * column_step

        def load_weights(tile, part_number, half, a_step=a_step):
            b.tile_load(tile, a_step, (part_number * 2 + half) * TILE_WORDS)

        def load_pixels(tile, part_number, half, start=start):
            b.tile_load(tile, pixels, start + part * part_number + half * LANES, plane * 4)

        multiply_parts(b, load_weights, load_pixels)
    store_sums(b, block)
    return b.function


def multiply_plainly():
    """multiply_plainly(x, w, ..., block): the same block in plain float32, where the tile unit gave no finite numbers.

    ``first_row`` and ``left`` are the image's row and column, negated, of the strip's first pixel.
    """
    names = (
        "w_output w_input w_tap inputs height width first_row left taps kernel_columns row_dilation column_dilation "
        "pitch pixel outputs"
    ).split()
    b = Builder("multiply_plainly", [("x", "f32*"), ("w", "f32*"), *((n, "i64") for n in names), ("block", "f32*")])
    x, w, *rest, block = b.parameters
    p = dict(zip(names, rest))

    def narrow(number):
        return b.convert(number, "i32")

    height, width, pitch = (b.splat(narrow(p[name]), LANES) for name in ("height", "width", "pitch"))
    with b.loop(0, PANEL, LANES) as lane:
        pixel = b.iota("i32x16") + b.splat(narrow(p["pixel"] + lane.index), LANES)
        # A vector has no integer division; this one is exact below 2^22 pixels.
        line = b.convert((b.convert(pixel, "f32") + 0.5) / b.convert(pitch, "f32"), "i32")
        column = pixel - line * pitch
        with b.loop(0, p["outputs"]) as output:
            weights = b.offset(w, output.index * p["w_output"])
            with b.loop(0, p["inputs"], 1, [b.constant(0.0, "f32x16")]) as channel:
                image = b.offset(x, channel.index * (p["height"] * p["width"]))
                factors = b.offset(weights, channel.index * p["w_input"])
                with b.loop(0, p["taps"], 1, channel.carry) as tap:
                    i, j = tap.index // p["kernel_columns"], tap.index % p["kernel_columns"]
                    down, across = i * p["row_dilation"] + p["first_row"], j * p["column_dilation"] - p["left"]
                    y, z = line + b.splat(narrow(down), LANES), column + b.splat(narrow(across), LANES)
                    inside = (y >= 0) & (y < height) & (z >= 0) & (z < width)
                    factor = b.splat(b.load(factors, tap.index * p["w_tap"]), LANES)
                    # Outside of the image there is nothing to add, not even an infinite weight times 0.
                    total = tap.carry[0]
                    more = b.fma(factor, b.gather(image, y * width + z, inside), total)
                    tap.carry[0] = b.select(inside, more, total)
                channel.carry = tap.results
            b.store(channel.results[0], block, output.index * PANEL + lane.index)
    return b.function


def store_pixels():
    """store_pixels(block, bias, y, plane, rows, table, limit): the pixels of a block that are the result's.

    ``table`` says for each 16 of them where the first goes, which ones they are, as bits, and how many.
    """
    names = ("plane", "rows", "limit")
    pointers = [("block", "f32*"), ("bias", "f32*"), ("y", "f32*"), ("table", "i32*")]
    b = Builder("store_pixels", [*pointers, *((n, "i64") for n in names)])
    block, bias, y, table, plane, rows, limit = b.parameters
    bits = b.constant(tuple(1 << lane for lane in range(LANES)), "i32x16")
    with b.loop(0, 2) as half:
        first, chosen, count = (b.load(table, 3 * half.index + i) for i in range(3))
        first = b.convert(first, "i64")
        chosen = (b.splat(chosen, LANES) & bits).differs(0)
        mask = b.first_lanes(b.minimum(b.convert(count, "i64"), limit - first), LANES)
        with b.loop(0, rows) as row:
            value = b.compress(b.load(block, row.index * PANEL + half.index * LANES, LANES), chosen)
            b.store(value + b.splat(b.load(bias, row.index), LANES), y, row.index * plane + first, mask)
    return b.function


class _Convolution:
    """Writes the entry: packs the weights, then takes strips of images."""

    def __init__(self):
        made = [pack_weights(), split_rows(), multiply_taps(), multiply_plainly(), is_finite(), store_pixels()]
        self.functions = {function.name: function for function in made}
        self.b, values = entry("tile_convolution", POINTERS, SIZES)
        vars(self).update(values)

    def program(self):
        b = self.b
        self.groups = (self.inputs + (PANEL - 1)) // PANEL
        self.taps = self.kernel_rows * self.kernel_columns
        self.panel_words = self.groups * self.taps * STEP_WORDS
        self.w_steps = self.w_output, self.w_input, self.w_tap
        self.kernel_size = self.kernel_rows, self.kernel_columns
        with b.parallel((self.outputs + (PANEL - 1)) // PANEL) as block:
            first = block * PANEL
            b.call(
                self.functions["pack_weights"], b.offset(self.w, first * self.w_output), *self.w_steps,
                b.minimum(self.outputs - first, PANEL), self.inputs, self.taps,
                b.offset(self.panels, block * self.panel_words),
            )  # fmt: skip
        strips = (self.out_height + self.strip - 1) // self.strip
        with b.parallel(self.batch * strips) as chunk:
            self._strip(chunk // strips, chunk % strips * self.strip)
        return Program("tile_convolution", [*self.functions.values(), b.function])

    def _strip(self, image, first_row):
        """Rows ``first_row`` to ``first_row + strip`` of one image's result."""
        b = self.b
        own = b.offset(self.scratch, b.worker() * self.scratch_words)
        block, planes = b.reinterpret(own, "f32"), b.offset(own, BLOCK)
        x = b.offset(self.x, image * self.inputs * (self.height * self.width))
        rows = b.minimum(self.strip, self.out_height - first_row)
        part = self.groups * (LANES * self.plane)
        self._split(x, planes, first_row, rows, part)
        out_plane = self.out_height * self.out_width
        y = b.offset(self.y, image * self.outputs * out_plane + first_row * self.out_width)
        with b.tiles(), b.loop(0, rows * self.pitch, PANEL) as pixel, b.loop(0, self.outputs, PANEL) as first:
            count = b.minimum(self.outputs - first.index, PANEL)
            b.call(
                self.functions["multiply_taps"], b.offset(self.panels, first.index // PANEL * self.panel_words),
                b.offset(planes, pixel.index), self.groups, *self.kernel_size, self.plane, part,
                self.row_dilation * self.pitch, self.column_dilation, block,
            )  # fmt: skip
            with b.when(b.call(self.functions["is_finite"], block).equals(0)):
                b.call(
                    self.functions["multiply_plainly"], x, b.offset(self.w, first.index * self.w_output), *self.w_steps,
                    self.inputs, self.height, self.width, first_row - self.top, self.left, self.taps,
                    self.kernel_columns, self.row_dilation, self.column_dilation, self.pitch, pixel.index, count, block,
                )  # fmt: skip
            b.call(
                self.functions["store_pixels"], block, b.offset(self.bias, first.index),
                b.offset(y, first.index * out_plane), b.offset(self.table, pixel.index // LANES * 3), out_plane, count,
                rows * self.out_width,
            )  # fmt: skip

    def _split(self, x, planes, first_row, rows, part):
        """Split the input rows of a strip, all channels, into planes."""
        b = self.b
        needed = rows + self.row_dilation * (self.kernel_rows - 1)
        above = self.top - first_row  # rows of padding above the image's first, in this strip; negative below it
        first = b.maximum(above, 0)
        end = b.minimum(needed, above + self.height)
        size = self.height * self.width
        start = b.offset(x, b.maximum(-above, 0) * self.width)
        with b.loop(0, self.groups * LANES) as plane:
            channel = plane.index // LANES * PANEL + plane.index % LANES
            one, two = (b.offset(start, (channel + i * LANES) * size) for i in range(2))
            b.call(
                self.functions["split_rows"], one, two, b.convert(channel + LANES < self.inputs, "i64"), self.width,
                self.left, needed, first, b.select(channel < self.inputs, end, b.constant(0)), self.pitch, part,
                b.offset(planes, plane.index * self.plane),
            )  # fmt: skip


def build():
    """The Program of convolutions of stride 1."""
    return _Convolution().program()
