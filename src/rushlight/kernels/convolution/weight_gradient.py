"""The gradient of a convolution's weight, as two kernels: for many output channels, and for few.

Each term (a channel's tap) of each output channel is a sum over samples and pixels. With many output channels the
output's gradient is turned so that channels lie side by side: vectors of channels, multiplied by single pixels of the
source. With few, vectors are of pixels, and their lanes are added at the end. Samples are divided into blocks whose sums
are added in order: how many threads there are changes nothing. `winograd_gradient`, `depthwise_gradient` and
`products` take what they are faster at.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...base.processors import near_bytes
from ...ops.conv_checks import check_fit
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY
from ..machine.host import vector_registers
from ..planning.layout import Layout, Spread, lanes_for, plain_copies
from ..planning.plan import Launch, Plan
from ..planning.runner import operation, plan_for
from ..products.matmul import plan_product_of
from ..products.matmul_packing import turning
from ..windows.axes import forward_axes
from ..windows.staging import STAGE_NUMBERS, Numbers, stage_function, stage_numbers
from . import depthwise_gradient, on_tiles, winograd_gradient
from .correlation import NANOSECONDS
from .correlation_tiles import tiled
from .forward import SUMS, TILES, WINOGRAD, common_scalar, computed_again, given_as
from .products import is_whole, pays_as_product, plan_windows, rows_of

_ENOUGH_CHUNKS = 8
_COMBINED_TERMS = 64  # that are added up and laid down together
_PARTIAL_ELEMENTS = 1 << 21  # of all blocks' sums together
_SUM_ELEMENTS = (
    near_bytes() // 4
)  # of the sums that one chunk goes through for every tile: they stay in the second-level cache
_FEW_CHANNELS = 7
_PIXELS_TOGETHER = 256  # so many products are added up in registers before the sums in memory grow


class Form(NamedTuple):
    """What a weight-gradient program is specialised in: elements, lanes, the micro-kernel's rows (of terms; with
    ``uneven`` some blocks have one less), its ``width`` (vectors of output channels; with ``few`` all output channels),
    the staging's step class (None for none)."""

    scalar: str
    lanes: int
    rows: int
    uneven: bool
    width: int
    few: bool
    step_class: int | None


def micro_kernel(form, rows):
    """Function that adds to ``rows`` terms x ``width`` vectors of sums what one tile gives.

    Its parameters:
        source, offsets: the tile, and where in it each term's elements begin. images, image_step: how many tiles of
            neighbouring samples are taken together, and from one to the next.
        pitch: from one row of the tile to the next. height, columns: the tile's rows and the pixels of each.
        grad, grad_step: the output's gradient (turned: from one pixel to the next; else: from one channel to the next).
        sums, sums_step: where the sums are, and from one term's to the next one's.
    """
    parameters = [("source", f"{form.scalar}*"), ("offsets", "i64*"), ("images", "i64"), ("image_step", "i64")]
    parameters += [
        ("pitch", "i64"),
        ("height", "i64"),
        ("columns", "i64"),
        ("grad", f"{form.scalar}*"),
        ("grad_step", "i64"),
        ("sums", f"{form.scalar}*"),
    ]
    builder = Builder(f"gradient_{rows}x{form.width}", [*parameters, ("sums_step", "i64")])
    source, offsets, images, image_step, pitch, height, columns, grad, grad_step, sums, sums_step = builder.parameters
    lanes, width = form.lanes, form.width
    terms = [builder.offset(source, builder.load(offsets, r)) for r in range(rows)]
    zero = builder.constant(0, f"{form.scalar}x{lanes}")
    products = _over_pixels if form.few else _over_channels
    with builder.loop(0, images, 1, [zero] * (rows * width)) as image:
        with builder.loop(0, height, 1, image.carry) as row:
            begin = image.index * image_step + row.index * pitch
            places = [builder.offset(term, begin) for term in terms]
            first = (image.index * height + row.index) * columns
            row.carry = products(builder, form, places, grad, grad_step, first, columns, row.carry)
        image.carry = row.results
    for r in range(rows):
        place = builder.offset(sums, sums_step * r)
        for j in range(width):
            value = builder.load(place, j * lanes, lanes) + image.results[r * width + j]
            builder.store(value, place, j * lanes)
    return builder.function


