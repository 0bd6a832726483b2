"""Mean pooling and its gradient."""

from __future__ import annotations

import functools
import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ..compiler.kernel import compiled, pool
from ..elementwise.half_precision import by_single_precision
from ..elementwise.layouts import plain, turned
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import scalar_of
from ..machine.host import host
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from ..windows.axes import equal_windows, forward_axes
from ..windows.staging import Numbers, stage_function, step_class, stepped_load, stepped_store
from . import deep as pooling_deep
from .maxima import NUMBERS, THREADED_ELEMENTS, over_tiles, over_vectors, squeezed, window_plan

_plans, _gradient_plans = Plans(), Plans()
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


def mean_pool_program(form):
    """The program ``(source, found, divisor, scratch, slab_table, numbers, taps, tap_count, valid, starts)``; the
    divisors lie as the windows of all rows do, ``pitch`` to a row."""
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


class MeanPool:
    """A mean pooling planned and compiled for one shape."""

    def __init__(
        self, shape, dtype, kernel, stride, padding, out, count_include_pad, divisor_override, vector_bytes=None
    ):
        count = len(kernel)
        lanes = (vector_bytes or host().vector_bytes) // dtype.itemsize
        axes = forward_axes(shape[-count:], out, kernel, stride, padding, (1,) * count)
        self.staging, self.numbers, self.area = staging, *_ = window_plan(axes, math.prod(shape[:-count]), lanes)
        self.taps = staging.tap_offsets()
        numbers = dict(zip(NUMBERS, self.numbers.tolist()), column_taps=len(axes[2].taps))
        by_lines = staging.in_place and len(self.taps) > _FEW_TAPS
        if by_lines:
            self.taps = self.taps[:: len(axes[2].taps)].copy()  # of rows
            self.area = numbers["area"] = axes[2].length + 2 * lanes
        self.numbers = np.array(list(numbers.values()), np.int64)
        self.valid, self.starts = staging.squeezing(lanes)
        counts = divisors(axes, count_include_pad, divisor_override)
        lines = np.ones((*counts.shape[:2], staging.pitch), dtype)
        lines[..., : axes[2].out] = counts
        self.divisor = np.concatenate([lines.reshape(-1), np.ones(lanes, dtype)])
        scalar = "f32" if dtype.itemsize == 4 else "f64"
        step_class = None if staging.direct else staging.step_class
        form = Form(
            scalar, lanes, step_class, staging.in_place and axes[2].stride, by_lines, staging.pitch == axes[2].out
        )
        self.kernel = compiled(("mean pool", *form), lambda: mean_pool_program(form))
        self.run = self.kernel.threaded if math.prod(shape) > THREADED_ELEMENTS else self.kernel.alone

    def __call__(self, source, found):
        self.run(*self.arguments(source, found))

    def arguments(self, source, found):
        """What the program takes."""
        scratch = np.empty(pool().scratch_areas * self.area, source.dtype) if self.area else None
        tables = (self.numbers, self.taps, len(self.taps), self.valid, self.starts)
        return (source, found, self.divisor, scratch, self.staging.slabs, *tables)


def _is_whole(lengths, kernel, out, padding):
    """Whether one window covers each plane: a sum over contiguous elements, which NumPy does well."""
    return kernel == lengths and math.prod(out) == 1 and not any(padding)


def _whole_means(source, found, divisor):
    with np.errstate(all="ignore"):
        np.divide(np.add.reduce(source.reshape(found.size, -1), 1), source.dtype.type(divisor), out=found.reshape(-1))


def _whole_shares(grad, found, divisor):
    with np.errstate(all="ignore"):
        found[...] = grad / grad.dtype.type(divisor)


def _is_pooled(dtype, size, divisor_override):
    """Whether there are kernels for so many elements of a dtype."""
    return size and scalar_of(dtype) in ("f32", "f64") and dtype.isnative and divisor_override != 0


@functools.lru_cache(256)
def _deep_divisor(lengths, kernel, stride, padding, out, count_include_pad, divisor_override, dtype):
    axes = forward_axes(lengths, out, kernel, stride, padding, (1,) * len(out))
    return divisors(axes, count_include_pad, divisor_override).astype(dtype)


@kernel_for("avg_pool")
@by_single_precision()
def avg_pool(self, kernel, stride, padding, out, count_include_pad, divisor_override):
    """See ``ops.pool_mean.avg_pool``: contiguous or channels_last."""
    if divisor_override == 0:
        return NotImplemented
    if not self.flags.c_contiguous and pooling_deep.takes(self, len(out)):
        window = tuple(kernel), tuple(stride), tuple(padding), tuple(out)
        divisor = _deep_divisor(self.shape[2:], *window, count_include_pad, divisor_override, self.dtype)
        found = pooling_deep.mean(self, divisor, *window)
        return found if self.ndim == 4 else turned(found, False)  # as PyTorch gives volumes
    key = (self.shape, self.dtype, tuple(kernel), tuple(stride), tuple(padding), tuple(out), count_include_pad)
    key += (divisor_override,)
    prepared = _plans.remembered(key, _prepared_means)
    if prepared is False:
        return NotImplemented
    plan, shape = prepared
    found = np.empty(shape, self.dtype)
    plan(plain(self), found)
    return found


def _prepared_means(shape, dtype, kernel, stride, padding, out, count_include_pad, divisor_override):
    """(what computes means, the result's shape); False where no kernel does."""
    if not _is_pooled(dtype, math.prod(shape), divisor_override):
        return False
    lead, lengths = shape[: -len(kernel)], shape[-len(kernel) :]
    if _is_whole(lengths, kernel, out, padding):
        plan = partial(_whole_means, divisor=divisor_override or math.prod(kernel))
    else:
        plan = MeanPool(shape, dtype, kernel, stride, padding, out, count_include_pad, divisor_override)
    return plan, (*lead, *out)


