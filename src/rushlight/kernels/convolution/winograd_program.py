"""The program of a 3 x 3 convolution by Winograd's F(2 x 2, 3 x 3): 16 products where sums over taps take 36.

Outputs are computed in tiles of 2 x 2, each from the 4 x 4 elements d of every channel that its windows cover:
y = A' (sum over channels of (G g G') * (B' d B)) A, with the weights g and Lavin and Gray's matrices (2015)

    B' = 1  0 -1  0      G = 1    0    0       A' = 1  1  1  0
         0  1  1  0          1/2  1/2  1/2          0  1 -1 -1
         0 -1  1  0          1/2 -1/2  1/2
         0  1  0 -1          0    0    1

The sum over channels is a product of matrices (output channels x channels by channels x tiles) for each of the 16
places of a transformed tile: what `matmul_micro` computes. A block of tiles goes through all of it while it lies in the
cache; where there are few blocks, threads share out the output channels, and before that the transforms of the tiles.
Tiles are numbered along the rows of tiles of all samples, so small images fill vectors together.
"""

from __future__ import annotations

from typing import NamedTuple

from ..language.builder import Builder
from ..language.program import Program
from ..products.matmul_micro import PLAIN, micro_kernel
from ..products.matmul_packing import turning
from ..windows.staging import Numbers
from .correlation import shared_out

PLACES = 16  # of a transformed tile
TAPS = 9
CHANNELS_TOGETHER = 32  # of a panel, whose weights one thread transforms


class Form(NamedTuple):
    """What a program is specialised in.

    Attributes:
        scalar, lanes: the type of elements and how many make a vector.
        rows, vectors: output channels and vectors of tiles of a micro-kernel's block; lanes are a multiple of rows.
        flipped: whether the taps' weights lie in the order of descending offsets.
        biased: whether a number is added to each output channel.
        shared: whether several chunks read the transformed tiles of a block.
    """

    scalar: str
    lanes: int
    rows: int
    vectors: int
    flipped: bool
    biased: bool
    shared: bool


NUMBERS = (
    "channels",
    "channels_summed",  # in a row: longer sums are less accurate
    "out_channels",
    "height",
    "width",
    "row_start",  # where the first window begins in the source: negative with padding
    "left",  # columns of padding before the source's first one
    "skipped",  # columns of the source before the first window
    "height_out",
    "width_out",
    "tiles_down",
    "tiles_across",
    "tile_lines",  # rows of tiles of all samples
    "block_lines",  # rows of tiles taken together
    "blocks",
    "parts",  # in how many the output channels of a block are taken
    "part_channels",
    "group_channels",  # output channels whose sums lie in the cache together
    "pitch",  # from one channel's tiles to the next one's
    "line_pitch",  # of a row of elements, padded
    "lines_area",
    "tiles_step",  # from one place's transformed tiles to the next one's
    "sums_step",
    "area",
    "panels",  # of as many output channels as a vector has lanes
    "channel_groups",
    "block_area",  # from one block's shared transformed tiles to the next one's
    "weights_step",  # from one place's transformed weights to the next one's
    "row_step",  # of the weight, from one output channel to the next
    "channel_step",
    "out_channel_step",
    "out_row_step",
)