def _over_channels(builder, form, places, grad, grad_step, first, columns, sums):
    """A row's pixels one after the other: each term's element against vectors of output channels."""
    lanes, width = form.lanes, form.width
    with builder.loop(0, columns, 1, [builder.offset(grad, first * grad_step), *sums]) as pixel:
        channels = pixel.carry[0]
        right = [builder.load(channels, j * lanes, lanes) for j in range(width)]
        found = pixel.carry[1:]
        for r, place in enumerate(places):
            left = builder.splat(builder.load(place, pixel.index), lanes)
            for j in range(width):
                found[r * width + j] = builder.fma(left, right[j], found[r * width + j])
        pixel.carry = [builder.offset(channels, grad_step), *found]
    return pixel.results[1:]


def _over_pixels(builder, form, places, grad, grad_step, first, columns, sums):
    """Vectors of a row's pixels: each term's against each output channel's."""
    width = form.width
    channels = [builder.offset(grad, grad_step * j + first) for j in range(width)]

    def piece(index, mask, carry):
        right = [builder.load(channel, index, form.lanes, mask) for channel in channels]
        found = []
        for r, place in enumerate(places):
            left = builder.load(place, index, form.lanes, mask)
            found += [builder.fma(left, right[j], carry[r * width + j]) for j in range(width)]
        return found

    return builder.for_lanes(0, columns, form.lanes, piece, sums)


NUMBERS = (
    *STAGE_NUMBERS,
    "depth_stride",
    "depth_out",
    "height_out",
    "width_out",
    "tile_rows",
    "tiles",
    "samples",
    "groups",
    "blocks",  # of samples
    "parts",  # of a group's source channels
    "part_channels",
    "channels",  # of one group of the source
    "channel_volume",
    "channel_size",  # of the staged tile
    "taps",
    "out_channels",  # of one group
    "padded_channels",  # out_channels, up to whole blocks of the micro-kernel
    "area",
    "staged_area",
    "block_step",  # between blocks' sums
    "at_once",  # samples taken together
    "image_step",  # between their tiles
    "rows_together",
)