def equal_adaptive(self, out):
    """``ops.pool_adaptive.adaptive_avg_pool`` where all windows are of one size; else NotImplemented."""
    kernel = equal_windows(self.shape[-len(out) :], out)
    if kernel is None:
        return NotImplemented
    return avg_pool(self, kernel, kernel, (0,) * len(out), tuple(out), True, None)


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


class MeanPoolGradient:
    """The gradient of a mean pooling planned and compiled for one shape."""

    def __init__(
        self, shape, dtype, lengths, kernel, stride, padding, count_include_pad, divisor_override, vector_bytes=None
    ):
        count = len(lengths)
        lanes = (vector_bytes or host().vector_bytes) // dtype.itemsize
        self.axes = axes = forward_axes(lengths, shape[-count:], kernel, stride, padding, (1,) * count)
        depth, height, width = axes
        counts = divisors(axes, count_include_pad, divisor_override).astype(dtype)
        self.divisor = np.concatenate([counts.reshape(-1), np.ones(lanes, dtype)])
        places, ends = [], [0]
        for d in range(depth.out):
            for h in range(height.out):
                for i in _inside(depth, d):
                    places += [(i * height.length + j) * width.length for j in _inside(height, h)]
                ends.append(len(places))
        self.line_taps, self.row_places = np.array(ends, np.int64), np.array(places, np.int64)
        taps = np.array(width.taps, np.int64) + width.start
        first = np.maximum(0, -(taps // width.stride))
        end = np.maximum(np.minimum(-(-(width.length - taps) // width.stride), width.out), first)
        self.first_columns, self.tap_columns = np.concatenate([first, end]), taps
        apart, self.column_windows = max(width.taps) < width.stride, np.full(width.length + lanes, width.out, np.int64)
        for tap, *windows in zip(taps, first, end):
            windows = np.arange(*windows)
            self.column_windows[tap + windows * width.stride] = windows
        self.planes, volume = math.prod(shape[:-count]), math.prod(lengths)
        at_once = max(1, min(self.planes // 8, _CHUNK_ELEMENTS // volume))
        self.area = width.length + width.out + 3 * lanes
        numbers = (self.planes, at_once, volume, depth.out * height.out, width.out, len(taps), width.stride)
        numbers = (*numbers, width.length, self.area)
        self.numbers = np.array(numbers, np.int64)
        form = (
            "f32" if dtype.itemsize == 4 else "f64",
            lanes,
            step_class(width.stride),
            apart,
            sorted(places) == [row * width.length for row in range(depth.length * height.length)],
        )
        self.kernel = compiled(("mean pool gradient", *form), lambda: mean_pool_gradient_program(*form))
        self.run = self.kernel.threaded if self.planes * volume > THREADED_ELEMENTS else self.kernel.alone

    def __call__(self, grad, found):
        self.run(*self.arguments(grad, found))

    def arguments(self, grad, found):
        """What the program takes."""
        tables = (self.line_taps, self.row_places, self.first_columns, self.tap_columns, self.column_windows)
        scratch = np.empty(pool().scratch_areas * self.area, grad.dtype)
        return (grad, found, self.divisor, scratch, self.numbers, *tables)


def _inside(axis, window):
    """The positions under a window that are inside the source."""
    begin = window * axis.stride + axis.start
    return range(max(begin, 0), min(begin + len(axis.taps), axis.length))


@kernel_for("avg_pool_gradient")
@by_single_precision()
def avg_pool_gradient(grad, lengths, kernel, stride, padding, count_include_pad, divisor_override):
    """See ``ops.pool_mean.avg_pool_gradient``: contiguous or channels_last."""
    if divisor_override == 0 or 0 in lengths:
        return NotImplemented
    if not grad.flags.c_contiguous and pooling_deep.takes(grad, len(lengths)):
        window = tuple(kernel), tuple(stride), tuple(padding), grad.shape[2:]
        divisor = _deep_divisor(tuple(lengths), *window, count_include_pad, divisor_override, grad.dtype)
        return pooling_deep.mean_gradient(grad, lengths, divisor, *window)
    key = (grad.shape, grad.dtype, tuple(lengths), tuple(kernel), tuple(stride), tuple(padding), count_include_pad)
    key += (divisor_override,)
    prepared = _gradient_plans.remembered(key, _prepared_gradient)
    if prepared is False:
        return NotImplemented
    plan, shape = prepared
    found = np.empty(shape, grad.dtype)
    plan(plain(grad), found)
    return found


def _prepared_gradient(shape, dtype, lengths, kernel, stride, padding, count_include_pad, divisor_override):
    """(what computes gradients of means, the result's shape); False where no kernel does."""
    if not _is_pooled(dtype, math.prod(shape) * math.prod(lengths), divisor_override):
        return False
    lead, out = shape[: -len(lengths)], shape[-len(lengths) :]
    if _is_whole(lengths, kernel, out, padding):
        plan = partial(_whole_shares, divisor=divisor_override or math.prod(kernel))
    else:
        plan = MeanPoolGradient(shape, dtype, lengths, kernel, stride, padding, count_include_pad, divisor_override)
    return plan, (*lead, *lengths)


def equal_adaptive_gradient(grad, lengths):
    """The gradient of `equal_adaptive`."""
    out = grad.shape[-len(lengths) :]
    kernel = equal_windows(lengths, out)
    if kernel is None:
        return NotImplemented
    return avg_pool_gradient(grad, lengths, kernel, kernel, (0,) * len(out), True, None)