def winograd_program(form):
    """The program ``(source, weight, bias, out, scratch, transformed, shared, zeros, flags, numbers)``: first the weights are
    transformed, and the tiles where they are shared, then the blocks computed. ``zeros`` is a row of the source outside of
    it; a block whose outputs are not all finite sets its flag."""
    scalar = form.scalar
    turn = turning(scalar, scalar, form.lanes, True)
    micros = {v: _micro_kernel(form, v) for v in {form.vectors, form.vectors - 1, 1}}
    functions = [turn, *micros.values()]
    arrays = [(name, f"{scalar}*") for name in ("source", "weight", "bias", "out", "scratch", "transformed", "shared")]
    builder = Builder("winograd", [*arrays, ("zeros", f"{scalar}*"), ("flags", "i32*"), ("numbers", "i64*")])
    source, weight, bias, out, scratch, transformed, shared, zeros, flags, numbers = builder.parameters
    n = Numbers(builder, numbers, NUMBERS)

    def block_of(number):
        """The first row of tiles of a block, and how many there are."""
        first_line = number * n["block_lines"]
        return first_line, builder.minimum(n["block_lines"], n["tile_lines"] - first_line)

    def transform_tiles(block, first, end, tiles):
        lines = builder.offset(scratch, builder.worker() * n["area"])
        first_line, count = block_of(block)
        builder.clear(lines, n["lines_area"], form.lanes, whole=True)
        with builder.loop(first, end) as channel:
            _transform_rows(builder, n, form, source, zeros, channel.index, lines, first_line, count)
            _transform_columns(builder, n, form, lines, builder.offset(tiles, channel.index * n["pitch"]), count)

    with builder.parallel(n["panels"] * n["channel_groups"]) as chunk:
        area = builder.offset(scratch, builder.worker() * n["area"])
        _transform_weights(builder, n, form, turn, weight, area, transformed, chunk)
    if form.shared:
        with builder.parallel(n["blocks"] * n["channel_groups"]) as chunk:
            block, first = chunk // n["channel_groups"], chunk % n["channel_groups"] * CHANNELS_TOGETHER
            end = builder.minimum(first + CHANNELS_TOGETHER, n["channels"])
            transform_tiles(block, first, end, builder.offset(shared, block * n["block_area"]))
    with builder.parallel(n["blocks"] * n["parts"]) as chunk:
        block = chunk // n["parts"]
        sums = builder.offset(scratch, builder.worker() * n["area"] + n["lines_area"])
        if form.shared:
            tiles = builder.offset(shared, block * n["block_area"])
        else:
            tiles, sums = sums, builder.offset(sums, n["tiles_step"] * PLACES)
            transform_tiles(block, 0, n["channels"], tiles)
        first_line, count = block_of(block)
        first = chunk % n["parts"] * n["part_channels"]
        end = builder.minimum(first + n["part_channels"], n["out_channels"])
        finite = builder.constant(0, f"{scalar}x{form.lanes}")
        with builder.loop(first, end, n["group_channels"], [finite]) as group:
            stop = builder.minimum(group.index + n["group_channels"], end)
            _multiply(builder, n, form, micros, transformed, tiles, sums, group.index, stop, count)
            group.carry = _finish(
                builder, n, form, sums, bias, out, (group.index, stop), first_line, count, group.carry
            )
        # 0 times a finite number is 0; nothing else is.
        with builder.when(builder.reduce(group.results[0]).differs(0)):
            builder.store(builder.constant(1, "i32"), flags, chunk)
    return Program("winograd", [*functions, builder.function])


def _micro_kernel(form, vectors):
    return micro_kernel(form.scalar, form.scalar, form.lanes, form.rows, vectors, "columns", PLAIN, True, whole=vectors)


def _transform_weights(builder, n, form, turn, weight, area, transformed, chunk):
    """G g G' for some channels of a panel of output channels: a vector of output channels at each place."""
    panel, group = chunk // n["channel_groups"], chunk % n["channel_groups"]
    lanes, row = form.lanes, panel * form.lanes
    rows = builder.minimum(n["out_channels"] - row, lanes)
    first = group * CHANNELS_TOGETHER
    with builder.loop(first, builder.minimum(first + CHANNELS_TOGETHER, n["channels"])) as channel:
        begin = builder.offset(weight, row * n["row_step"] + channel.index * n["channel_step"])
        builder.call(turn, begin, area, n["row_step"], lanes, TAPS, rows)
        taps = [builder.load(area, tap * lanes, lanes) for tap in range(TAPS)]
        if form.flipped:
            taps.reverse()
        columns = [_weight_line(*taps[column::3]) for column in range(3)]
        target = builder.offset(transformed, (panel * n["channels"] + channel.index) * lanes)
        for i in range(4):
            for j, value in enumerate(_weight_line(*(column[i] for column in columns))):
                builder.store(value, target, n["weights_step"] * (4 * i + j))


def _weight_line(a, b, c):
    """G (a, b, c)'."""
    ends = (a + c) * 0.5
    middle = b * 0.5
    return a, ends + middle, ends - middle, c


def tile_line(a, b, c, d):
    """B' (a, b, c, d)'."""
    return a - c, b + c, c - b, b - d


def _sum_line(a, b, c, d):
    """A' (a, b, c, d)'."""
    return a + b + c, b - c - d


def _transform_rows(builder, n, form, source, zeros, channel, lines, first_line, count):
    """B' d of a channel: from four rows of elements for each row of tiles, four rows, between columns of zeros."""
    lanes, height, width = form.lanes, n["height"], n["width"]
    with builder.loop(0, count) as line:
        number = first_line + line.index
        sample = number // n["tiles_down"]
        row = (number - sample * n["tiles_down"]) * 2 + n["row_start"]
        plane = builder.offset(source, (sample * n["channels"] + channel) * height * width + n["skipped"])
        rows = []
        for i in range(4):
            inside = (row + i >= 0) & (row + i < height)
            rows.append(builder.select(inside, builder.offset(plane, (row + i) * width), zeros))
        begin = builder.offset(lines, line.index * n["line_pitch"] * 4 + n["left"])
        targets = [builder.offset(begin, n["line_pitch"] * i) for i in range(4)]

        def piece(index, mask, _, rows=rows, targets=targets):
            for value, target in zip(tile_line(*(builder.load(row, index, lanes, mask) for row in rows)), targets):
                builder.store(value, target, index)

        builder.for_lanes(0, width - n["skipped"], lanes, piece)


