"""Mean pooling and its gradient."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..language.builder import Builder
from ..language.program import Program
from ..planning.layout import Layout, copies, lanes_for
from ..planning.plan import HostStep, Launch, Plan
from ..planning.precision import in_single_precision
from ..planning.runner import plan_for
from ..windows.axes import equal_windows, forward_axes
from ..windows.staging import Numbers, stage_function, step_class, stepped_load, stepped_store
from . import deep as pooling_deep
from .maxima import NANOSECONDS, NUMBERS, over_tiles, over_vectors, squeezed, window_plan

_CHUNK_ELEMENTS = 1 << 14
_FEW_TAPS = 4  # they are added up window by window in less time than row by row


class Form(NamedTuple):
    """What a mean-pooling program is specialised in: elements, lanes, the staging's step class (None for none), how far
    apart the windows are that are read in place, row by row (0: they are not), whether rows are added up first, and
    whether every window is an output."""

    scalar: str
    lanes: int
    step_class: int | None
    step: int
    by_lines: bool
    dense: bool


def divisors(axes, count_include_pad, divisor_override):
    """How many elements each window counts: a float64 array of the output's three lengths."""
    counts = np.ones((), np.float64)
    for axis in axes:
        begin = np.arange(axis.out) * axis.stride + axis.start
        end = np.minimum(begin + len(axis.taps), axis.length - axis.start)
        inside = end - begin if count_include_pad else np.minimum(end, axis.length) - np.maximum(begin, 0)
        counts = np.multiply.outer(counts, inside)
    return counts if divisor_override is None else np.full(counts.shape, float(divisor_override))


def mean_pool_program(*form):
    """The program ``(source, found, divisor, scratch, slab_table, numbers, taps, tap_count, valid, starts)``; the
    divisors lie as the windows of all rows do, ``pitch`` to a row."""
    form = Form(*form)
    scalar, lanes = form.scalar, form.lanes
    stage = None if form.step_class is None else stage_function(scalar, lanes, form.step_class)
    parameters = [
        ("source", f"{scalar}*"),
        ("found", f"{scalar}*"),
        ("divisor", f"{scalar}*"),
        ("scratch", f"{scalar}*"),
    ]
    parameters += [("slab_table", "i64*"), ("numbers", "i64*"), ("taps", "i64*"), ("tap_count", "i64")]
    builder = Builder("mean_pool", [*parameters, ("valid", "bool*"), ("starts", "i64*")])
    source, found, divisor, scratch, slab_table, numbers, taps, tap_count, valid, starts = builder.parameters
    n = Numbers(builder, numbers, (*NUMBERS, "column_taps"))
    out_volume = n["depth_out"] * n["height_out"] * n["width_out"]

    def one_plane(plane, begin, depth, row, rows):
        line = depth * n["height_out"] + row
        out_first = plane * out_volume + line * n["width_out"]

        def vector(first, mask, load, _):
            with builder.loop(0, tap_count, 1, [builder.constant(0, f"{scalar}x{lanes}")]) as tap:
                value = load(builder.load(taps, tap.index))
                tap.carry = [tap.carry[0] + value]
            mean = tap.results[0] / builder.load(divisor, line * n["pitch"] + first, lanes)
            total = rows * n["width_out"]
            (mean,), place, kept = squeezed(builder, form, first, mask, total, valid, starts, [mean])
            builder.store(mean, found, out_first + place, kept)

        if form.by_lines:
            area = builder.offset(scratch, builder.worker() * n["area"])
            shares, target = builder.offset(divisor, line * n["pitch"]), builder.offset(found, out_first)
            _mean_lines(builder, form, n, begin, rows, (taps, tap_count), area, shares, target)
        else:
            over_vectors(builder, form, n, begin, rows, vector)

    over_tiles(builder, n, source, scratch, slab_table, numbers, stage, one_plane)
    return Program("mean_pool", [*([] if stage is None else [stage]), builder.function])


