"""The weight's gradient of a 3 x 3 convolution by Winograd's algorithm, the other way around (see `winograd_program`).

dW = G' (sum over tiles of (A dY A') * (B' d B)) G, with a tile's 2 x 2 gradients dY of every output channel and its 4 x 4
inputs d of every channel. For each of the 16 places that is a product of matrices (output channels x tiles by tiles x
channels). Channels lie along the lanes: rows of both images are turned first, then transformed without a shuffle. A chunk
computes the sums of a block of output channels by a block of channels over some rows of tiles; all it needs lies in the
second-level cache. How the tiles are divided depends on the shape alone, not on the threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..language.builder import Builder
from ..language.program import Program
from ..machine.host import vector_registers
from ..planning.layout import lanes_for
from ..planning.plan import Launch, Plan
from ..products.matmul_micro import Epilogue, micro_kernel
from ..products.matmul_packing import turning
from ..windows.staging import Numbers
from .correlation import NANOSECONDS
from .winograd_program import PLACES, TAPS, shared_widths, tile_line

_SINGLE = np.dtype(np.float32)
_PART = 64  # channels of a block
_TILES = 64  # that are transformed together, where a row of them has no more
_ENOUGH_CHUNKS = 8
_PARTIAL_ELEMENTS = 1 << 22  # of all chunks' sums together
_LEAST_TILES = 96  # that pay for the sums of 16 places instead of 9 taps
_FEWEST_CHANNELS = 16


class Form(NamedTuple):
    """What a program is specialised in: elements, lanes, the micro-kernel's rows (of output channels) and vectors (of
    channels)."""

    scalar: str
    lanes: int
    rows: int
    vectors: int


NUMBERS = (
    "channels",
    "out_channels",
    "part_channels",  # of a block; whole vectors
    "part_outputs",
    "parts",  # blocks of channels
    "out_parts",  # of output channels
    "height",
    "width",
    "height_out",
    "width_out",
    "row_start",  # where the first window begins: negative with padding
    "left",  # columns of padding before the source's first one
    "tiles_down",
    "tiles_across",
    "tile_lines",  # rows of tiles of all samples
    "blocks",  # in which they are divided
    "lines_together",
    "line_pitch",  # elements of a turned row of the source, between columns of zeros
    "out_line_pitch",  # of the gradient
    "rows_area",
    "out_rows_area",
    "tiles_step",  # from one place's transformed tiles to the next one's
    "out_tiles_step",
    "sums",  # of a chunk
    "area",
)


def gradient_program(form):
    """The program ``(grad, source, found, scratch, partial, flags, numbers)``: the chunks' sums, then the gradient."""
    scalar, lanes = form.scalar, form.lanes
    turn = turning(scalar, scalar, lanes, True)
    epilogue = Epilogue(addend=True)
    micros = {
        v: micro_kernel(scalar, scalar, lanes, form.rows, v, "columns", epilogue, False, whole=v)
        for v in {form.vectors, form.vectors - 1, 1}
    }
    arrays = [(name, f"{scalar}*") for name in ("grad", "source", "found", "scratch", "partial")]
    builder = Builder("winograd_weight_gradient", [*arrays, ("flags", "i32*"), ("numbers", "i64*")])
    grad, source, found, own, partial, flags, numbers = builder.parameters
    n = Numbers(builder, numbers, NUMBERS)
    with builder.parallel(n["blocks"] * n["parts"] * n["out_parts"]) as chunk:
        pair, block = chunk % (n["parts"] * n["out_parts"]), chunk // (n["parts"] * n["out_parts"])
        channel, out_channel = pair % n["parts"] * n["part_channels"], pair // n["parts"] * n["part_outputs"]
        sums = builder.offset(partial, chunk * n["sums"])
        rows = builder.offset(own, builder.worker() * n["area"])
        out_rows = builder.offset(rows, n["rows_area"])
        tiles = builder.offset(out_rows, n["out_rows_area"])
        out_tiles = builder.offset(tiles, n["tiles_step"] * PLACES)
        builder.clear(sums, n["sums"], lanes, whole=True)
        builder.clear(rows, n["rows_area"] + n["out_rows_area"], lanes, whole=True)
        first, end = block * n["tile_lines"] // n["blocks"], (block + 1) * n["tile_lines"] // n["blocks"]
        with builder.loop(first, end, n["lines_together"]) as line:
            count = builder.minimum(n["lines_together"], end - line.index)
            _transform_source(builder, n, form, turn, source, channel, rows, tiles, line.index, count)
            _transform_gradient(builder, n, form, turn, grad, out_channel, out_rows, out_tiles, line.index, count)
            outputs = builder.minimum(n["out_channels"] - out_channel, n["part_outputs"])
            _multiply(builder, n, form, micros, out_tiles, tiles, sums, outputs, count * n["tiles_across"])
    _combine(builder, n, form, partial, found, flags)
    return Program("winograd_weight_gradient", [turn, *micros.values(), builder.function])


