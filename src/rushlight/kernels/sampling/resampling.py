"""Resampling by kernels: interpolation, its gradient, and adaptive means whose windows differ, in all dtypes and layouts."""

from __future__ import annotations

import math

import numpy as np

from ...base.arrays import is_channels_last
from ...ops.interpolation import taps_of
from ...ops.pool_adaptive import averages_of
from ..language.value_types import NUMPY, scalar_of
from ..planning.layout import Layout, copies, deep, lanes_for
from ..planning.plan import HostStep, Launch, Plan
from ..planning.runner import plan_for
from ..pooling import means
from .resampling_programs import DEEP, TURNED, Form, resample_program

_SINGLE = np.dtype(np.float32)
_NANOSECONDS = 0.6  # for an element of the result
_SHARE = 1 << 14  # elements of a chunk
_GATHERED = 4  # taps of an output, at most, that are gathered where rows are too few to be transposed
_DIRECT_TAPS = 4  # of rows times columns, where more take less time one after the other
_COMPUTED = {"f32": "f32", "f64": "f64", "f16": "f32", "bf16": "f32", "u8": "i32"}
_MOVED = {1: ("u8", "u32"), 2: ("u16", "u32"), 4: ("u32", "u32"), 8: ("u64", "u64")}  # an element's size -> scalars


def _scalars(dtype, weighted):
    """In what elements are stored and computed; None without a program for that."""
    if not dtype.isnative:
        return None
    if not weighted:
        return _MOVED.get(dtype.itemsize)
    scalar = scalar_of(dtype)
    return (scalar, _COMPUTED[scalar]) if scalar in _COMPUTED else None


