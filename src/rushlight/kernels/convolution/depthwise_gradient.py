"""The weight's gradient of a depthwise convolution of small images, the channels along a vector's lanes: see `depthwise`."""

from __future__ import annotations

from typing import NamedTuple

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY
from ..machine.host import vector_registers
from ..planning.layout import lanes_for
from ..planning.plan import Launch, Plan
from ..products.matmul_packing import turning
from ..rows.spans import add_each
from ..windows.staging import Numbers
from .depthwise import BLOCK_NUMBERS, ENOUGH_CHUNKS, NANOSECONDS, PADDED_NUMBERS, block_of, fits, pad, padded_numbers

_CHAIN = 64  # pixels, and no more than a row beyond, whose products are added up in a row


class Form(NamedTuple):
    """What a program is specialised in: elements, lanes, and how many taps' sums are held in registers together."""

    scalar: str
    lanes: int
    taps: int


NUMBERS = (*PADDED_NUMBERS, *BLOCK_NUMBERS, "taps", "area")


def gradient_program(form):
    """The program ``(grad, source, found, scratch, partial, numbers, offsets)``: sums of each block of samples, then the
    gradient."""
    scalar, lanes = form.scalar, form.lanes
    gather = turning(scalar, scalar, lanes, True)
    spread = turning(scalar, scalar, lanes, False, name="lay_taps")
    arrays = [(name, f"{scalar}*") for name in ("grad", "source", "found", "scratch", "partial")]
    builder = Builder("depthwise_gradient", [*arrays, ("numbers", "i64*"), ("offsets", "i64*")])
    grad, source, found, own, partial, numbers, offsets = builder.parameters
    n = Numbers(builder, numbers, NUMBERS)
    with builder.parallel(n["channel_groups"] * n["sample_blocks"]) as chunk:
        first_channel, channels, samples = block_of(builder, n, lanes, chunk)
        padded = builder.offset(own, builder.worker() * n["area"])
        turned = builder.offset(padded, n["padded"])
        flowing = builder.offset(turned, n["height"] * n["width"] * lanes)
        sums = builder.offset(partial, chunk * n["taps"] * lanes)
        builder.clear(padded, n["padded"], lanes, whole=True)
        builder.clear(sums, n["taps"] * lanes, lanes, whole=True)
        with builder.loop(*samples) as sample:
            number = sample.index * n["channels"] + first_channel
            for array, target, image in (
                (source, turned, n["height"] * n["width"]), (grad, flowing, n["height_out"] * n["width_out"])
            ):  # fmt: skip
                builder.call(gather, builder.offset(array, number * image), target, image, lanes, image, channels)
            pad(builder, n, lanes, turned, padded)
            whole = n["taps"] // form.taps * form.taps
            _add_taps(builder, n, lanes, padded, flowing, offsets, sums, (0, whole), form.taps)
            _add_taps(builder, n, lanes, padded, flowing, offsets, sums, (whole, n["taps"]), 1)
    with builder.parallel(n["channel_groups"]) as group:
        block_step = n["taps"] * lanes
        sums = builder.offset(partial, group * n["sample_blocks"] * block_step)
        with builder.loop(0, block_step, lanes) as place:
            with builder.loop(1, n["sample_blocks"], 1, [builder.load(sums, place.index, lanes)]) as block:
                block.carry = [block.carry[0] + builder.load(sums, block.index * block_step + place.index, lanes)]
            builder.store(block.results[0], sums, place.index)
        channels = builder.minimum(n["channels"] - group * lanes, lanes)
        target = builder.offset(found, group * lanes * n["taps"])
        with builder.loop(0, n["taps"], lanes) as tap:
            strip, to = builder.offset(sums, tap.index * lanes), builder.offset(target, tap.index)
            builder.call(spread, strip, to, lanes, n["taps"], channels, builder.minimum(n["taps"] - tap.index, lanes))
    return Program("depthwise_gradient", [gather, spread, builder.function])


def _add_taps(builder, n, lanes, padded, flowing, offsets, sums, taps, count):
    """Add to some taps' sums, ``count`` at a time, what an image gives."""
    zero = builder.constant(0, padded.type.element.with_lanes(lanes))
    rows = (n["width_out"] + (_CHAIN - 1)) // n["width_out"]
    with builder.loop(*taps, count) as tap:
        places = [builder.offset(padded, builder.load(offsets, tap.index + i)) for i in range(count)]
        with builder.loop(0, n["height_out"], rows, [zero] * count) as block:
            end = builder.minimum(n["height_out"], block.index + rows)
            with builder.loop(block.index, end, 1, [zero] * count) as row:
                row.carry = _row_of_pixels(builder, n, lanes, places, flowing, row)
            block.carry = add_each(block.carry, row.results)
        for i, value in enumerate(block.results):
            place = builder.offset(sums, (tap.index + i) * lanes)
            builder.store(builder.load(place, 0, lanes) + value, place)


def _row_of_pixels(builder, n, lanes, places, flowing, row):
    """The sums with what a row of an image's pixels gives."""
    begin = n["first"] + row.index * n["row_stride"] * n["columns"] * lanes
    near = [builder.offset(place, begin) for place in places]
    line = builder.offset(flowing, row.index * n["width_out"] * lanes)
    step = n["column_stride"] * lanes
    with builder.loop(0, n["width_out"], 1, row.carry) as column:
        value = builder.load(line, column.index * lanes, lanes)
        elements = [builder.load(place, column.index * step, lanes) for place in near]
        column.carry = [builder.fma(value, each, sum) for each, sum in zip(elements, column.carry)]
    return column.results


def applies(axes, channels, out_channels, groups, lanes):
    """Whether a convolution is a depthwise one of small images, with channels enough for vectors of so many lanes."""
    return channels == out_channels == groups and fits(axes, groups, lanes)


def plan_gradient(axes, samples, channels, scalar):
    """The Plan of a depthwise convolution's weight gradient, "found", from "grad" and "input"."""
    lanes, dtype = lanes_for(scalar), NUMPY[scalar]
    padded, offsets = padded_numbers(axes, lanes)
    groups, taps = -(-channels // lanes), len(offsets)
    blocks = min(samples, -(-ENOUGH_CHUNKS // groups))
    pixels = padded["height_out"] * padded["width_out"]
    area = padded["padded"] + (padded["height"] * padded["width"] + pixels) * lanes
    values = {
        **padded, "samples": samples, "sample_blocks": blocks, "channels": channels, "channel_groups": groups,
        "taps": taps, "area": area,
    }  # fmt: skip
    form = Form(scalar, lanes, min(taps, vector_registers() * 3 // 8))
    arguments = "grad", "input", "found", "images", "sums", tuple([values[name] for name in NUMBERS]), offsets
    nanoseconds = samples * channels * pixels * taps * NANOSECONDS
    launch = Launch(gradient_program, (form,), arguments, nanoseconds, "depthwise_gradient")
    return Plan(
        [launch], {}, thread_scratch=[("images", area, dtype), ("sums", 0, dtype, groups * blocks * taps * lanes)]
    )
