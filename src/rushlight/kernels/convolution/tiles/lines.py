"""Images on the tile unit: pixels as lines of channels, so that every tap of every window is an aligned tile.

A strip of an image is split into bfloat16 parts (see ``panels.py``) and laid out in lines of 64 bytes: a line is a pixel,
in each of its words two of 32 channels, c and c + 16. Sixteen lines are a tile of 16 pixels by 32 channels, for every tap
(depth, row and column of the kernel) from another line on, without any copy. Rows share their zero columns: the padding
on the right of one is the padding on the left of the next. Where windows are several pixels apart, the pixels that one
tap of neighbouring windows meets are made neighbours: there is a slab of rows for each residue of the taps' rows modulo
the stride (and for each depth), and in it one for each residue of their columns.
"""

from __future__ import annotations

from ...language.builder import Builder
from ...products.tiles.panels import BLOCK, LANES, PANEL, join, split
from ...windows.staging import Numbers

STAGE_NUMBERS = (
    "depth height width depth_stride row_stride column_stride depth_start row_start column_start x_channel x_depth "
    "x_row x_column slabs residues rows pitch part_words slack"
).split()  # what ``stage_lines`` reads from ``sizes``, in order; programs have more behind them


def store_line(b, first, second, target, at, parts, part_words):
    """Split two vectors and store their joined parts, ``part_words`` apart, the first of them at ``target + at``."""
    start = b.offset(target, at)
    for part, (low, high) in enumerate(list(zip(split(b, first), split(b, second)))[:parts]):
        b.store(join(b, low, high), b.offset(start, part_words * part))


def fetch_block(scalar):
    """fetch_block(source, stride, rows, columns, target): a 32 x 32 block in float32, zeros for what is not there."""
    names = ("stride", "rows", "columns")
    b = Builder("fetch_block", [("source", f"{scalar}*"), *((n, "i64") for n in names), ("target", "f32*")])
    source, stride, rows, columns, target = b.parameters
    with b.loop(0, PANEL) as row, b.loop(0, PANEL, LANES) as column:
        count = b.select(row.index < rows, columns - column.index, b.constant(0))
        value = b.load(source, row.index * stride + column.index, LANES, b.first_lanes(count, LANES))
        b.store(b.convert(value, "f32"), target, row.index * PANEL + column.index)
    return b.function


def split_lines(scalar, parts):
    """split_lines(source, step, channels, count, part_words, target): ``count`` pixels, ``step`` apart, to lines."""
    names = ("step", "channels", "count", "part_words")
    b = Builder("split_lines", [("source", f"{scalar}*"), *((n, "i64") for n in names), ("target", "i32*")])
    source, step, channels, count, part_words, target = b.parameters
    masks = [b.first_lanes(channels - first, LANES) for first in (0, LANES)]
    with b.loop(0, count) as pixel:
        at = b.offset(source, pixel.index * step)
        one, two = (b.convert(b.load(at, i * LANES, LANES, masks[i]), "f32") for i in range(2))
        store_line(b, one, two, target, pixel.index * LANES, parts, part_words)
    return b.function


def fill_lines(parts):
    """fill_lines(target, first, end, part_words): zeros in the lines from ``first`` to ``end`` of every part."""
    b = Builder("fill_lines", [("target", "i32*"), *((n, "i64") for n in ("first", "end", "part_words"))])
    target, first, end, part_words = b.parameters
    with b.loop(first, end) as line:
        for part in range(parts):
            b.store(b.constant(0, "i32x16"), target, part_words * part + line.index * LANES)
    return b.function