def _turn_row(builder, turn, lanes, images, size, row, target, channels, part):
    """One row of images of ``channels`` channels, turned so that the channels of a pixel lie side by side: zeros if the
    row lies outside of their ``size``, height and width."""
    height, width = size
    inside = (row >= 0) & (row < height)
    with builder.when(inside):
        begin, step = builder.offset(images, row * width), height * width
        with builder.loop(0, channels, lanes) as channel:
            strip = builder.offset(begin, channel.index * step)
            count = builder.minimum(channels - channel.index, lanes)
            builder.call(turn, strip, builder.offset(target, channel.index), step, part, width, count)
    with builder.when(~inside):
        builder.clear(target, width * part, lanes, whole=True)


def _transform_source(builder, n, form, turn, source, first_channel, rows, tiles, first_line, count):
    """B' d B for each tile of some rows of tiles: vectors of channels at each place.

    A row of tiles takes four rows of elements, of which the next row of tiles in the sample takes the last two again.
    """
    part, lanes, height, width = n["part_channels"], form.lanes, n["height"], n["width"]
    channels = builder.minimum(n["channels"] - first_channel, part)
    first_sample = first_line // n["tiles_down"]
    with builder.loop(0, count) as line:
        number = first_line + line.index
        sample = number // n["tiles_down"]
        down = number - sample * n["tiles_down"]
        slot = (line.index + sample - first_sample) * 2
        images = builder.offset(source, (sample * n["channels"] + first_channel) * height * width)
        known = builder.select((line.index > 0) & (down > 0), builder.constant(2), 0)
        with builder.loop(known, 4) as i:
            row = down * 2 + n["row_start"] + i.index
            target = builder.offset(rows, (slot + i.index) * n["line_pitch"] + n["left"] * part)
            _turn_row(builder, turn, lanes, images, (height, width), row, target, channels, part)
        begin = builder.offset(rows, slot * n["line_pitch"])
        lines = [builder.offset(begin, n["line_pitch"] * i) for i in range(4)]
        target = builder.offset(tiles, line.index * n["tiles_across"] * part)
        _transform_tiles(builder, n, tile_line, lines, part, lanes, target, n["tiles_step"])


def _transform_gradient(builder, n, form, turn, grad, first_channel, rows, tiles, first_line, count):
    """A dY A' for each tile of some rows of tiles: vectors of output channels at each place."""
    part, lanes, height, width = n["part_outputs"], form.lanes, n["height_out"], n["width_out"]
    channels = builder.minimum(n["out_channels"] - first_channel, part)
    with builder.loop(0, count) as line:
        number = first_line + line.index
        sample = number // n["tiles_down"]
        down = number - sample * n["tiles_down"]
        images = builder.offset(grad, (sample * n["out_channels"] + first_channel) * height * width)
        with builder.loop(0, 2) as i:
            row, target = down * 2 + i.index, builder.offset(rows, i.index * n["out_line_pitch"])
            _turn_row(builder, turn, lanes, images, (height, width), row, target, channels, part)
        lines = [builder.offset(rows, n["out_line_pitch"] * i) for i in range(2)]
        target = builder.offset(tiles, line.index * n["tiles_across"] * part)
        _transform_tiles(builder, n, _spread, lines, part, lanes, target, n["out_tiles_step"])


