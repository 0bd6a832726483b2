"""Depthwise convolutions of small images: each channel by itself, the channels along a vector's lanes.

Rows of small images fill no vectors. So the images of as many channels as a vector has lanes are turned, which lays the
channels of a pixel side by side, the windows are summed up pixel by pixel, and the outputs are turned back. All of it lies
in the first-level cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY
from ..planning.layout import lanes_for
from ..planning.plan import Launch, Plan
from ..products.matmul_packing import turning
from ..windows.staging import Numbers

_LARGEST_IMAGE = 1024  # pixels; rows of larger ones fill vectors
ENOUGH_CHUNKS = 32
NANOSECONDS = 0.25  # for a multiplication
_MOST_PIXELS = 8  # whose sums grow side by side
_WAIT = 4  # cycles from the beginning of a multiplication to the next one of the same sum


class Form(NamedTuple):
    """What a program is specialised in: elements, lanes, whether a number is added to each channel, and how many pixels'
    sums grow side by side."""

    scalar: str
    lanes: int
    biased: bool
    pixels: int


PADDED_NUMBERS = (
    "height",
    "width",
    "height_out",
    "width_out",
    "row_stride",
    "column_stride",
    "top",  # rows of padding before the image
    "left",  # columns
    "columns",  # of the padded image
    "padded",  # its elements, for all lanes
    "first",  # where the first window begins in it
)
BLOCK_NUMBERS = ("samples", "sample_blocks", "channels", "channel_groups")
NUMBERS = (
    *PADDED_NUMBERS,
    *BLOCK_NUMBERS,
    "taps",
    "outputs",  # elements of the turned outputs
    "area",
)


def depthwise_program(form):
    """The program ``(source, weight, bias, out, scratch, numbers, offsets)``; ``offsets`` tells where each tap's elements
    begin in the padded image, in the order of the weights."""
    scalar, lanes = form.scalar, form.lanes
    gather = turning(scalar, scalar, lanes, True)
    spread = turning(scalar, scalar, lanes, False, name="lay_outputs")
    arrays = [(name, f"{scalar}*") for name in ("source", "weight", "bias", "out", "scratch")]
    builder = Builder("depthwise", [*arrays, ("numbers", "i64*"), ("offsets", "i64*")])
    source, weight, bias, out, own, numbers, offsets = builder.parameters
    n = Numbers(builder, numbers, NUMBERS)
    with builder.parallel(n["channel_groups"] * n["sample_blocks"]) as chunk:
        first_channel, channels, samples = block_of(builder, n, lanes, chunk)
        padded = builder.offset(own, builder.worker() * n["area"])
        sums = builder.offset(padded, n["padded"])
        weights = builder.offset(sums, n["outputs"])
        turned = builder.offset(weights, n["taps"] * lanes)
        zero = builder.constant(0, f"{scalar}x{lanes}")
        builder.clear(padded, n["padded"], lanes, whole=True)
        begin = builder.offset(weight, first_channel * n["taps"])
        builder.call(gather, begin, weights, n["taps"], lanes, n["taps"], channels)
        start = zero
        if form.biased:
            start = builder.load(bias, first_channel, lanes, builder.first_lanes(channels, lanes))
        with builder.loop(*samples) as sample:
            number = sample.index * n["channels"] + first_channel
            image = n["height"] * n["width"]
            builder.call(gather, builder.offset(source, number * image), turned, image, lanes, image, channels)
            pad(builder, n, lanes, turned, padded)
            _sum_windows(builder, n, form, padded, weights, offsets, sums, start)
            image_out = n["height_out"] * n["width_out"]
            target = builder.offset(out, number * image_out)
            with builder.loop(0, image_out, lanes) as pixel:
                strip, to = builder.offset(sums, pixel.index * lanes), builder.offset(target, pixel.index)
                width = builder.minimum(image_out - pixel.index, lanes)
                builder.call(spread, strip, to, lanes, image_out, channels, width)
    return Program("depthwise", [gather, spread, builder.function])


def block_of(builder, n, lanes, chunk):
    """What a chunk of work is about: its first channel, how many channels, and the samples from one to another."""
    first_channel, block = chunk // n["sample_blocks"] * lanes, chunk % n["sample_blocks"]
    channels = builder.minimum(n["channels"] - first_channel, lanes)
    first, end = (place * n["samples"] // n["sample_blocks"] for place in (block, block + 1))
    return first_channel, channels, (first, end)


def pad(builder, n, lanes, turned, padded):
    """The rows of an image between the zeros around it."""
    with builder.loop(0, n["height"]) as row:
        source = builder.offset(turned, row.index * n["width"] * lanes)
        target = builder.offset(padded, ((n["top"] + row.index) * n["columns"] + n["left"]) * lanes)
        with builder.loop(0, n["width"] * lanes, lanes) as place:
            builder.store(builder.load(source, place.index, lanes), target, place.index)


def _sum_windows(builder, n, form, padded, weights, offsets, sums, start):
    """All outputs of an image, some neighbouring ones at a time."""
    lanes = form.lanes
    step, width = n["column_stride"] * lanes, n["width_out"]
    with builder.loop(0, n["height_out"]) as row:
        begin = builder.offset(padded, n["first"] + row.index * n["row_stride"] * n["columns"] * lanes)
        target = builder.offset(sums, row.index * width * lanes)

        def pixels(first, end, count, begin=begin, target=target):
            with builder.loop(first, end, count) as column:
                windows = builder.offset(begin, column.index * step)
                with builder.loop(0, n["taps"], 1, [start] * count) as tap:
                    number = builder.load(weights, tap.index * lanes, lanes)
                    near = builder.offset(windows, builder.load(offsets, tap.index))
                    for i in range(count):
                        tap.carry[i] = builder.fma(builder.load(near, step * i, lanes), number, tap.carry[i])
                for i, value in enumerate(tap.results):
                    builder.store(value, target, (column.index + i) * lanes)

        whole = width // form.pixels * form.pixels
        pixels(0, whole, form.pixels)
        pixels(whole, width, 1)


def _pixels_together(width):
    """How many pixels of such a row are summed up side by side: two operands are loaded in a cycle, one for each sum and a
    weight for all; those that are left over come one by one."""

    def cycles(count):
        return width // count * max(_WAIT, (count + 1) / 2) + width % count * _WAIT

    return min(range(_MOST_PIXELS, 0, -1), key=cycles)


def fits(axes, groups, lanes):
    """Whether images are small, and channels enough for half of the lanes."""
    depth, height, width = axes
    flat = depth.out == 1 and depth.length == 1 and depth.taps == (0,)
    return (
        flat
        and 2 * groups >= -(-groups // lanes) * lanes
        and max(height.length * width.length, height.out * width.out) <= _LARGEST_IMAGE
    )


def applies(operands, lanes):
    """Whether a correlation is a depthwise one of small images, with channels enough for vectors of so many lanes."""
    o = operands
    dense = o.out_start == 0 and o.out_steps[2:] == (o.axes[2].out, 1)
    return dense and o.channels == o.out_channels == 1 and fits(o.axes, o.groups, lanes)


def padded_numbers(axes, lanes):
    """The values of PADDED_NUMBERS, and for each tap, in order, where its elements begin in the padded image."""
    _, height, width = axes
    top, left = max(0, -height.start), max(0, -width.start)
    rows, columns = (
        max(before + axis.length, before + axis.start + (axis.out - 1) * axis.stride + max(axis.taps) + 1)
        for before, axis in ((top, height), (left, width))
    )
    values = {
        "height": height.length, "width": width.length, "height_out": height.out, "width_out": width.out,
        "row_stride": height.stride, "column_stride": width.stride, "top": top, "left": left, "columns": columns,
        "padded": rows * columns * lanes, "first": ((top + height.start) * columns + left + width.start) * lanes,
    }  # fmt: skip
    return values, np.array([y * columns + x for y in height.taps for x in width.taps], np.int64) * lanes


def plan_depthwise(operands, scalar, names):
    """The Plan of a depthwise correlation of arrays of such names: source, weight, bias (or None), and what is written."""
    o, lanes = operands, lanes_for(scalar)
    padded, places = padded_numbers(o.axes, lanes)
    groups, taps = -(-o.groups // lanes), len(places)
    offsets = np.empty_like(places)
    offsets[o.weight_terms] = places
    outputs = padded["height_out"] * padded["width_out"] * lanes
    area = padded["padded"] + outputs + (taps + padded["height"] * padded["width"]) * lanes
    values = {
        **padded, "samples": o.samples, "sample_blocks": min(o.samples, -(-ENOUGH_CHUNKS // groups)),
        "channels": o.groups, "channel_groups": groups, "taps": taps, "outputs": outputs, "area": area,
    }  # fmt: skip
    form = Form(scalar, lanes, names[2] is not None, _pixels_together(padded["width_out"]))
    arguments = *names, "images", tuple([values[name] for name in NUMBERS]), offsets
    elements = o.samples * o.groups * (outputs // lanes)
    launch = Launch(depthwise_program, (form,), arguments, elements * taps * NANOSECONDS, "depthwise")
    return Plan([launch], {}, thread_scratch=[("images", area, NUMPY[scalar])])
