"""Convolutions of 3 x 3 taps and their input's gradients by Winograd's algorithm: for which it pays, and its plans."""

from __future__ import annotations

import numpy as np

from ...base.processors import near_bytes
from ..machine.host import vector_registers
from ..planning.layout import lanes_for
from ..planning.plan import Launch, Plan
from .correlation import NANOSECONDS
from .winograd_program import CHANNELS_TOGETHER, NUMBERS, PLACES, TAPS, Form, winograd_program

_SINGLE = np.dtype(np.float32)
_BLOCK_BYTES = near_bytes() * 7 // 8  # of a block's transformed tiles and sums: they stay in the second-level cache
_FEWEST_TILES = 96  # of a block, however many channels there are: weights are read once for each block
_GROUP_CHANNELS = 64  # output channels whose sums lie in the cache together
_ENOUGH_CHUNKS = 8
_LONGEST_SUM = 96  # channels that are added up in a row
_LEAST_TILES = 64  # that pay for transforming the weights


def applies(operands, dtype):
    """Whether a correlation is one of 3 x 3 neighbouring taps, in float32, with enough channels and tiles to pay."""
    depth, height, width = operands.axes
    if dtype != np.float32 or operands.groups != 1 or depth.out != 1 or depth.length != 1 or depth.taps != (0,):
        return False
    if not (height.taps == width.taps and height.taps in ((0, 1, 2), (2, 1, 0)) and height.stride == width.stride == 1):
        return False
    if operands.out_steps[3] != 1 or operands.out_start:
        return False
    tiles = operands.samples * -(-height.out // 2) * -(-width.out // 2)
    return _pays(operands.channels, operands.out_channels, tiles)


def _pays(channels, out_channels, tiles):
    """A tile of a channel takes about 6 vector instructions to transform, one of an output channel 8; of the 2.25 that
    each pair of channels takes otherwise, 1.25 are saved."""
    return tiles >= _LEAST_TILES and channels * out_channels > 6 * channels + 8 * out_channels


def _equal_parts(count, most):
    """``count`` in equal parts of at most ``most``: the size of one."""
    return -(-count // -(-count // most))


def plan_winograd(operands, names):
    """The Plan of a convolution of arrays of such names: source, weight, bias (or None), and what is written.

    A number of its scratch array "flags" is not 0 where outputs are not all finite, which must be computed again: an
    infinity, or a sum that overflows on the way only, has become NaN, here and in its tile's other outputs.
    """
    o = operands
    _, height, width = o.axes
    lanes = lanes_for("f32")
    rows = min(lanes, vector_registers() // 4)
    vectors = vector_registers() * 3 // 4 // rows
    down, across = -(-height.out // 2), -(-width.out // 2)
    lines = o.samples * down
    block_lines = _block_lines(lines, across, o.channels + min(o.out_channels, _GROUP_CHANNELS), lanes, vectors)
    blocks = -(-lines // block_lines)
    panels = -(-o.out_channels // lanes)
    parts = max(1, min(-(-_ENOUGH_CHUNKS // blocks), o.out_channels // _GROUP_CHANNELS))
    part_channels = -(-panels // parts) * lanes
    parts = -(-o.out_channels // part_channels)
    group_channels = min(part_channels, -(-_GROUP_CHANNELS // lanes) * lanes)
    left, skipped = max(0, -width.start), max(0, width.start)
    columns = max(left + -(-width.length // lanes) * lanes, 2 * (-(-across // lanes) * lanes) + 2)
    line_pitch = -(-columns // lanes) * lanes + lanes
    pitch = (-(-block_lines * across // lanes) + 1) * lanes
    lines_area = max(block_lines * 4 * line_pitch, TAPS * lanes)
    # The odd vectors keep the places of a tile out of one set of the cache.
    tiles_step, sums_step = o.channels * pitch + lanes, group_channels * pitch + lanes
    block_area, shared = PLACES * tiles_step, parts > 1
    area = lines_area + PLACES * sums_step + (0 if shared else block_area)
    values = {
        "channels": o.channels, "channels_summed": _equal_parts(o.channels, _LONGEST_SUM),
        "out_channels": o.out_channels, "height": height.length, "width": width.length,
        "row_start": height.start, "left": left, "skipped": skipped, "height_out": height.out,
        "width_out": width.out, "tiles_down": down, "tiles_across": across, "tile_lines": lines,
        "block_lines": block_lines, "blocks": blocks, "parts": parts, "part_channels": part_channels,
        "group_channels": group_channels, "pitch": pitch, "line_pitch": line_pitch, "lines_area": lines_area,
        "tiles_step": tiles_step, "sums_step": sums_step, "area": area, "panels": panels,
        "channel_groups": -(-o.channels // CHANNELS_TOGETHER), "block_area": block_area,
        "weights_step": panels * lanes * o.channels + lanes, "row_step": o.row_step,
        "channel_step": int(o.weight_terms[TAPS] - o.weight_terms[0]), "out_channel_step": o.out_steps[0],
        "out_row_step": o.out_steps[2],
    }  # fmt: skip
    form = Form("f32", lanes, rows, vectors, height.taps[0] != 0, names[2] is not None, shared)
    own = [("windows", area, _SINGLE), ("packed_weights", 0, _SINGLE, PLACES * values["weights_step"])]
    if shared:
        own.append(("tiles", 0, _SINGLE, blocks * block_area))
    zeros, numbers = np.zeros(width.length + lanes, np.float32), tuple([values[name] for name in NUMBERS])
    arguments = *names, "windows", "packed_weights", "tiles" if shared else None, zeros, "flags", numbers
    nanoseconds = lines * across * 4 * TAPS * o.channels * o.out_channels * NANOSECONDS
    launch = Launch(winograd_program, (form,), arguments, nanoseconds, "winograd")
    flags = [("flags", blocks * parts, np.dtype(np.int32))]
    return Plan([launch], {}, flags, own, zeroed=("flags",))


def _block_lines(lines, across, channels, lanes, vectors):
    """How many rows of tiles are taken together: as many as the cache holds, and few enough for all threads; of those
    numbers the one that fills the micro-kernel's vectors best."""
    most = max(_FEWEST_TILES, _BLOCK_BYTES // (4 * PLACES * channels)) // across
    most = max(1, min(most, max(-(-lines // _ENOUGH_CHUNKS), -(-_FEWEST_TILES // across)), lines))

    def waste(count):
        taken = -(-count * across // lanes)
        return (taken + (taken % vectors != 0) * 0.25) / (count * across)

    return min(range(most, max(1, most // 2) - 1, -1), key=waste)