def _transform_tiles(builder, n, transform, lines, part, lanes, target, step):
    """A row of tiles from turned rows of pixels of ``part`` channels, two pixels further from tile to tile: at each place of
    a tile vectors of channels, ``transform`` of the tile's columns, then of its rows."""
    with builder.loop(0, n["tiles_across"]) as tile, builder.loop(0, part, lanes) as channel:
        near = [builder.offset(line, tile.index * 2 * part + channel.index) for line in lines]
        columns = [transform(*(builder.load(line, part * j, lanes) for line in near)) for j in range(len(near))]
        place = builder.offset(target, tile.index * part + channel.index)
        for i in range(4):
            for j, value in enumerate(transform(*(column[i] for column in columns))):
                builder.store(value, place, step * (4 * i + j))


def _spread(a, b):
    """A (a, b)'."""
    return a, a + b, a - b, -b


def _gathered(a, b, c, d):
    """G' (a, b, c, d)'."""
    half, middle = (b + c) * 0.5, (b - c) * 0.5
    return a + half, middle, half + d


def _multiply(builder, n, form, micros, out_tiles, tiles, sums, outputs, count):
    """Add to the sums of every place what ``count`` tiles give."""
    lanes, part, part_outputs = form.lanes, n["part_channels"], n["part_outputs"]
    widths = shared_widths(builder, part // lanes, form.vectors)
    with builder.loop(0, PLACES) as place:
        left = builder.offset(out_tiles, place.index * n["out_tiles_step"])
        right = builder.offset(tiles, place.index * n["tiles_step"])
        results = builder.offset(sums, place.index * part_outputs * part)
        for width, start, stop in widths:
            with builder.loop(start, stop, width) as vector, builder.loop(0, outputs, form.rows) as row:
                a, b = builder.offset(left, row.index), builder.offset(right, vector.index * lanes)
                c = builder.offset(results, row.index * part + vector.index * lanes)
                block = (a, part_outputs, b, part, c, part, count, width * lanes, 0, 0)
                builder.call(micros[width], *block, c, c, part, 0.0)


def _combine(builder, n, form, partial, found, flags):
    """Add up the blocks' sums, and G' sums G: a vector of channels of each tap, laid where the weights are."""
    lanes, part, part_outputs = form.lanes, n["part_channels"], n["part_outputs"]
    block_step = n["parts"] * n["out_parts"] * n["sums"]
    place_step = part * part_outputs
    with builder.parallel(n["out_channels"]) as row:
        out_part = row // part_outputs
        finite = builder.constant(0, f"{form.scalar}x{lanes}")
        with builder.loop(0, n["parts"], 1, [finite]) as block:
            chunk = out_part * n["parts"] + block.index
            begin = builder.offset(partial, chunk * n["sums"] + (row - out_part * part_outputs) * part)
            first_channel = block.index * part
            channels = builder.minimum(n["channels"] - first_channel, part)
            target = builder.offset(found, (row * n["channels"] + first_channel) * TAPS)

            with builder.loop(0, channels, lanes, block.carry) as vector:
                mask = builder.first_lanes(channels - vector.index, lanes)
                starts = [builder.offset(begin, place_step * place + vector.index) for place in range(PLACES)]
                held = [builder.load(start, 0, lanes, mask) for start in starts]
                with builder.loop(1, n["blocks"], 1, held) as more:
                    here = more.index * block_step
                    more.carry = [
                        total + builder.load(start, here, lanes, mask) for total, start in zip(more.carry, starts)
                    ]
                columns = [_gathered(*more.results[j::4]) for j in range(4)]
                places = builder.iota(f"i64x{lanes}") * TAPS
                for i in range(3):
                    for j, value in enumerate(_gathered(*(column[i] for column in columns))):
                        builder.scatter(value, builder.offset(target, vector.index * TAPS + 3 * i + j), places, mask)
                        vector.carry = [builder.fma(value, 0.0, vector.carry[0])]
            block.carry = vector.results
        # 0 times a finite number is 0; nothing else is.
        with builder.when(builder.reduce(block.results[0]).differs(0)):
            builder.store(builder.constant(1, "i32"), flags, row)


def applies(input_shape, weight_shape, out, dtype, stride, dilation, groups):
    """Whether a weight gradient is of 3 x 3 neighbouring taps, in float32, with enough channels and tiles to pay."""
    if dtype != np.float32 or groups != 1 or weight_shape[2:] != (3, 3) or stride != (1, 1) or dilation != (1, 1):
        return False
    tiles = input_shape[0] * -(-out[0] // 2) * -(-out[1] // 2)
    return _pays(weight_shape[1], weight_shape[0], tiles)


def _pays(channels, out_channels, tiles):
    return tiles >= _LEAST_TILES and min(channels, out_channels) >= _FEWEST_CHANNELS


def plan_gradient(input_shape, weight_shape, out, padding):
    """The Plan of a weight's gradient, "found", from "grad" and "input"; "flags" are as those of `winograd.plan_winograd`."""
    samples, channels, height, width = input_shape
    lanes = lanes_for("f32")
    rows = vector_registers() // 4
    down, across = -(-out[0] // 2), -(-out[1] // 2)
    lines = samples * down
    part, out_part = _even_part(channels, lanes), _even_part(weight_shape[0], math.lcm(lanes, rows))
    parts, out_parts = -(-channels // part), -(-weight_shape[0] // out_part)
    sums = PLACES * part * out_part
    wanted = min(-(-_ENOUGH_CHUNKS // (parts * out_parts)), _PARTIAL_ELEMENTS // (sums * parts * out_parts))
    blocks = max(1, min(wanted, lines))
    together = max(1, min(_TILES // across, -(-lines // blocks)))
    columns = max(padding[1] + width, 2 * across + 2)
    line_pitch, out_line_pitch = columns * part, 2 * across * out_part
    rows_area = (2 * together + 2 * min(together, -(-together // down) + 1)) * line_pitch
    tiles_step, out_tiles_step = together * across * part + lanes, together * across * out_part + lanes
    area = rows_area + 2 * out_line_pitch + PLACES * (tiles_step + out_tiles_step)
    values = {
        "channels": channels, "out_channels": weight_shape[0], "part_channels": part, "part_outputs": out_part,
        "parts": parts, "out_parts": out_parts, "height": height, "width": width, "height_out": out[0],
        "width_out": out[1], "row_start": -padding[0], "left": padding[1], "tiles_down": down,
        "tiles_across": across, "tile_lines": lines, "blocks": blocks, "lines_together": together,
        "line_pitch": line_pitch, "out_line_pitch": out_line_pitch, "rows_area": rows_area,
        "out_rows_area": 2 * out_line_pitch, "tiles_step": tiles_step, "out_tiles_step": out_tiles_step,
        "sums": sums, "area": area,
    }  # fmt: skip
    form = Form("f32", lanes, rows, vector_registers() * 3 // 4 // rows)
    numbers = tuple([values[name] for name in NUMBERS])
    arguments = "grad", "input", "found", "windows", "sums", "flags", numbers
    nanoseconds = samples * math.prod(out) * math.prod(weight_shape) * NANOSECONDS
    launch = Launch(gradient_program, (form,), arguments, nanoseconds, "winograd_gradient")
    own = [("windows", area, _SINGLE), ("sums", 0, _SINGLE, blocks * parts * out_parts * sums)]
    return Plan([launch], {}, [("flags", weight_shape[0], np.dtype(np.int32))], own, zeroed=("flags",))


def _even_part(channels, step):
    """How many channels make up a block: about as many in each, in whole steps."""
    steps = -(-channels // step)
    parts = -(-channels // _PART)
    return -(-steps // parts) * step
