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
from .panels import LANES, PANEL, PARTS, STEP_WORDS, TILE_WORDS, has_nan, store_parts

NAMES = (
    ("x", "f32*"), ("w", "f32*"), ("bias", "f32*"), ("y", "f32*"), ("table", "i32*"), ("panels", "i32*"), ("scratch", "i32*"),
    ("batch", "i64"), ("inputs", "i64"), ("outputs", "i64"), ("height", "i64"), ("width", "i64"), ("top", "i64"), ("left", "i64"),
    ("out_height", "i64"), ("out_width", "i64"), ("row_dilation", "i64"), ("column_dilation", "i64"),
    ("w_output", "i64"), ("w_input", "i64"), ("w_tap", "i64"),
    ("pitch", "i64"), ("strip", "i64"), ("plane", "i64"), ("scratch_words", "i64"),
)  # fmt: skip


def pack_weights(taps):
    """pack_weights(w, w_output, w_input, w_tap, outputs, inputs, target): 32 outputs, all inputs and taps, to A's steps.

    A step is 32 input channels of one tap; the taps of the same channels follow each other.
    """
    names = ["w_output", "w_input", "w_tap", "outputs", "inputs"]
    b = Builder("pack_weights", [("w", "f32*"), *((n, "i64") for n in names), ("target", "i32*")])
    w, w_output, w_input, w_tap, outputs, inputs, target = b.parameters
    lane_offsets = b.iota("i64x16") * b.splat(w_input, LANES)
    zero = b.constant(0.0, "f32x16")
    with b.loop(0, inputs, PANEL) as first, b.loop(0, taps) as tap, b.loop(0, PANEL) as row:
        start = b.offset(w, row.index * w_output + first.index * w_input + tap.index * w_tap)
        left = inputs - first.index
        masks = [b.first_lanes(left - half * LANES, LANES) for half in range(2)]

        def channels(start=start, masks=masks):
            second = b.offset(start, w_input * LANES)
            return [b.gather(start, lane_offsets, masks[0]), b.gather(second, lane_offsets, masks[1])]

        halves = b.choose(row.index < outputs, channels, lambda: [zero, zero])
        step = (first.index // PANEL * taps + tap.index) * STEP_WORDS
        store_parts(b, *halves, target, step + row.index // LANES * TILE_WORDS + row.index % LANES * LANES)
    return b.function


def split_rows():
    """split_rows(x, other, width, left, rows, first, end, pitch, part, target): one plane of a strip.

    ``x`` and ``other`` are the two channels' images (NULL where there is none). Of the strip's ``rows`` those from
    ``first`` to ``end`` are there, the image's first of them at ``x``; the others are padding.
    """
    names = ["width", "left", "rows", "first", "end", "pitch", "part"]
    b = Builder(
        "split_rows",
        [("x", "f32*"), ("other", "f32*"), ("pair", "i64"), *((n, "i64") for n in names), ("target", "i32*")],
    )
    x, other, pair, width, left, rows, first, end, pitch, part, target = b.parameters
    zero_words, zero = b.constant(0, "i32x16"), b.constant(0.0, "f32x16")

    def clear(start, count):
        with b.loop(0, count, LANES) as at:
            for number in range(PARTS):
                b.store(zero_words, b.offset(target, number * part), start + at.index)

    with b.loop(0, rows) as row:
        clear(row.index * pitch, pitch)
        with b.when((first <= row.index) & (row.index < end)):
            source, start = (row.index - first) * width, row.index * pitch + left
            with b.loop(0, width, LANES) as at:
                mask = b.first_lanes(width - at.index, LANES)
                one = b.load(x, source + at.index, LANES, mask)
                two = b.choose(pair > 0, lambda: [b.load(other, source + at.index, LANES, mask)], lambda: [zero])[0]
                store_parts(b, one, two, target, start + at.index, part)
    clear(rows * pitch, b.constant(SLACK))
    return b.function


SLACK = 4 * PANEL  # words after a plane that may be read: they must be zeros


def multiply_taps(kernel_rows, kernel_columns):
    """multiply_taps(a, pixels, groups, plane_bytes, group, part, row_step, column_step, c): 32 outputs x 32 pixels."""
    names = ["groups", "plane_bytes", "group", "part", "row_step", "column_step"]
    b = Builder("multiply_taps", [("a", "i32*"), ("pixels", "i32*"), *((n, "i64") for n in names), ("c", "f32*")])
    a, pixels, groups, plane_bytes, group, part, row_step, column_step, c = b.parameters
    a_tile, b_tile = 4, 6
    for tile in range(4):
        b.tile_zero(tile)
    taps = kernel_rows * kernel_columns
    with b.loop(0, groups) as channels, b.loop(0, kernel_rows) as row, b.loop(0, kernel_columns) as column:
        step = (channels.index * taps + row.index * kernel_columns + column.index) * STEP_WORDS
        a_step = b.offset(a, step)
        start = b.offset(pixels, channels.index * group + row.index * row_step + column.index * column_step)
        held = {a_tile: None, b_tile: None}
        for a_part, b_part in ((2, 0), (1, 0), (1, 1), (0, 1), (0, 2), (0, 0)):
            if held[a_tile] != a_part:
                for i in range(2):
                    b.tile_load(a_tile + i, a_step, (a_part * 2 + i) * TILE_WORDS)
            if held[b_tile] != b_part:
                for j in range(2):
                    b.tile_load(b_tile + j, b.offset(start, part * b_part), j * LANES, plane_bytes)
            held = {a_tile: a_part, b_tile: b_part}
            for i in range(2):
                for j in range(2):
                    b.tile_multiply(2 * i + j, a_tile + i, b_tile + j)
    for i in range(2):
        for j in range(2):
            b.tile_store(2 * i + j, c, i * LANES * PANEL + j * LANES, PANEL * 4)
    return b.function


def plain_pixels(kernel_rows, kernel_columns):
    """The same block in plain float32, for what the tile unit cannot say: infinities and overflow."""
    names = [
        "w_output", "w_input", "w_tap", "inputs", "height", "width", "first_row", "left", "row_dilation", "column_dilation",
        "pitch", "pixel", "rows",
    ]  # fmt: skip
    b = Builder("plain_pixels", [("x", "f32*"), ("w", "f32*"), *((n, "i64") for n in names), ("c", "f32*")])
    x, w, *rest, c = b.parameters
    p = dict(zip(names, rest))
    with b.loop(0, PANEL, LANES) as lane:
        q = b.iota("i64x16") + b.splat(p["pixel"] + lane.index, LANES)
        row, column = q // p["pitch"] + p["first_row"], q % p["pitch"] - p["left"]
        places, masks = [], []
        for i in range(kernel_rows):
            for j in range(kernel_columns):
                y, z = row + p["row_dilation"] * i, column + p["column_dilation"] * j
                masks.append((y >= 0) & (y < p["height"]) & (z >= 0) & (z < p["width"]))
                places.append(y * p["width"] + z)
        with b.loop(0, p["rows"]) as output:
            with b.loop(0, p["inputs"], carry=[b.constant(0.0, "f32x16")]) as channel:
                image = b.offset(x, channel.index * p["height"] * p["width"])
                weight = output.index * p["w_output"] + channel.index * p["w_input"]
                total = channel.carry[0]
                for tap, (place, mask) in enumerate(zip(places, masks)):
                    factor = b.splat(b.load(w, weight + p["w_tap"] * tap), LANES)
                    total = b.select(mask, b.fma(factor, b.gather(image, place, mask), total), total)
                channel.carry[0] = total
            b.store(channel.results[0], c, output.index * PANEL + lane.index)
    return b.function


def store_pixels():
    """store_pixels(block, bias, has_bias, y, plane, rows, table, limit): the pixels of a block that are the result's.

    ``table`` says for each 16 of them where the first goes, and which ones they are, as bits.
    """
    names = ["has_bias", "plane", "rows", "limit"]
    b = Builder(
        "store_pixels",
        [("block", "f32*"), ("bias", "f32*"), ("y", "f32*"), ("table", "i32*"), *((n, "i64") for n in names)],
    )
    block, bias, y, table, has_bias, plane, rows, limit = b.parameters
    bits = b.constant(tuple(1 << lane for lane in range(LANES)), "i32x16")
    for half in range(2):
        first = b.convert(b.load(table, 3 * half), "i64")
        count = b.convert(b.load(table, 3 * half + 2), "i64")
        chosen = (b.splat(b.load(table, 3 * half + 1), LANES) & bits).differs(0)
        mask = b.first_lanes(b.minimum(count, limit - first), LANES)
        with b.loop(0, rows) as row:
            value = b.compress(b.load(block, row.index * PANEL + half * LANES, LANES), chosen)
            added = b.choose(has_bias > 0, lambda: [b.load(bias, row.index)], lambda: [b.constant(0.0, "f32")])[0]
            b.store(value + b.splat(added, LANES), y, row.index * plane + first, mask)
    return b.function


class _Convolution:
    """Writes the entry: packs the weights, then takes strips of images."""

    def __init__(self, kernel_rows, kernel_columns, has_bias):
        self.size = kernel_rows, kernel_columns
        self.taps, self.has_bias = kernel_rows * kernel_columns, has_bias
        made = [
            pack_weights(self.taps), split_rows(), multiply_taps(*self.size), plain_pixels(*self.size), has_nan(), store_pixels(),
        ]  # fmt: skip
        self.functions = {function.name: function for function in made}
        self.b = Builder("tile_convolution", NAMES)
        for (name, _), value in zip(NAMES, self.b.parameters):
            setattr(self, name, value)

    def program(self):
        b = self.b
        self.groups = (self.inputs + (PANEL - 1)) // PANEL
        self.blocks = (self.outputs + (PANEL - 1)) // PANEL
        self.panel_words = self.groups * (self.taps * STEP_WORDS)
        with b.parallel(self.blocks) as block:
            first = block * PANEL
            b.call(
                self.functions["pack_weights"], b.offset(self.w, first * self.w_output), self.w_output, self.w_input,
                self.w_tap, b.minimum(self.outputs - first, PANEL), self.inputs, b.offset(self.panels, block * self.panel_words),
            )  # fmt: skip
        strips = (self.out_height + self.strip - 1) // self.strip
        with b.parallel(self.batch * strips) as chunk:
            self._strip(chunk // strips, chunk % strips * self.strip)
        return Program("tile_convolution", [*self.functions.values(), b.function])

    def _strip(self, image, first_row):
        """Rows ``first_row`` to ``first_row + strip`` of one image's result."""
        b = self.b
        own = b.offset(self.scratch, b.worker() * self.scratch_words)
        block, planes = b.reinterpret(own, "f32"), b.offset(own, PANEL * PANEL)
        x = b.offset(self.x, image * self.inputs * self.height * self.width)
        rows = b.minimum(self.strip, self.out_height - first_row)
        part = self.groups * LANES * self.plane
        self._split(x, planes, first_row, rows, part)
        limit = rows * self.out_width
        place = (image * self.outputs * self.out_height + first_row) * self.out_width
        y = b.offset(self.y, place)
        out_plane = self.out_height * self.out_width
        with b.tiles(), b.loop(0, rows * self.pitch, PANEL) as pixel:
            table = b.offset(self.table, pixel.index // LANES * 3)
            with b.loop(0, self.blocks) as panel:
                first = panel.index * PANEL
                count = b.minimum(self.outputs - first, PANEL)
                b.call(
                    self.functions["multiply_taps"], b.offset(self.panels, panel.index * self.panel_words),
                    b.offset(planes, pixel.index), self.groups, self.plane * 4, self.plane * LANES, part,
                    self.row_dilation * self.pitch, self.column_dilation, block,
                )  # fmt: skip
                with b.when(b.call(self.functions["has_nan"], block, PANEL) > 0):
                    b.call(
                        self.functions["plain_pixels"], x, b.offset(self.w, first * self.w_output), self.w_output,
                        self.w_input, self.w_tap, self.inputs, self.height, self.width, first_row - self.top, self.left,
                        self.row_dilation, self.column_dilation, self.pitch, pixel.index, count, block,
                    )  # fmt: skip
                bias = b.offset(self.bias, first) if self.has_bias else self.bias
                b.call(
                    self.functions["store_pixels"], block, bias, b.offset(y, first * out_plane), table,
                    int(self.has_bias), out_plane, count, limit,
                )  # fmt: skip

    def _split(self, x, planes, first_row, rows, part):
        """Split the input rows of a strip, all channels, into planes."""
        b = self.b
        needed = rows + self.row_dilation * (self.size[0] - 1)
        above = self.top - first_row  # rows of padding above the image's first, in this strip; negative below it
        first = b.maximum(above, 0)
        end = b.minimum(needed, above + self.height)
        skipped = b.maximum(-above, 0) * self.width
        size = self.height * self.width
        with b.loop(0, self.groups) as group, b.loop(0, LANES) as lane:
            channel = group.index * PANEL + lane.index
            target = b.offset(planes, (group.index * LANES + lane.index) * self.plane)
            one, two = (b.offset(x, (channel + i * LANES) * size + skipped) for i in range(2))
            end_or_none = b.select(channel < self.inputs, end, b.constant(0))
            pair = b.convert(channel + LANES < self.inputs, "i64")
            b.call(
                self.functions["split_rows"], one, two, pair, self.width, self.left, needed, first, end_or_none, self.pitch,
                part, target,
            )  # fmt: skip


def build(kernel_rows, kernel_columns, has_bias):
    """The Program of a convolution of stride 1 with kernels of that size."""
    return _Convolution(kernel_rows, kernel_columns, has_bias).program()