def _mean_lines(builder, form, n, begin, rows, taps, sums, shares, target):
    """Means of windows read in place: of each line of them, sums of the rows first, then of columns of that sum."""
    lanes, zero = form.lanes, builder.constant(0, f"{form.scalar}x{form.lanes}")
    row_taps, row_count = taps
    with builder.loop(0, rows) as row:
        top = builder.offset(begin, row.index * n["row_stride"] * n["width"])
        first = row.index * n["width_out"]

        def column_sums(index, mask, _):
            with builder.loop(0, row_count, 1, [zero]) as tap:
                place = builder.offset(top, builder.load(row_taps, tap.index))
                tap.carry = [tap.carry[0] + builder.load(place, index, lanes, mask)]
            builder.store(tap.results[0], sums, index)

        def window_sums(index, mask, _):
            left = n["width_out"] - index
            with builder.loop(0, n["column_taps"], 1, [zero]) as tap:
                near = builder.offset(sums, tap.index)
                tap.carry = [tap.carry[0] + stepped_load(builder, near, index, None, lanes, form.step, mask, left)]
            builder.store(tap.results[0] / builder.load(shares, first + index, lanes), target, first + index, mask)

        builder.for_lanes(0, n["width"], lanes, column_sums)
        builder.for_lanes(0, n["width_out"], lanes, window_sums)


def _pooling(x, window, counting):
    """(Launch, scratch memory of each thread) of a mean pooling of "self", a plain array."""
    kernel, stride, padding, out = window
    count, lanes = len(kernel), lanes_for(x.scalar)
    axes = forward_axes(x.shape[-count:], out, kernel, stride, padding, (1,) * count)
    width = axes[2]
    staging, numbers, area = window_plan(axes, math.prod(x.shape[:-count]), lanes)
    taps, numbers = staging.tap_offsets(), dict(zip(NUMBERS, numbers.tolist()), column_taps=len(width.taps))
    by_lines = staging.in_place and len(taps) > _FEW_TAPS
    if by_lines:
        taps = taps[:: len(width.taps)].copy()  # of rows
        area = numbers["area"] = width.length + 2 * lanes
    counts = divisors(axes, *counting)
    lines = np.ones((*counts.shape[:2], staging.pitch), x.dtype)
    lines[..., : width.out] = counts
    divisor = np.concatenate([lines.reshape(-1), np.ones(lanes, x.dtype)])
    step_class = None if staging.direct else staging.step_class
    form = Form(x.scalar, lanes, step_class, staging.in_place and width.stride, by_lines, staging.pitch == width.out)
    tables = np.array(list(numbers.values()), np.int64), taps, len(taps), *staging.squeezing(lanes)
    arguments = "self", "found", divisor, "planes" if area else None, staging.slabs, *tables
    launch = Launch(mean_pool_program, form, arguments, x.size * NANOSECONDS, "mean_pool")
    return launch, [("planes", area, x.dtype)] if area else []


def _is_whole(lengths, kernel, out, padding):
    """Whether one window covers each plane: a sum over contiguous elements, which NumPy does well."""
    return kernel == lengths and math.prod(out) == 1 and not any(padding)


def _whole_means(source, found, divisor):
    with np.errstate(all="ignore"):
        np.divide(np.add.reduce(source.reshape(found.size, -1), 1), source.dtype.type(divisor), out=found.reshape(-1))


def _whole_shares(grad, found, divisor):
    with np.errstate(all="ignore"):
        np.divide(grad, grad.dtype.type(divisor), out=found)


def _is_pooled(x, size, divisor_override):
    """Whether there are kernels for so many elements."""
    return size and x.scalar in ("f32", "f64") and divisor_override != 0


def _deep_divisor(lengths, window, counting, dtype):
    kernel, stride, padding, out = window
    axes = forward_axes(lengths, out, kernel, stride, padding, (1,) * len(out))
    return divisors(axes, *counting).astype(dtype)


@plan_for("avg_pool")
@in_single_precision()
def avg_pool(self: Layout, kernel, stride, padding, out, count_include_pad, divisor_override):
    """See ``ops.pool_mean.avg_pool``: contiguous or channels_last."""
    window, counting = (kernel, stride, padding, out), (count_include_pad, divisor_override)
    if not _is_pooled(self, self.size, divisor_override):
        return None
    if pooling_deep.takes(self, len(out)):
        plan = pooling_deep.plan_mean(self, _deep_divisor(self.shape[2:], window, counting, self.dtype), *window)
        # as PyTorch gives volumes
        return plan if self.ndim == 4 else plan._replace(given={"found": plan.results["found"].plain()})
    if _is_whole(self.shape[-len(kernel) :], kernel, out, padding):
        launch, own = HostStep(_whole_means, ("self", "found", divisor_override or math.prod(kernel))), []
    else:
        launch, own = _pooling(self, window, counting)
    found = Layout((*self.shape[: -len(out)], *out), self.dtype)
    return Plan([launch], {"found": found}, thread_scratch=own, copied=copies(self=self))


