"""Max pooling: the largest element of each window, its place, and the gradient that flows back to it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...base.arrays import is_channels_last
from ..language.builder import Builder
from ..language.program import Program
from ..planning.layout import Layout, copies, deep, laid, lanes_for
from ..planning.plan import Launch, Plan
from ..planning.precision import in_single_precision
from ..planning.runner import plan_for
from ..windows.axes import equal_windows, forward_axes
from ..windows.staging import (
    MOST_STEP,
    STAGE_NUMBERS,
    Numbers,
    Staging,
    is_inside,
    stage_function,
    stage_numbers,
    stepped_load,
    stepped_store,
)
from . import deep as pooling_deep

_CHUNK_ELEMENTS = 1 << 14  # staged at a time: about what the first-level cache holds
NANOSECONDS = 0.25  # for an element of the input, or that gradients are added to


class Form(NamedTuple):
    """What a max-pooling program is specialised in: elements, lanes, the staging's step class (None for none), how far
    apart the windows are that are read in place, row by row (0: they are not), the number of taps, whether every
    window is an output, and what it does: "values", "places" (and values), "gradient", or "gradient apart" (of windows
    read in place that do not overlap)."""

    scalar: str
    lanes: int
    step_class: int | None
    step: int
    taps: int
    dense: bool
    result: str


NUMBERS = (
    *STAGE_NUMBERS,
    "depth_stride",
    "depth_first",  # where the first window begins; so too the next two
    "row_first",
    "depth_out",
    "height_out",
    "width_out",
    "tile_rows",
    "tiles",
    "planes",
    "planes_at_once",
    "volume",
    "channel_size",
    "area",
)


def window_plan(axes, planes, lanes):
    """The Staging of pooling and its plan's numbers: so many planes at a time as fill a cache."""
    depth, height, width = axes
    tile_rows = height.out
    staging = Staging(axes, tile_rows, 2 <= width.stride <= MOST_STEP and all(map(is_inside, axes)))
    while not staging.direct and staging.channel_size > 2 * _CHUNK_ELEMENTS and tile_rows > 1:
        tile_rows = -(-tile_rows // 2)
        staging = Staging(axes, tile_rows)
    at_once = max(1, min(planes // 8, _CHUNK_ELEMENTS // staging.channel_size))
    area = 0 if staging.direct else -(-(at_once * staging.channel_size + staging.share + 4 * lanes) // 16) * 16
    values = {
        **dict(zip(STAGE_NUMBERS, stage_numbers(staging))),
        "depth_stride": depth.stride, "depth_first": depth.start, "row_first": height.start, "depth_out": depth.out,
        "height_out": height.out, "width_out": width.out, "tile_rows": tile_rows, "tiles": -(-height.out // tile_rows),
        "planes": planes, "planes_at_once": at_once, "volume": depth.length * height.length * width.length,
        "channel_size": staging.channel_size, "area": area,
    }  # fmt: skip
    return staging, np.array([values[name] for name in NUMBERS], np.int64), area


def over_tiles(builder, n, source, scratch, slab_table, numbers, stage, one_plane, before_planes=None):
    """In chunks of planes, depth by depth and tile by tile: stage the planes, then ``one_plane`` for each."""
    with builder.parallel((n["planes"] + (n["planes_at_once"] - 1)) // n["planes_at_once"]) as chunk:
        first = chunk * n["planes_at_once"]
        count = builder.minimum(n["planes_at_once"], n["planes"] - first)
        area = None if stage is None else builder.offset(scratch, builder.worker() * n["area"])
        if before_planes is not None:
            before_planes(first, count)
        with builder.loop(0, n["depth_out"]) as depth, builder.loop(0, n["tiles"]) as tile:
            row = tile.index * n["tile_rows"]
            rows = builder.minimum(n["tile_rows"], n["height_out"] - row)
            begin = builder.offset(source, first * n["volume"])
            if stage is None:
                above = depth.index * n["depth_stride"] * n["height"] + row * n["row_stride"]
                begin = builder.offset(begin, above * n["width"])
                step = n["volume"]
            else:
                starts = (depth.index * n["depth_stride"], row * n["row_stride"])
                builder.call(stage, begin, area, count, slab_table, numbers, *starts)
                begin, step = area, n["channel_size"]
            with builder.loop(0, count) as plane:
                one_plane(first + plane.index, builder.offset(begin, plane.index * step), depth.index, row, rows)


def over_vectors(builder, form, n, begin, rows, body):
    """``body(first, mask, load, place)`` for each vector of a tile's windows: its first one, which lanes there are (None:
    all), the function that loads what lies under the tap at an offset, and for windows read in place, where they are:
    how far their row is from the tile's beginning, and the first one's number in the row."""
    lanes = form.lanes
    if form.step:
        with builder.loop(0, rows) as row:
            above = row.index * n["row_stride"] * n["width"]
            line = builder.offset(begin, above)

            def piece(index, mask, _):
                def load(offset):
                    tap_line = builder.offset(line, offset)
                    return stepped_load(builder, tap_line, index, None, lanes, form.step, mask, n["width_out"] - index)

                body(row.index * n["width_out"] + index, mask, load, (above, index))

            builder.for_lanes(0, n["width_out"], lanes, piece)
        return

    def whole(first, mask, _):
        here = builder.offset(begin, first)
        body(first, mask, lambda offset: builder.load(here, offset, lanes, mask), None)

    builder.for_lanes(0, (rows - 1) * n["pitch"] + n["width_out"], lanes, whole)


def squeezed(builder, form, first, mask, total, valid, starts, values):
    """(values with those of no output left out, index of the first output, mask of the outputs) of one vector."""
    if form.dense:
        return values, first, mask
    chosen = builder.load(valid, first, form.lanes)
    vector = first // form.lanes
    begin = builder.load(starts, vector)
    kept = builder.first_lanes(builder.minimum(builder.load(starts, vector + 1), total) - begin, form.lanes)
    return [builder.compress(value, chosen) for value in values], begin, kept


def max_pool_program(*form):
    """The program ``(source, found, places or None, grad or None, scratch, slab_table, numbers, taps, valid, starts,
    rows_of, columns_of)``; with a gradient, ``found`` is the input's and ``places`` memory for each worker."""
    form = Form(*form)
    scalar, lanes = form.scalar, form.lanes
    stage = None if form.step_class is None else stage_function(scalar, lanes, form.step_class, -math.inf)
    parameters = [("source", f"{scalar}*"), ("found", f"{scalar}*"), ("places", "i64*"), ("grad", f"{scalar}*")]
    parameters += [("scratch", f"{scalar}*"), ("slab_table", "i64*"), ("numbers", "i64*"), ("taps", "i64*")]
    parameters += [("valid", "bool*"), ("starts", "i64*"), ("rows_of", "i32*"), ("columns_of", "i32*")]
    builder = Builder("max_pool", parameters)
    source, found, places, grad, scratch, slab_table, numbers, taps, valid, starts, rows_of, columns_of = (
        builder.parameters
    )
    n = Numbers(builder, numbers, NUMBERS)
    out_volume = n["depth_out"] * n["height_out"] * n["width_out"]
    with_gradient = form.result == "gradient"

    def one_plane(plane, begin, depth, row, rows):
        out_first = plane * out_volume + (depth * n["height_out"] + row) * n["width_out"]
        above = (depth * n["depth_stride"] * n["height"] + row * n["row_stride"]) * n["width"]
        tile_found = builder.offset(found, plane * n["volume"] + above)
        if with_gradient:  # the tile's places go to the worker's memory
            tile_places = builder.offset(places, builder.worker() * (n["tile_rows"] * n["width_out"] + lanes))

        def vector(first, mask, load, at):
            start = (n["depth_first"] + depth * n["depth_stride"], n["row_first"] + row * n["row_stride"])
            geometry = (n["height"], n["width"], *start, rows_of, columns_of)
            values = _largest(builder, form, load, first, taps, geometry)
            if form.result == "gradient apart":
                flowing = builder.load(grad, out_first + first, lanes, mask)
                _give_back(builder, form, n, tile_found, flowing, values, at, mask, taps)
                return
            total = rows * n["width_out"]
            values, place, kept = squeezed(builder, form, first, mask, total, valid, starts, values)
            if form.result != "values":
                target, shift = (tile_places, 0) if with_gradient else (places, out_first)
                builder.store(builder.convert(values[1], "i64"), target, shift + place, kept)
            if not with_gradient:
                builder.store(values[0], found, out_first + place, kept)

        over_vectors(builder, form, n, begin, rows, vector)
        if with_gradient:
            target, flowing = builder.offset(found, plane * n["volume"]), builder.offset(grad, out_first)
            add_at_places(builder, target, flowing, tile_places, rows * n["width_out"])

    def clear(first, count):
        builder.clear(builder.offset(found, first * n["volume"]), count * n["volume"], lanes)

    before = clear if form.result.startswith("gradient") else None
    over_tiles(builder, n, source, scratch, slab_table, numbers, stage, one_plane, before)
    return Program("max_pool", [*([] if stage is None else [stage]), builder.function])


def _largest(builder, form, load, first, taps, geometry):
    """[largest element, its place in the plane] of a vector of windows; the first of equals, the last NaN. Where windows
    are apart, the number of its tap instead of the place."""
    lanes = form.lanes
    with_places = form.result != "values"
    best = builder.constant(-math.inf, f"{form.scalar}x{lanes}")
    carry = [best]
    if form.result == "gradient apart":
        carry.append(builder.constant(0, f"i32x{lanes}"))
    elif with_places:
        height, width, depth_start, row_start, rows_of, columns_of = geometry
        row_place = builder.load(rows_of, first, lanes) + builder.convert(row_start, "i32")
        column = builder.load(columns_of, first, lanes)
        wide = builder.splat(builder.convert(width, "i32"), lanes)
        begin_place = builder.convert(depth_start * height * width, "i32") + row_place * wide + column
        zero = builder.value(0, row_place.type)
        inside = builder.maximum(row_place, zero) * wide + builder.maximum(column, zero)
        carry.append(builder.convert(builder.maximum(depth_start, 0) * height * width, "i32") + inside)
    for tap in range(form.taps):
        value = load(builder.load(taps, 2 * tap))
        better = (value > carry[0]) | value.differs(value)
        carry[0] = builder.select(better, value, carry[0])
        if form.result == "gradient apart":
            carry[1] = builder.select(better, builder.constant(tap, carry[1].type), carry[1])
        elif with_places:
            here_place = begin_place + builder.convert(builder.load(taps, 2 * tap + 1), "i32")
            carry[1] = builder.select(better, here_place, carry[1])
    return carry


def _give_back(builder, form, n, target, flowing, values, at, mask, taps):
    """Store the gradient of a vector of windows that do not overlap: under each tap, where the largest is, else 0."""
    above, index = at
    line = builder.offset(target, above)
    zero = builder.constant(0, flowing.type)
    for tap in range(form.taps):
        value = builder.select(values[1].equals(builder.constant(tap, values[1].type)), flowing, zero)
        row = builder.offset(line, builder.load(taps, 2 * tap))
        stepped_store(builder, value, row, index, form.step, form.lanes, form.step, mask, n["width_out"] - index)


def add_at_places(builder, target, flowing, places, count):
    """Add ``count`` numbers to where their places say, one after the other: some may be the same."""
    with builder.loop(0, count) as window:
        place = builder.load(places, window.index)
        builder.store(builder.load(target, place) + builder.load(flowing, window.index), target, place)


_MOST_TAPS = 32  # they are unrolled
_INT64 = np.dtype(np.int64)


def _pooling(x, window, result, arrays):
    """(Launch, scratch memory of each thread) of a max pooling, or its gradient, of "self", a plain array; None where there is
    no program. ``arrays``: the names of its second to fourth argument."""
    kernel, stride, padding, dilation, out = window
    count, scalar = len(kernel), x.scalar
    dilated = any(padding) and any(d != 1 for d in dilation)
    if scalar not in ("f32", "f64") or not x.size or dilated or math.prod(kernel) > _MOST_TAPS:
        return None
    if math.prod(x.shape[-count:]) >= 1 << 31:
        return None
    lanes, axes = lanes_for(scalar), forward_axes(x.shape[-count:], out, kernel, stride, padding, dilation)
    depth, height, width = axes
    staging, numbers, area = window_plan(axes, math.prod(x.shape[:-count]), lanes)
    found, places, grad = arrays
    own = [("planes", area, x.dtype)] if area else []
    if result == "gradient" and staging.in_place and all(max(a.taps) < a.stride or a.out == 1 for a in axes):
        result = "gradient apart"
    elif result == "gradient":
        places = "tile_places"
        own.append((places, staging.tile_rows * width.out + lanes, _INT64))
    flat = [(d * height.length + h) * width.length + w for d in depth.taps for h in height.taps for w in width.taps]
    taps = np.stack([staging.tap_offsets(), np.array(flat, np.int64)], 1)
    valid, starts = staging.squeezing(lanes)
    windows = np.arange(len(valid))
    rows = (windows // staging.pitch * height.stride).astype(np.int32)
    columns = (windows % staging.pitch * width.stride + width.start).astype(np.int32)
    step_class = None if staging.direct else staging.step_class
    dense = staging.pitch == width.out
    form = Form(scalar, lanes, step_class, staging.in_place and width.stride, len(flat), dense, result)
    tables = staging.slabs, numbers, taps, valid, starts, rows, columns
    arguments = "self", found, places, grad, "planes" if area else None, *tables
    return Launch(max_pool_program, form, arguments, x.size * NANOSECONDS, "max_pool"), own


def _is_deep(x, dilation):
    """Whether windows are taken of channels side by side."""
    return set(dilation) == {1} and pooling_deep.takes(x, len(dilation)) and math.prod(x.shape[2:]) < 1 << 31


def _lying_as(layout, x, count):
    """The Layout of what is pooled of the last ``count`` dimensions of x: as that lies, see `ops.pool.lying_as`."""
    if x.is_plain:
        return layout
    if (count < 3 or x.ndim == 5) and is_channels_last(x):
        return deep(layout.shape, layout.dtype)
    if count == 3 and x.ndim == 4 and x.turned((1, 2, 3, 0)).is_plain:
        return laid(layout.shape, layout.dtype, (1, 2, 3, 0))
    return layout


def _plan_maxima(x, window, with_places):
    """The Plan of the largest elements of windows, and of their places."""
    *given, dilation, out = window
    if _is_deep(x, dilation):
        return pooling_deep.plan_largest(x, with_places, *given, out)
    found = Layout((*x.shape[: -len(out)], *out), x.dtype)
    results = {"found": found, "places": found.of(_INT64)} if with_places else {"found": found}
    pooling = _pooling(
        x, window, "places" if with_places else "values", ("found", "places" if with_places else None, None)
    )
    if pooling is None:
        return None
    launch, own = pooling
    lying = {name: _lying_as(each, x, len(out)) for name, each in results.items()}
    given = {name: layout for name, layout in lying.items() if layout != results[name]}
    return Plan([launch], results, thread_scratch=own, copied=copies(self=x), given=given)


@plan_for("max_pool_values")
@in_single_precision()
def max_pool(self: Layout, kernel, stride, padding, dilation, out):
    """See ``ops.pool_max.max_pool_values``: contiguous or channels_last."""
    return _plan_maxima(self, (kernel, stride, padding, dilation, out), False)


@plan_for("max_pool_places")
@in_single_precision()
def max_pool_with_indices(self: Layout, kernel, stride, padding, dilation, out):
    """See ``ops.pool_max.max_pool_places``: contiguous or channels_last."""
    return _plan_maxima(self, (kernel, stride, padding, dilation, out), True)


@plan_for("max_pool_values_gradient")
@in_single_precision()
def max_pool_gradient(grad: Layout, self: Layout, kernel, stride, padding, dilation, out):
    """See ``ops.pool_max.max_pool_values_gradient``: contiguous or channels_last."""
    if grad.shape != (*self.shape[: -len(out)], *out) or grad.dtype != self.dtype:
        return None
    if _is_deep(self, dilation):
        return pooling_deep.plan_largest_gradient(grad, self, kernel, stride, padding, out)
    pooling = _pooling(self, (kernel, stride, padding, dilation, out), "gradient", ("found", None, "grad"))
    if pooling is None or not grad.size:
        return None
    launch, own = pooling
    return Plan([launch], {"found": self.plain()}, thread_scratch=own, copied=copies(grad=grad, self=self))


@plan_for("adaptive_max_pool")
@in_single_precision()
def adaptive_max_pool(self: Layout, out):
    """See ``ops.pool_adaptive.adaptive_max_pool``: where all windows are of one size, contiguous."""
    kernel = equal_windows(self.shape[-len(out) :], out)
    return kernel and _plan_maxima(self, (kernel, kernel, (0,) * len(out), (1,) * len(out), out), True)


# ---------------------------------------------------------------- gradients at places


def put_program(scalar, lanes):
    """The program ``(grad, places, found, planes, outputs, volume, planes_at_once)``: gradients added up at places."""
    parameters = [("grad", f"{scalar}*"), ("places", "i64*"), ("found", f"{scalar}*")]
    parameters += [(name, "i64") for name in ("planes", "outputs", "volume", "planes_at_once")]
    builder = Builder("put", parameters)
    grad, places, found, planes, outputs, volume, at_once = builder.parameters
    with builder.parallel((planes + (at_once - 1)) // at_once) as chunk:
        first = chunk * at_once
        with builder.loop(first, builder.minimum(first + at_once, planes)) as plane:
            target = builder.offset(found, plane.index * volume)
            builder.clear(target, volume, lanes)
            first_output = plane.index * outputs
            flowing, at = builder.offset(grad, first_output), builder.offset(places, first_output)
            add_at_places(builder, target, flowing, at, outputs)
    return Program("put", [builder.function])


@plan_for("places_gradient")
@in_single_precision()
def places_gradient(grad: Layout, places: Layout, lengths):
    """See ``ops.pool_max.places_gradient``. The places are inside."""
    if grad.scalar not in ("f32", "f64") or not grad.size or places.dtype != np.int64 or 0 in lengths:
        return None
    lead, volume = grad.shape[: -len(lengths)], math.prod(lengths)
    planes = math.prod(lead)
    found = Layout((*lead, *lengths), grad.dtype)
    arguments = "grad", "places", "found", planes, grad.size // planes, volume, max(1, _CHUNK_ELEMENTS // volume)
    launch = Launch(put_program, (grad.scalar, lanes_for(grad.scalar)), arguments, found.size * NANOSECONDS)
    return Plan([launch], {"found": found}, copied=copies(grad=grad, places=places))