def plan_pass(source, found, scalars, weighted, images, lengths, rows, columns):
    """(Launch, scratch memory of each thread) that resamples rows, columns or both of ``images`` (height, width, inner).

    ``source``, ``found``: the names of arrays. ``rows`` and ``columns`` are Taps, None where a dimension stays as it is.
    """
    stored, computed = scalars
    lanes = lanes_for(computed)
    if rows is None:
        images, lengths = images * lengths[0], (1, *lengths[1:])
    if columns is None:
        lengths = (lengths[0], 1, lengths[1] * lengths[2])
    (height, width, inner), dtype = lengths, NUMPY[computed]
    row_shift = column_shift = 0
    if computed == "i32":
        rows, row_shift = (rows, 0) if rows is None else rows.in_whole_numbers
        columns, column_shift = (columns, 0) if columns is None else columns.in_whole_numbers
    out_height, out_width = rows.out if rows else 1 if columns else height, columns.out if columns else width
    if rows is None:
        images, out_height, height = 1, images, images
    kind, ragged = _kind_of_columns(columns, inner, lanes, rows is None and out_height < lanes // 2)
    direct = _direct_taps(rows, columns) if kind == DEEP and computed != "i32" else None
    first = bool(rows and columns) and direct is None and (computed == "i32" or out_height > height)
    form = Form(stored, computed, lanes, weighted, rows is not None, kind, ragged, direct, first)
    at_once = lanes if kind == TURNED else 1
    share = max(1, min(out_height, max(at_once, _SHARE // (out_width * inner))))
    pieces = -(-out_height // share)
    staged = (width + out_width if kind == TURNED else width) * inner * at_once + lanes
    kept = _most_rows(rows, pieces) * out_width * inner if first else width * inner * at_once
    area = -(-(staged + kept + lanes) // lanes) * lanes
    piece_share = max(1, _SHARE * pieces // (out_height * out_width * inner))
    sizes = images, height, out_height, width, out_width, inner, pieces, piece_share, area, row_shift, column_shift
    starts, places, weights = _tables(rows, dtype) if rows else (None, None, None)
    column_starts, column_places, column_weights = _column_tables(columns, kind, inner, lanes, dtype)
    arguments = source, found, "lines", weights, column_weights, sizes, starts, places, column_starts, column_places
    elements = images * out_height * out_width * inner
    return Launch(resample_program, form, arguments, elements * _NANOSECONDS, "resample"), ("lines", area, dtype)


def _kind_of_columns(columns, inner, lanes, are_few):
    """How columns are resampled, and whether their outputs differ in how many taps they have. ``are_few``: the rows are too
    few to be transposed."""
    if columns is None:
        return None, False
    if inner >= lanes // 2:
        return DEEP, False
    counts = np.diff(columns.starts)
    if columns.weights is not None and not (are_few and counts.max() <= _GATHERED):
        return TURNED, False
    return int(counts.max()), bool(counts.min() < counts.max())


def _direct_taps(rows, columns):
    """How many taps rows and columns have, where they are resampled at once; else None."""
    if rows is None:
        return None
    fewest, most = (tuple(int(f(np.diff(taps.starts))) for taps in (rows, columns)) for f in (np.min, np.max))
    return most if fewest == most and 0 < math.prod(most) <= _DIRECT_TAPS else None


def _tables(taps, computed):
    """Starts, places (one more is read) and weights."""
    weights = np.ones(1) if taps.weights is None else taps.weights
    return taps.starts.astype(np.int64), np.append(taps.places, 0).astype(np.int64), weights.astype(computed)


def _column_tables(columns, kind, inner, lanes, computed):
    """As ``resample_program`` wants them."""
    if kind is None:
        return None, None, None
    if kind in (DEEP, TURNED):
        return _tables(columns, computed)
    places, weights = columns.columns
    whole = np.where(places[..., None] < 0, -1, places[..., None] * inner + np.arange(inner)).reshape(len(places), -1)
    ends = np.zeros(lanes)
    weights = np.concatenate([np.repeat(weights, inner, 1).reshape(-1), ends]).astype(computed)
    return None, np.concatenate([whole.reshape(-1), ends]).astype(np.int32), weights


def _most_rows(rows, pieces):
    """How many source rows one of so many pieces needs, at most."""
    if rows is None:
        return 0
    bounds = np.arange(pieces + 1) * rows.out // pieces
    begin, end = rows.starts[bounds[:-1]], rows.starts[bounds[1:]]
    places = np.append(rows.places, 0)
    return int(np.where(end > begin, places[np.maximum(end - 1, 0)] + 1 - places[begin], 0).max())


def _steps(of_bytes, axes):
    """The axes that are resampled at once, one step after the other: (depth, rows, columns), Taps or None. Depths that grow
    come last; those of bytes, too, which are rounded between the steps."""
    depth, *plane = axes
    in_depth_last = of_bytes or (depth is not None and depth.out >= depth.length)
    steps = [(None, *plane), (depth, None, None)]
    return [step for step in (steps if in_depth_last else reversed(steps)) if any(step)]


def _plan(name, x, count, make_axes):
    """The Plan of the last ``count`` dimensions of an array of that name resampled by their Taps, ``make_axes()``."""
    axes = make_axes() if x.size else []
    if not axes or any(taps.out == 0 for taps in axes) or x.size >= 1 << 31:
        return None
    weighted = axes[0].weights is not None
    if _scalars(x.dtype, weighted) is None:
        return None
    is_deep = x.ndim == count + 2 and not x.is_plain and is_channels_last(x)
    lead, lengths = x.shape[:-count], [1] * (3 - count) + list(x.shape[-count:])
    inner = lead[-1] if is_deep else 1
    images = math.prod(lead) // inner
    out_shape = (*lead, *(taps.out for taps in axes))
    axes = [None] * (3 - count) + [None if taps.is_identity else taps for taps in axes]
    steps, launches, spaces, own = _steps(x.dtype == np.uint8, axes), [], [], []
    between = _SINGLE if len(steps) > 1 and x.dtype.itemsize == 2 and weighted else x.dtype
    source, scalars = name, _scalars(between, weighted)
    for step in steps:
        depth, rows, columns = step
        found = "found" if step is steps[-1] else f"step{len(spaces)}"
        sizes = images * (1 if depth else lengths[0]), (*lengths[1:], inner)
        if depth:
            sizes, rows = (images, (lengths[0], 1, math.prod(lengths[1:]) * inner)), depth
        launch, space = plan_pass(source, found, scalars, weighted, *sizes, rows, columns)
        lengths = [n if taps is None else taps.out for n, taps in zip(lengths, step)]
        if found != "found":
            spaces.append((found, images * inner * math.prod(lengths), between))
        launches.append(launch)
        own.append(space)
        source = found
    lies = deep if is_deep else Layout
    read, result = lies(x.shape, between), lies(out_shape, between)
    given = {} if between == x.dtype else {"found": result.of(x.dtype)}
    copied = {} if read == x or (is_deep and x.is_deep and between == x.dtype) else {name: read}
    launches = launches or [HostStep(np.copyto, ("found", name))]
    return Plan(launches, {"found": result}, spaces, own, copied=copied, given=given)


@plan_for("interpolate_parts")
def interpolate_parts(self: Layout, out, scales, mode, align_corners, antialias):
    options = out, scales, mode, align_corners, antialias
    return _plan("self", self, len(out), lambda: taps_of(self.shape[2:], *options))


@plan_for("interpolate_gradient")
def interpolate_gradient(self: Layout, lengths, scales, mode, align_corners, antialias):
    options = self.shape[2:], scales, mode, align_corners, antialias
    return _plan("self", self, len(lengths), lambda: [taps.transposed for taps in taps_of(lengths, *options)])


@plan_for("adaptive_avg_pool")
def adaptive_avg_pool(self: Layout, out):
    """See ``ops.pool_adaptive.adaptive_avg_pool``; volumes are pooled row by row."""
    count = len(out)
    x = self.plain() if count == 3 else self
    plan = means.plan_equal_means(x, out) or _plan("self", x, count, lambda: averages_of(x.shape[-count:], out))
    return plan if plan is None or x is self else plan._replace(copied={**copies(self=self), **plan.copied})


@plan_for("adaptive_avg_pool_gradient")
def adaptive_avg_pool_gradient(grad: Layout, lengths):
    """See ``ops.pool_adaptive.adaptive_avg_pool_gradient``."""
    count = len(lengths)
    plan = means.plan_equal_gradient(grad, lengths)
    if plan is not None:
        return plan
    return _plan("grad", grad, count, lambda: [t.transposed for t in averages_of(lengths, grad.shape[-count:])])