def gradient_program(form):
    """The program ``(grad, source, found, partial, scratch, slab_table, numbers, offsets)``."""
    scalar = form.scalar
    stage = None if form.step_class is None else stage_function(scalar, form.lanes, form.step_class)
    turn = None if form.few else turning(scalar, scalar, form.lanes, True)
    micros = {rows: micro_kernel(form, rows) for rows in ((form.rows, form.rows - 1) if form.uneven else (form.rows,))}
    lay = turning(scalar, scalar, form.lanes, False, name="lay_terms")
    functions = [f for f in (stage, turn, lay, *micros.values()) if f is not None]
    arrays = [(name, f"{scalar}*") for name in ("grad", "source", "found", "partial", "scratch")]
    builder = Builder("weight_gradient", [*arrays, ("slab_table", "i64*"), ("numbers", "i64*"), ("offsets", "i64*")])
    grad, source, found, partial, scratch, slab_table, numbers, offsets = builder.parameters
    n = Numbers(builder, numbers, NUMBERS)
    with builder.parallel(n["blocks"] * n["groups"] * n["parts"]) as chunk:
        part, rest = chunk % n["parts"], chunk // n["parts"]
        group, block = rest % n["groups"], rest // n["groups"]
        area = builder.offset(scratch, builder.worker() * n["area"])
        staged, turned = area, builder.offset(area, n["staged_area"])
        first_channel = part * n["part_channels"]
        terms = n["part_channels"] * n["taps"]
        sums_step = n["padded_channels"] if not form.few else n["out_channels"] * form.lanes
        target = builder.offset(
            partial, block * n["block_step"] + (group * n["parts"] + part) * terms * n["padded_channels"]
        )
        sums = builder.offset(turned, 0) if form.few else target
        builder.clear(sums, terms * sums_step, form.lanes, whole=True)
        sample = (block * n["samples"] // n["blocks"], (block + 1) * n["samples"] // n["blocks"])
        out_volume = n["depth_out"] * n["height_out"] * n["width_out"]

        def one_tile(first_sample, images, depth, row, rows):
            pixels = rows * n["width_out"]
            of_source, of_grad = _places(builder, n, source, grad, group, first_channel, first_sample, depth, row)

            with builder.loop(0, images) as image:
                if stage is not None:
                    starts = (depth * n["depth_stride"], row * n["row_stride"])
                    target = builder.offset(staged, image.index * n["image_step"])
                    arguments = (target, n["part_channels"], slab_table, numbers, *starts)
                    builder.call(stage, of_source(image.index), *arguments)
                if turn is not None:
                    to = builder.offset(turned, image.index * pixels * n["padded_channels"])
                    arguments = (out_volume, n["padded_channels"], pixels, n["out_channels"])
                    _turn_all(builder, form, turn, of_grad(image.index), to, *arguments)
            here = (depth * n["depth_stride"] * n["height"] + row) * n["width"]
            begin = builder.offset(of_source(0), here) if stage is None else staged
            flowing, grad_step = (of_grad(0), out_volume) if turn is None else (turned, n["padded_channels"])
            tile = (begin, images, n["image_step"], n["pitch"], rows, n["width_out"], flowing, grad_step)
            _all_terms(
                builder, form, micros, tile, offsets, sums, sums_step, terms, n["padded_channels"], n["rows_together"]
            )

        _over_tiles(builder, n, sample, one_tile)
        if form.few:
            _add_lanes(builder, form, sums, target, terms, n["out_channels"])
    _combine(builder, form, n, lay, partial, found)
    return Program("weight_gradient", [*functions, builder.function])


def _places(builder, n, source, grad, group, first_channel, first_sample, depth, row):
    """Functions of an image's number: where its channels begin, and where its gradient's row at that depth does."""
    out_plane = n["height_out"] * n["width_out"]

    def of_source(image):
        number = (first_sample + image) * n["groups"] + group
        return builder.offset(source, (number * n["channels"] + first_channel) * n["channel_volume"])

    def of_grad(image):
        number = (first_sample + image) * n["groups"] + group
        place = number * n["out_channels"] * n["depth_out"] * out_plane + depth * out_plane + row * n["width_out"]
        return builder.offset(grad, place)

    return of_source, of_grad


def _over_tiles(builder, n, sample, one_tile):
    first, end = sample
    with builder.loop(first, end, n["at_once"]) as image, builder.loop(0, n["depth_out"]) as depth:
        images = builder.minimum(n["at_once"], end - image.index)
        with builder.loop(0, n["tiles"]) as tile:
            row = tile.index * n["tile_rows"]
            rows = builder.minimum(n["tile_rows"], n["height_out"] - row)
            one_tile(image.index, images, depth.index, row, rows)


def _turn_all(builder, form, turn, flowing, turned, out_volume, pitch, pixels, out_channels):
    with builder.loop(0, out_channels, form.lanes) as channel:
        width = builder.minimum(out_channels - channel.index, form.lanes)
        strip = builder.offset(flowing, channel.index * out_volume)
        builder.call(turn, strip, builder.offset(turned, channel.index), out_volume, pitch, pixels, width)


def _all_terms(builder, form, micros, tile, offsets, sums, sums_step, terms, padded_channels, rows_together):
    """All blocks of terms (and of output channels) of one tile, ``rows_together`` of its rows at a time."""
    begin, images, image_step, pitch, all_rows, columns, flowing, grad_step = tile
    block_channels = form.width * form.lanes
    pixel_step = 1 if form.few else padded_channels
    high = terms if not form.uneven else terms // form.rows * form.rows
    if form.uneven:  # as many blocks with a row less as make up what is missing
        blocks = (terms + (form.rows - 1)) // form.rows
        high = (terms - blocks * (form.rows - 1)) * form.rows

    def blocks_from(row, first, end, count, shift):
        rows = builder.minimum(rows_together, all_rows - row)
        source, gradients = (
            builder.offset(begin, row * pitch),
            builder.offset(flowing, row * columns * pixel_step + shift),
        )
        with builder.loop(first, end, count) as term:
            place = builder.offset(sums, term.index * sums_step + shift)
            near = builder.offset(offsets, term.index)
            arguments = (source, near, images, image_step, pitch, rows, columns, gradients, grad_step)
            builder.call(micros[count], *arguments, place, sums_step)

    def all_blocks(row, shift):
        blocks_from(row, 0, high, form.rows, shift)
        if form.uneven:
            blocks_from(row, high, terms, form.rows - 1, shift)

    with builder.loop(0, all_rows, rows_together) as row:
        if form.few:
            all_blocks(row.index, 0)
        else:
            with builder.loop(0, padded_channels, block_channels) as strip:
                all_blocks(row.index, strip.index)


def _add_lanes(builder, form, sums, target, terms, out_channels):
    """Sums of vectors to numbers, in the order of ``sums``: term by term."""
    with builder.loop(0, terms * out_channels) as place:
        total = builder.reduce(builder.load(sums, place.index * form.lanes, form.lanes))
        builder.store(total, target, place.index)


def _combine(builder, form, n, lay, partial, found):
    """Add up the blocks of samples, and lay the terms of each output channel side by side."""
    lanes = form.lanes
    all_terms, padded = n["channels"] * n["taps"], n["padded_channels"]
    chunks = (all_terms + (_COMBINED_TERMS - 1)) // _COMBINED_TERMS
    with builder.parallel(n["groups"] * chunks) as chunk:
        group, first = chunk // chunks, chunk % chunks * _COMBINED_TERMS
        end = builder.minimum(first + _COMBINED_TERMS, all_terms)
        begin = builder.offset(partial, group * all_terms * padded)
        sums = builder.offset(begin, first * padded)

        def piece(index, mask, _):
            with builder.loop(1, n["blocks"], 1, [builder.load(sums, index, lanes, mask)]) as block:
                value = builder.load(sums, block.index * n["block_step"] + index, lanes, mask)
                block.carry = [block.carry[0] + value]
            builder.store(block.results[0], sums, index, mask)

        with builder.when(n["blocks"] > 1):
            builder.for_lanes(0, (end - first) * padded, lanes, piece)
        with builder.loop(first, end, lanes) as term:
            to = builder.offset(found, group * n["out_channels"] * all_terms + term.index)
            width = builder.minimum(end - term.index, lanes)
            source = builder.offset(begin, term.index * padded)
            builder.call(lay, source, to, padded, all_terms, n["out_channels"], width)


def _micro_shape(terms, out_channels, lanes, registers):
    """(rows, uneven, width, few): as many sums as registers hold."""
    many = registers * 3 // 4
    few = out_channels <= _FEW_CHANNELS
    if few:
        width, most = out_channels, max(1, many // out_channels)
    else:
        vectors = -(-out_channels // lanes)
        strips = -(-vectors // (4 if registers == 32 else 2))
        width = -(-vectors // strips)
        most = min(8, many // width)
    blocks = -(-terms // most)
    rows = -(-terms // blocks)
    return rows, terms % blocks != 0, width, few


class WeightGradient:
    """How a weight's gradient is computed for one shape."""

    def __init__(self, input_shape, weight_shape, out, scalar, stride, padding, dilation, groups):
        lanes, registers = lanes_for(scalar), vector_registers()
        samples, channels, out_channels = input_shape[0], weight_shape[1], weight_shape[0] // groups
        axes = forward_axes(input_shape[2:], out, weight_shape[2:], stride, padding, dilation)
        taps = math.prod(weight_shape[2:])
        terms = channels * taps
        blocks = max(1, min(samples, _ENOUGH_CHUNKS, _PARTIAL_ELEMENTS // math.prod(weight_shape)))
        parts = _parts(channels, blocks * groups, terms * max(out_channels, lanes))
        part_channels = channels // parts
        rows, uneven, width, few = _micro_shape(part_channels * taps, out_channels, lanes, registers)
        padded = out_channels if few else -(-out_channels // (width * lanes)) * width * lanes
        staging = self.staging = tiled(axes, part_channels, samples * groups, 0 if few else padded)
        depth, height, line = axes
        pixels = staging.tile_rows * line.out
        at_once, staged_area, image_step = 1, 0, groups * channels * depth.length * height.length * line.length
        if depth.out == 1 and pixels == height.out * line.out and not few:
            at_once = max(1, min(-(-samples // blocks), _PIXELS_TOGETHER // pixels))
        if not staging.direct:
            image_step = -(-(part_channels * staging.channel_size + staging.share + 4 * lanes) // 16) * 16
            staged_area = at_once * image_step
        self.area = staged_area + (
            part_channels * taps * out_channels * lanes if few else at_once * pixels * padded + lanes
        )
        self.partial_size = blocks * groups * terms * padded + lanes
        self.offsets = (np.arange(part_channels)[:, None] * staging.channel_size + staging.tap_offsets()).reshape(-1)
        values = {
            **dict(zip(STAGE_NUMBERS, stage_numbers(staging))),
            "depth_stride": depth.stride, "depth_out": depth.out, "height_out": height.out, "width_out": line.out,
            "tile_rows": staging.tile_rows, "tiles": -(-height.out // staging.tile_rows), "samples": samples,
            "groups": groups, "blocks": blocks, "parts": parts, "part_channels": part_channels, "channels": channels,
            "channel_volume": depth.length * height.length * line.length, "channel_size": staging.channel_size,
            "taps": taps, "out_channels": out_channels, "padded_channels": padded, "area": self.area,
            "staged_area": staged_area, "block_step": groups * terms * padded, "at_once": at_once, "image_step": image_step,
            "rows_together": staging.tile_rows if at_once > 1 or few else max(1, _PIXELS_TOGETHER // line.out),
        }  # fmt: skip
        self.numbers = tuple([values[name] for name in NUMBERS])
        self.form = Form(scalar, lanes, rows, uneven, width, few, None if staging.direct else staging.step_class)
        self.nanoseconds = samples * math.prod(out) * math.prod(weight_shape) * NANOSECONDS

    def plan(self):
        """The Plan that writes "found" from "grad" and "input"."""
        arguments = "grad", "input", "found", "sums", "windows", self.staging.slabs, self.numbers, self.offsets
        launch = Launch(gradient_program, (self.form,), arguments, self.nanoseconds, "weight_gradient")
        dtype = NUMPY[self.form.scalar]
        return Plan([launch], {}, thread_scratch=[("sums", 0, dtype, self.partial_size), ("windows", self.area, dtype)])


def _parts(channels, chunks, sums):
    """In how many parts a group's channels are taken, a divisor: for enough chunks, and sums that stay in the cache."""
    wanted = max(-(-_ENOUGH_CHUNKS // chunks), -(-sums // _SUM_ELEMENTS))
    divisors = [parts for parts in range(1, channels + 1) if channels % parts == 0]
    more = next((parts for parts in divisors if parts >= wanted), channels)
    return more if more <= 4 * wanted else max(parts for parts in divisors if parts <= wanted)


def _plan(grad, input_shape, weight_shape, scalar, options, ways):
    """The Plan that writes "found" from plain arrays, and whether what it gives must be looked at."""
    stride, padding, dilation, groups = options
    dtype, out = NUMPY[scalar], grad.shape[2:]
    if is_whole(input_shape[2:], weight_shape[2:], padding, groups):
        matrices = ("grad", rows_of(grad.shape, dtype), True), ("input", rows_of(input_shape, dtype))
        return plan_product_of(*matrices, ("found", rows_of(weight_shape, dtype))), False
    axes = forward_axes(input_shape[2:], out, weight_shape[2:], stride, padding, dilation)
    if depthwise_gradient.applies(axes, input_shape[1], weight_shape[0], groups, lanes_for(scalar)):
        return depthwise_gradient.plan_gradient(axes, input_shape[0], groups, scalar), False
    if ways and winograd_gradient.applies(input_shape, weight_shape, out, dtype, stride, dilation, groups):
        return winograd_gradient.plan_gradient(input_shape, weight_shape, out, padding), True
    if pays_as_product(input_shape[0], weight_shape, out, padding, groups):
        return plan_windows(grad.shape, input_shape, weight_shape, dtype, stride, padding, dilation), False
    return WeightGradient(input_shape, weight_shape, out, scalar, *options).plan(), False


def plan_weight_gradient(grad: Spread, input: Spread, weight_size, stride, padding, dilation, groups, ways):
    """The Plan of the gradient of a convolution's weight by one of such ways."""
    scalar, options = common_scalar(grad, input), (stride, padding, dilation, groups)
    if scalar is None or 0 in weight_size:
        return None
    check_fit((input.shape, input.dtype), (weight_size, input.dtype), (grad.shape, grad.dtype), *options)
    is_deep = grad.is_deep or input.is_deep
    found = on_tiles.plan_weight_gradient(grad, input, weight_size, scalar, options) if ways >= TILES else None
    if found is not None:
        plan, is_exact = found
        looks, less = not is_exact, WINOGRAD
    else:
        computed = "f64" if scalar == "f64" else "f32"
        plan, looks = _plan(grad, input.shape, weight_size, computed, options, ways)
        copied = {**plan.copied, **plain_copies(NUMPY[computed], grad=grad, input=input)}
        plan, less = plan._replace(results={"found": Layout(weight_size, NUMPY[computed])}, copied=copied), SUMS
    if looks:
        plan = computed_again(plan, lambda g, x: _weight_gradient(g, x, weight_size, *options, less), "grad", "input")
    return plan._replace(given=given_as(plan.results["found"], grad.dtype, is_deep))


_weight_gradient = operation(plan_weight_gradient)


@plan_for("convolution_weight_gradient")
def convolution_weight_gradient(grad: Spread, input: Spread, weight_size, stride, padding, dilation, groups):
    """See ``ops.conv.convolution_weight_gradient``; half precision is added up in float32."""
    return plan_weight_gradient(grad, input, weight_size, stride, padding, dilation, groups, TILES)