def stage_row(scalar, deep, functions):
    """stage_row(x, channels, target, residues, sizes, column_start, stage): one row of 32 channels, or fewer, to lines.

    ``x`` is the row's first pixel, ``column_start`` where the strip's first window begins in it. ``deep``: channels lie
    side by side in memory, not pixels.
    """
    parameters = [("x", f"{scalar}*"), ("channels", "i64"), ("target", "i32*"), ("residues", "i64*")]
    parameters += [("sizes", "i64*"), ("column_start", "i64"), ("stage", "f32*")]
    b = Builder("stage_row", parameters)
    x, channels, target, residues, sizes, column_start, stage = b.parameters
    n = Numbers(b, sizes, STAGE_NUMBERS)
    width, stride, pitch, part_words = n["width"], n["column_stride"], n["pitch"], n["part_words"]
    residue_words = n["rows"] * pitch * LANES

    def lines_until(column, at):
        """How many of the lines, whose columns begin at ``at``, lie before a column."""
        return b.minimum(pitch, (b.maximum(column - at, 0) + (stride - 1)) // stride)

    def begins(residue):
        return column_start + b.load(residues, residue.index), b.offset(target, residue.index * residue_words)

    with b.loop(0, n["residues"]) as residue:
        at, to = begins(residue)
        b.call(functions["fill_lines"], to, 0, lines_until(b.constant(0), at), part_words)
        b.call(functions["fill_lines"], to, lines_until(width, at), pitch, part_words)
    last = column_start + (pitch - 1) * stride + b.load(residues, n["residues"] - 1) + 1
    with b.loop(b.maximum(column_start, 0), b.minimum(width, last), PANEL) as block:
        count = b.minimum(b.minimum(width, last) - block.index, PANEL)
        if deep:
            pixels, step, turned_channels = b.offset(x, block.index * n["x_column"]), n["x_column"], channels
        else:
            _turn(b, functions, b.offset(x, block.index), n["x_channel"], channels, count, stage, scalar)
            pixels, step, turned_channels = stage, b.constant(PANEL), b.constant(PANEL)
        with b.loop(0, n["residues"]) as residue:
            at, to = begins(residue)
            first = lines_until(block.index, at)
            source = b.offset(pixels, (first * stride + at - block.index) * step)
            lines = lines_until(block.index + count, at) - first
            to = b.offset(to, first * LANES)
            b.call(functions["split_lines"], source, stride * step, turned_channels, lines, part_words, to)
    return b.function


def _turn(b, functions, source, stride, channels, count, stage, scalar):
    """32 pixels of 32 channels, or fewer, to rows of channels in ``stage``, which has room for two blocks."""
    other = b.offset(stage, BLOCK)
    if scalar != "f32":
        b.call(functions["fetch_block"], source, stride, channels, count, other)
        b.call(functions["turn_block"], other, PANEL, stage)
        return
    ragged = b.minimum(channels, count) < PANEL
    with b.when(ragged):
        b.call(functions["fetch_block"], source, stride, channels, count, other)
    step = b.select(ragged, b.constant(PANEL), stride)
    b.call(functions["turn_block"], b.select(ragged, other, source), step, stage)


def stage_lines(scalar, functions):
    """stage_lines(x, channels, target, slabs, residues, sizes, depth, row, column, stage): 32 channels of a strip.

    ``x`` is the first of the channels, of which there are ``channels``; the strip's first window is that of ``depth``,
    ``row`` and ``column``. ``slabs``: depth and row of each slab's first pixel in the window.
    """
    parameters = [("x", f"{scalar}*"), ("channels", "i64"), ("target", "i32*"), ("slabs", "i64*"), ("residues", "i64*")]
    parameters += [("sizes", "i64*"), ("depth", "i64"), ("row", "i64"), ("column", "i64"), ("stage", "f32*")]
    b = Builder("stage_lines", parameters)
    x, channels, target, slabs, residues, sizes, depth, row, column, stage = b.parameters
    n = Numbers(b, sizes, STAGE_NUMBERS)
    row_words = n["pitch"] * LANES
    slab_words = n["residues"] * n["rows"] * row_words
    column_start = column * n["column_stride"] + n["column_start"]
    with b.loop(0, n["slabs"]) as slab:
        deep = depth * n["depth_stride"] + n["depth_start"] + b.load(slabs, slab.index * 2)
        first = row * n["row_stride"] + n["row_start"] + b.load(slabs, slab.index * 2 + 1)
        deep_inside = (deep >= 0) & (deep < n["depth"])
        with b.loop(0, n["rows"]) as line:
            position = first + line.index * n["row_stride"]
            inside = deep_inside & (position >= 0) & (position < n["height"])
            to = b.offset(target, slab.index * slab_words + line.index * row_words)
            with b.when(inside):
                source = b.offset(x, deep * n["x_depth"] + position * n["x_row"])
                b.call(functions["stage_row"], source, channels, to, residues, sizes, column_start, stage)
            with b.when(~inside), b.loop(0, n["residues"]) as residue:
                place = b.offset(to, residue.index * (n["rows"] * row_words))
                b.call(functions["fill_lines"], place, 0, n["pitch"], n["part_words"])
    end = b.offset(target, n["slabs"] * slab_words)
    b.call(functions["fill_lines"], end, 0, n["slack"], n["part_words"])
    return b.function