def _transform_columns(builder, n, form, lines, tiles, count):
    """(B' d) B of a channel: a vector of tiles at each place. What a row's last vector has too much, the next row's
    first one overwrites."""
    lanes = form.lanes
    even, odd = range(0, 2 * lanes, 2), range(1, 2 * lanes, 2)
    with builder.loop(0, count) as line, builder.loop(0, n["tiles_across"], lanes) as tile:
        begin = builder.offset(lines, line.index * n["line_pitch"] * 4 + tile.index * 2)
        target = builder.offset(tiles, line.index * n["tiles_across"] + tile.index)
        for i in range(4):
            row = builder.offset(begin, n["line_pitch"] * i)
            near = [builder.load(row, place, lanes) for place in (0, lanes)]
            far = [builder.load(row, place, lanes) for place in (2, lanes + 2)]
            columns = [builder.shuffle(*pair, chosen) for pair in (near, far) for chosen in (even, odd)]
            for j, value in enumerate(tile_line(*columns)):
                builder.store(value, target, n["tiles_step"] * (4 * i + j))


def shared_widths(builder, count, most):
    """How ``count`` vectors are shared out: (how many are taken together, from which, up to which) for each width."""
    wide, narrow = shared_out(builder, count, most)
    wide_end = wide * most
    narrow_end = wide_end + narrow * (most - 1)
    return (most, 0, wide_end), (most - 1, wide_end, narrow_end), (1, narrow_end, count)


def _multiply(builder, n, form, micros, transformed, tiles, sums, first, end, count):
    """The sums over channels of a range of output channels at every place, of all tiles of the block."""
    lanes, pitch = form.lanes, n["pitch"]
    widths = shared_widths(builder, (count * n["tiles_across"] + (lanes - 1)) // lanes, form.vectors)
    with builder.loop(0, PLACES) as place:
        weights = builder.offset(transformed, place.index * n["weights_step"])
        right = builder.offset(tiles, place.index * n["tiles_step"])
        results = builder.offset(sums, place.index * n["sums_step"])
        for width, start, stop in widths:
            with (
                builder.loop(start, stop, width) as vector,
                builder.loop(first, end, form.rows) as row,
                builder.loop(0, n["channels"], n["channels_summed"]) as channel,
            ):
                to = row.index // lanes * lanes * (n["channels"] - 1) + row.index + channel.index * lanes
                b = builder.offset(right, vector.index * lanes + channel.index * pitch)
                c = builder.offset(results, (row.index - first) * pitch + vector.index * lanes)
                depth = builder.minimum(n["channels"] - channel.index, n["channels_summed"])
                block = (builder.offset(weights, to), lanes, b, pitch, c, pitch, depth, width * lanes)
                builder.call(micros[width], *block, channel.index, 1, b, b, 0, 0.0)


def _finish(builder, n, form, sums, bias, out, channels, first_line, count, checked):
    """A' sums A, to the outputs; ``checked`` and 0 times each of them is returned."""
    lanes = form.lanes
    low = [lane // 2 + lane % 2 * lanes for lane in range(lanes)]
    halves = (low, [lane + lanes // 2 for lane in low])
    first, end = channels
    with builder.loop(first, end, 1, checked) as channel:
        with builder.loop(0, count, 1, channel.carry) as line:
            number = first_line + line.index
            sample = number // n["tiles_down"]
            row = (number - sample * n["tiles_down"]) * 2
            begin = builder.offset(sums, (channel.index - first) * n["pitch"] + line.index * n["tiles_across"])
            place = (sample * n["out_channels"] + channel.index) * n["out_channel_step"] + row * n["out_row_step"]
            target = builder.offset(out, place)
            both = row + 1 < n["height_out"]

            def piece(column, mask, carry, begin=begin, target=target, both=both, channel=channel.index):
                tiles = builder.offset(begin, column // 2)
                values = [builder.load(tiles, n["sums_step"] * i, lanes) for i in range(PLACES)]
                across = [_sum_line(*values[4 * i : 4 * i + 4]) for i in range(4)]
                found = [_sum_line(*(line[side] for line in across)) for side in range(2)]
                if form.biased:
                    number = builder.splat(builder.load(bias, channel), lanes)
                    found = [[value + number for value in side] for side in found]
                left = n["width_out"] - column
                masks = [None, None]
                if mask is not None:
                    masks = [builder.first_lanes(left - start, lanes) for start in (0, lanes)]
                rows = [[builder.shuffle(*(side[i] for side in found), half) for half in halves] for i in range(2)]

                def store(values, step):
                    for i, (value, mask) in enumerate(zip(values, masks)):
                        builder.store(value, builder.offset(target, column + i * lanes), step, mask)

                store(rows[0], 0)
                with builder.when(both):
                    store(rows[1], n["out_row_step"])
                total = carry[0]
                for row in rows:
                    for value, mask in zip(row, masks):  # what lies behind a row's end is anything
                        kept = value if mask is None else builder.select(mask, value, 0.0)
                        total = builder.fma(kept, 0.0, total)
                return [total]

            line.carry = builder.for_lanes(0, n["width_out"], 2 * lanes, piece, line.carry)
        channel.carry = line.results
    return channel.results