def plan_equal_means(x, out):
    """The Plan of ``ops.pool_adaptive.adaptive_avg_pool`` of "self" where all windows are of one size; else None."""
    kernel = equal_windows(x.shape[-len(out) :], out)
    return kernel and avg_pool.plan(x, kernel, kernel, (0,) * len(out), out, True, None)


# ---------------------------------------------------------------- the gradient

_GRADIENT_NUMBERS = ("planes", "planes_at_once", "volume", "lines", "columns", "tap_count", "step", "width", "area")


def mean_pool_gradient_program(scalar, lanes, step, apart, once):
    """The program ``(grad, found, divisor, scratch, numbers, line_taps, row_places, first_columns, tap_columns,
    column_windows)``.

    For each line of windows (a row of outputs) the taps' rows inside the source are listed: ``line_taps`` counts them
    from the start, ``row_places`` says where each begins. Along the row, tap ``t`` of the windows from
    ``first_columns[t]`` to ``first_columns[taps + t]`` falls inside, from ``tap_columns[t]`` on. What a line gives to
    each column is the same for all its rows. ``step`` is the class of the steps from window to window; ``apart``: those
    of a line share no columns, and ``column_windows`` says in which of them each column lies. ``once``: every row
    belongs to one line.
    """
    arrays = [(name, f"{scalar}*") for name in ("grad", "found", "divisor", "scratch")]
    tables = ("numbers", "line_taps", "row_places", "first_columns", "tap_columns", "column_windows")
    builder = Builder("mean_pool_gradient", [*arrays, *[(name, "i64*") for name in tables]])
    grad, found, divisor, scratch, numbers, line_taps, row_places, *column_tables = builder.parameters
    first_columns, tap_columns, column_windows = column_tables
    n = Numbers(builder, numbers, _GRADIENT_NUMBERS)

    def give(row, sums):
        def piece(index, mask, _):
            value = builder.load(sums, index, lanes, mask)
            builder.store(value if once else builder.load(row, index, lanes, mask) + value, row, index, mask)

        builder.for_lanes(0, n["width"], lanes, piece)

    def one_line(target, flowing, share, ends, sums):
        if apart:
            _share_out(builder, n, lanes, column_windows, flowing, share, sums)
        else:
            _add_up(builder, n, lanes, step, (first_columns, tap_columns), flowing, share, sums)
        with builder.loop(builder.load(ends, 0), builder.load(ends, 1)) as row:
            give(builder.offset(target, builder.load(row_places, row.index)), sums)

    with builder.parallel((n["planes"] + (n["planes_at_once"] - 1)) // n["planes_at_once"]) as chunk:
        first = chunk * n["planes_at_once"]
        sums = builder.offset(scratch, builder.worker() * n["area"])
        with builder.loop(first, builder.minimum(first + n["planes_at_once"], n["planes"])) as plane:
            target = builder.offset(found, plane.index * n["volume"])
            if not once:
                builder.clear(target, n["volume"], lanes)
            with builder.loop(0, n["lines"]) as line:
                flowing = builder.offset(grad, (plane.index * n["lines"] + line.index) * n["columns"])
                share = builder.offset(divisor, line.index * n["columns"])
                one_line(target, flowing, share, builder.offset(line_taps, line.index), sums)
    return Program("mean_pool_gradient", [builder.function])


def _share_out(builder, n, lanes, column_windows, flowing, share, sums):
    """What a line of windows that share no columns gives to each column: the share of the window in which it lies."""
    shares = builder.offset(sums, n["width"] + lanes)

    def window(index, mask, _):
        builder.store(builder.load(flowing, index, lanes, mask) / builder.load(share, index, lanes), shares, index)

    def column(index, mask, _):
        windows = builder.load(column_windows, index, lanes)
        builder.store(builder.gather(shares, windows), sums, index)

    builder.for_lanes(0, n["columns"], lanes, window)
    builder.store(0, shares, n["columns"])  # of columns in no window
    builder.for_lanes(0, n["width"], lanes, column)


def _add_up(builder, n, lanes, step, tables, flowing, share, sums):
    """What a line of windows gives to each column: tap by tap, the shares of the windows that have it there."""
    first_columns, tap_columns = tables
    builder.clear(sums, n["width"], lanes)
    with builder.loop(0, n["tap_count"]) as tap:
        end = builder.load(first_columns, n["tap_count"] + tap.index)
        to = builder.offset(sums, builder.load(tap_columns, tap.index))

        def piece(index, mask, _):
            value = builder.load(flowing, index, lanes, mask) / builder.load(share, index, lanes)
            place = (to, index, n["step"], lanes, step, mask, end - index)
            stepped_store(builder, stepped_load(builder, *place) + value, *place)

        builder.for_lanes(builder.load(first_columns, tap.index), end, lanes, piece)


def _gradient(grad, lengths, window, counting):
    """(Launch, scratch memory of each thread) of the gradient of a mean pooling: of "grad", a plain array."""
    kernel, stride, padding = window
    count, lanes = len(lengths), lanes_for(grad.scalar)
    depth, height, width = axes = forward_axes(lengths, grad.shape[-count:], kernel, stride, padding, (1,) * count)
    counts = divisors(axes, *counting).astype(grad.dtype)
    divisor = np.concatenate([counts.reshape(-1), np.ones(lanes, grad.dtype)])
    places, ends = [], [0]
    for d in range(depth.out):
        for h in range(height.out):
            for i in _inside(depth, d):
                places += [(i * height.length + j) * width.length for j in _inside(height, h)]
            ends.append(len(places))
    taps = np.array(width.taps, np.int64) + width.start
    first = np.maximum(0, -(taps // width.stride))
    end = np.maximum(np.minimum(-(-(width.length - taps) // width.stride), width.out), first)
    apart, windows_of = max(width.taps) < width.stride, np.full(width.length + lanes, width.out, np.int64)
    for tap, *windows in zip(taps, first, end):
        windows = np.arange(*windows)
        windows_of[tap + windows * width.stride] = windows
    planes, volume = math.prod(grad.shape[:-count]), math.prod(lengths)
    at_once = max(1, min(planes // 8, _CHUNK_ELEMENTS // volume))
    area = width.length + width.out + 3 * lanes
    numbers = planes, at_once, volume, depth.out * height.out, width.out, len(taps), width.stride, width.length, area
    once = sorted(places) == [row * width.length for row in range(depth.length * height.length)]
    form = grad.scalar, lanes, step_class(width.stride), apart, once
    tables = numbers, tuple(ends), np.array(places, np.int64), np.concatenate([first, end]), taps, windows_of
    arguments = "grad", "found", divisor, "sums", *tables
    launch = Launch(mean_pool_gradient_program, form, arguments, planes * volume * NANOSECONDS, "mean_pool_gradient")
    return launch, [("sums", area, grad.dtype)]


def _inside(axis, window):
    """The positions under a window that are inside the source."""
    begin = window * axis.stride + axis.start
    return range(max(begin, 0), min(begin + len(axis.taps), axis.length))


@plan_for("avg_pool_gradient")
@in_single_precision()
def avg_pool_gradient(grad: Layout, lengths, kernel, stride, padding, count_include_pad, divisor_override):
    """See ``ops.pool_mean.avg_pool_gradient``: contiguous or channels_last."""
    counting, out = (count_include_pad, divisor_override), grad.shape[-len(lengths) :]
    if not _is_pooled(grad, grad.size * math.prod(lengths), divisor_override):
        return None
    if pooling_deep.takes(grad, len(lengths)):
        window = kernel, stride, padding, out
        divisor = _deep_divisor(lengths, window, counting, grad.dtype)
        return pooling_deep.plan_mean_gradient(grad, lengths, divisor, *window)
    if _is_whole(lengths, kernel, out, padding):
        launch, own = HostStep(_whole_shares, ("grad", "found", divisor_override or math.prod(kernel))), []
    else:
        launch, own = _gradient(grad, lengths, (kernel, stride, padding), counting)
    found = Layout((*grad.shape[: -len(lengths)], *lengths), grad.dtype)
    return Plan([launch], {"found": found}, thread_scratch=own, copied=copies(grad=grad))


def plan_equal_gradient(grad, lengths):
    """The Plan of the gradient of `plan_equal_means`: of "grad"."""
    out = grad.shape[-len(lengths) :]
    kernel = equal_windows(lengths, out)
    return kernel and avg_pool_gradient.plan(grad, lengths, kernel, kernel, (0,) * len(out), True, None)
