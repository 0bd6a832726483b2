"""Mean pooling and its gradient."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .builder import Builder
from .convolution_axes import equal_windows, forward_axes
from .convolution_layouts import is_plain
from .host import host
from .kernel import compiled, pool
from .plans import Plans
from .pooling import NUMBERS, THREADED_ELEMENTS, over_tiles, over_vectors, squeezed, window_plan
from .program import Program
from .routing import kernel_for
from .window_staging import Numbers, stage_function

_plans, _gradient_plans = Plans(), Plans()
_CHUNK_ELEMENTS = 1 << 14


class Form(NamedTuple):
    """What a mean-pooling program is specialised in: elements, lanes, the staging's step class (None for none), how far
    apart the windows are that are read in place, row by row (0: they are not), whether every window is an output."""

    scalar: str
    lanes: int
    step_class: int | None
    step: int
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
    n = Numbers(builder, numbers, NUMBERS)
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

        over_vectors(builder, form, n, begin, rows, vector)

    over_tiles(builder, n, source, scratch, slab_table, numbers, stage, one_plane)
    return Program("mean_pool", [*([] if stage is None else [stage]), builder.function])


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
        self.valid, self.starts = staging.squeezing(lanes)
        counts = divisors(axes, count_include_pad, divisor_override)
        lines = np.ones((*counts.shape[:2], staging.pitch), dtype)
        lines[..., : axes[2].out] = counts
        self.divisor = np.concatenate([lines.reshape(-1), np.ones(lanes, dtype)])
        scalar = "f32" if dtype.itemsize == 4 else "f64"
        step_class = None if staging.direct else staging.step_class
        form = Form(scalar, lanes, step_class, staging.in_place and axes[2].stride, staging.pitch == axes[2].out)
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
    return tuple(kernel) == tuple(lengths) and math.prod(out) == 1 and not any(padding)


@kernel_for("avg_pool")
def avg_pool(self, kernel, stride, padding, out, count_include_pad, divisor_override):
    """See ``ops.pool_mean.avg_pool``: float32 and float64, contiguous."""
    if not is_plain(self) or divisor_override == 0:
        return NotImplemented
    if _is_whole(self.shape[-len(kernel) :], kernel, out, padding):
        lead = self.shape[: -len(kernel)]
        with np.errstate(all="ignore"):
            found = self.reshape(*lead, -1).sum(-1) / self.dtype.type(divisor_override or math.prod(kernel))
        return found.reshape(*lead, *out)
    key = (self.shape, self.dtype, tuple(kernel), tuple(stride), tuple(padding), tuple(out), count_include_pad)
    key += (divisor_override,)
    plan = _plans.remembered(key, MeanPool)
    found = np.empty((*self.shape[: -len(kernel)], *out), self.dtype)
    plan(self, found)
    return found


@kernel_for("adaptive_avg_pool")
def adaptive_avg_pool(self, out):
    """See ``ops.pool_adaptive.adaptive_avg_pool``: where all windows are of one size, float32 and float64, contiguous."""
    kernel = equal_windows(self.shape[-len(out) :], out)
    if kernel is None:
        return NotImplemented
    return avg_pool(self, kernel, kernel, (0,) * len(out), tuple(out), True, None)


# ---------------------------------------------------------------- the gradient

_GRADIENT_NUMBERS = ("planes", "planes_at_once", "volume", "lines", "columns", "tap_count", "step")


def mean_pool_gradient_program(scalar, lanes, contiguous):
    """The program ``(grad, found, divisor, numbers, line_taps, row_places, first_columns, tap_columns)``.

    For each line of windows (a row of outputs) the taps' rows inside the source are listed: ``line_taps`` counts them
    from the start, ``row_places`` says where each begins. Along the row, tap ``t`` of the windows from
    ``first_columns[t]`` to ``first_columns[taps + t]`` falls inside, from ``tap_columns[t]`` on.
    """
    parameters = [("grad", f"{scalar}*"), ("found", f"{scalar}*"), ("divisor", f"{scalar}*"), ("numbers", "i64*")]
    parameters += [(name, "i64*") for name in ("line_taps", "row_places", "first_columns", "tap_columns")]
    builder = Builder("mean_pool_gradient", parameters)
    grad, found, divisor, numbers, line_taps, row_places, first_columns, tap_columns = builder.parameters
    n = Numbers(builder, numbers, _GRADIENT_NUMBERS)
    zero = builder.constant(0, f"{scalar}x{lanes}")
    steps = None if contiguous else builder.iota(f"i64x{lanes}") * builder.splat(n["step"], lanes)

    def one_line(target, flowing, share, ends):
        with builder.loop(builder.load(ends, 0), builder.load(ends, 1)) as row:
            row_target = builder.offset(target, builder.load(row_places, row.index))
            with builder.loop(0, n["tap_count"]) as tap:
                end = builder.load(first_columns, n["tap_count"] + tap.index)
                to = builder.offset(row_target, builder.load(tap_columns, tap.index))

                def piece(index, mask, _):
                    value = builder.load(flowing, index, lanes, mask) / builder.load(share, index, lanes)
                    place = builder.offset(to, index * n["step"])
                    if contiguous:
                        builder.store(builder.load(place, 0, lanes, mask) + value, place, 0, mask)
                    else:
                        builder.scatter(builder.gather(place, steps, mask) + value, place, steps, mask)

                builder.for_lanes(builder.load(first_columns, tap.index), end, lanes, piece)

    with builder.parallel((n["planes"] + (n["planes_at_once"] - 1)) // n["planes_at_once"]) as chunk:
        first = chunk * n["planes_at_once"]
        with builder.loop(first, builder.minimum(first + n["planes_at_once"], n["planes"])) as plane:
            target = builder.offset(found, plane.index * n["volume"])
            builder.for_lanes(0, n["volume"], lanes, lambda i, mask, _: builder.store(zero, target, i, mask))
            with builder.loop(0, n["lines"]) as line:
                flowing = builder.offset(grad, (plane.index * n["lines"] + line.index) * n["columns"])
                share = builder.offset(divisor, line.index * n["columns"])
                one_line(target, flowing, share, builder.offset(line_taps, line.index))
    return Program("mean_pool_gradient", [builder.function])


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
        self.planes, volume = math.prod(shape[:-count]), math.prod(lengths)
        at_once = max(1, min(self.planes // 8, _CHUNK_ELEMENTS // volume))
        numbers = (self.planes, at_once, volume, depth.out * height.out, width.out, len(taps), width.stride)
        self.numbers = np.array(numbers, np.int64)
        form = ("f32" if dtype.itemsize == 4 else "f64", lanes, width.stride == 1)
        self.kernel = compiled(("mean pool gradient", *form), lambda: mean_pool_gradient_program(*form))
        self.run = self.kernel.threaded if self.planes * volume > THREADED_ELEMENTS else self.kernel.alone

    def __call__(self, grad, found):
        self.run(*self.arguments(grad, found))

    def arguments(self, grad, found):
        """What the program takes."""
        tables = (self.line_taps, self.row_places, self.first_columns, self.tap_columns)
        return (grad, found, self.divisor, self.numbers, *tables)


def _inside(axis, window):
    """The positions under a window that are inside the source."""
    begin = window * axis.stride + axis.start
    return range(max(begin, 0), min(begin + len(axis.taps), axis.length))


@kernel_for("avg_pool_gradient")
def avg_pool_gradient(grad, lengths, kernel, stride, padding, count_include_pad, divisor_override):
    """See ``ops.pool_mean.avg_pool_gradient``: float32 and float64, contiguous."""
    if not is_plain(grad) or divisor_override == 0 or 0 in lengths:
        return NotImplemented
    if _is_whole(lengths, kernel, grad.shape[-len(lengths) :], padding):
        found = np.empty((*grad.shape[: -len(lengths)], *lengths), grad.dtype)
        found[...] = grad / grad.dtype.type(divisor_override or math.prod(kernel))
        return found
    key = (grad.shape, grad.dtype, tuple(lengths), tuple(kernel), tuple(stride), tuple(padding), count_include_pad)
    key += (divisor_override,)
    plan = _gradient_plans.remembered(key, MeanPoolGradient)
    found = np.empty((*grad.shape[: -len(lengths)], *lengths), grad.dtype)
    plan(grad, found)
    return found


@kernel_for("adaptive_avg_pool_gradient")
def adaptive_avg_pool_gradient(grad, lengths):
    """See ``ops.pool_adaptive.adaptive_avg_pool_gradient``: where all windows are of one size."""
    out = grad.shape[-len(lengths) :]
    kernel = equal_windows(lengths, out)
    if kernel is None:
        return NotImplemented
    return avg_pool_gradient(grad, lengths, kernel, kernel, (0,) * len(out), True, None)
