"""Resampling by kernels: interpolation, its gradient, and adaptive means whose windows differ, in all dtypes and layouts."""

from __future__ import annotations

import math

import numpy as np

from ...base.arrays import is_channels_last
from ...ops.interpolation import taps_of
from ...ops.pool_adaptive import averages_of
from ..compiler.kernel import compiled, pool
from ..elementwise.layouts import copied, empty, is_deep, plain
from ..language.value_types import NUMPY, scalar_of
from ..machine.host import host
from ..machine.scratch import scratch
from ..planning.plans import Plans
from ..planning.registry import kernel_for
from ..pooling.means import equal_adaptive, equal_adaptive_gradient
from .resampling_programs import DEEP, TURNED, Form, resample_program

_plans = Plans()
_ALONE = 1 << 13  # elements of the result that are computed before another thread has come to help
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


class Pass:
    """Rows, columns or both of ``images`` (height, width, inner) resampled: planned and compiled.

    ``rows`` and ``columns`` are Taps, None where a dimension stays as it is.
    """

    def __init__(self, scalars, weighted, images, lengths, rows, columns, vector_bytes=None):
        stored, computed = scalars
        lanes = (vector_bytes or host().vector_bytes) // NUMPY[computed].itemsize
        if rows is None:
            images, lengths = images * lengths[0], (1, *lengths[1:])
        if columns is None:
            lengths = (lengths[0], 1, lengths[1] * lengths[2])
        (height, width, inner), self.computed = lengths, NUMPY[computed]
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
        self.row_tables = _tables(rows, self.computed) if rows else (None, None, None)
        self.column_tables = _column_tables(columns, kind, inner, lanes, self.computed)
        staged = (width + out_width if kind == TURNED else width) * inner * at_once + lanes
        kept = _most_rows(rows, pieces) * out_width * inner if first else width * inner * at_once
        self.area = -(-(staged + kept + lanes) // lanes) * lanes
        piece_share = max(1, _SHARE * pieces // (out_height * out_width * inner))
        numbers = (images, height, out_height, width, out_width, inner, pieces, piece_share, self.area, row_shift)
        self.numbers = np.array((*numbers, column_shift), np.int64)
        self.kernel = compiled(("resample", *form), lambda: resample_program(form))
        self.run = self.kernel.alone if images * out_height * out_width * inner <= _ALONE else self.kernel.threaded

    def __call__(self, source, found):
        self.run(*self.arguments(source, found))

    def arguments(self, source, found):
        """What the program takes."""
        own = scratch("resample", self.area * pool().scratch_areas, self.computed)
        starts, places, weights = self.row_tables
        column_starts, column_places, column_weights = self.column_tables
        return (source, found, own, weights, column_weights, self.numbers, starts, places, column_starts, column_places)


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


class Resampling:
    """The resampling of one shape's last dimensions by their Taps, planned: passes, one after the other."""

    def __init__(self, shape, dtype, deep, axes):
        weighted = axes[0].weights is not None
        lead, lengths = shape[: -len(axes)], list(shape[-len(axes) :])
        inner = lead[-1] if deep else 1
        images = math.prod(lead) // inner
        self.out_shape = (*lead, *(taps.out for taps in axes))
        axes = [None if taps.is_identity else taps for taps in axes]
        axes, lengths = [None] * (3 - len(axes)) + axes, [1] * (3 - len(axes)) + lengths
        depth, *plane = axes
        in_depth_last = dtype == np.uint8 or (depth is not None and depth.out >= depth.length)
        self.dtype = np.dtype(np.float32) if depth and any(plane) and dtype.itemsize == 2 and weighted else dtype
        self.passes = []
        steps = [(None, *plane), (depth, None, None)]
        for step in steps if in_depth_last else reversed(steps):
            if any(step):
                self._add(weighted, images, inner, lengths, step)

    def _add(self, weighted, images, inner, lengths, step):
        scalars, (depth, rows, columns) = _scalars(self.dtype, weighted), step
        if depth is not None:
            lengths_here = (lengths[0], 1, lengths[1] * lengths[2] * inner)
            step_pass = Pass(scalars, weighted, images, lengths_here, depth, None)
        else:
            step_pass = Pass(scalars, weighted, images * lengths[0], (lengths[1], lengths[2], inner), rows, columns)
        lengths[:] = [n if taps is None else taps.out for n, taps in zip(lengths, step)]
        self.passes.append((step_pass, images * inner * math.prod(lengths)))

    def __call__(self, array):
        """The elements of the result, in the order of ``array``."""
        for each, size in self.passes:
            found = np.empty(size, self.dtype)
            each(array, found)
            array = found
        return array


def _resampled(array, count, key, make_axes):
    """``array`` with its last ``count`` dimensions resampled; ``make_axes()`` gives their Taps, which ``key`` determines."""
    turned = array.ndim == count + 2 and not array.flags.c_contiguous and is_channels_last(array)
    key = (array.shape, array.dtype, turned, *key)
    plan = _plans.get(key)
    if plan is None:
        if not array.size:
            return NotImplemented
        axes = make_axes()
        if any(taps.out == 0 for taps in axes):
            return NotImplemented
        if _scalars(array.dtype, axes[0].weights is not None) is None or math.prod(array.shape) >= 1 << 31:
            return NotImplemented
        plan = _plans[key] = Resampling(array.shape, array.dtype, turned, axes)
    if turned:
        source = np.moveaxis(array if is_deep(array) else copied(array, empty(array.shape, array.dtype, True)), 1, -1)
    else:
        source = plain(array)
    found = plan(source if plan.dtype == array.dtype else plain(source, plan.dtype))
    if found is source:
        found = source.copy()
    lead, lengths = plan.out_shape[:1], plan.out_shape[2:]
    found = found.reshape(*lead, *lengths, plan.out_shape[1]) if turned else found.reshape(plan.out_shape)
    if found.dtype != array.dtype:
        found = copied(found, np.empty(found.shape, array.dtype))
    return np.moveaxis(found, -1, 1) if turned else found


@kernel_for("interpolate_parts")
def interpolate_parts(self, out, scales, mode, align_corners, antialias):
    options = (tuple(out), tuple(scales), mode, align_corners, antialias)
    return _resampled(self, len(out), ("forward", *options), lambda: taps_of(self.shape[2:], *options))


@kernel_for("interpolate_gradient")
def interpolate_gradient(self, lengths, scales, mode, align_corners, antialias):
    options = (self.shape[2:], tuple(scales), mode, align_corners, antialias)
    key = ("gradient", tuple(lengths), *options)
    return _resampled(self, len(lengths), key, lambda: [taps.transposed for taps in taps_of(tuple(lengths), *options)])


@kernel_for("adaptive_avg_pool")
def adaptive_avg_pool(self, out):
    """See ``ops.pool_adaptive.adaptive_avg_pool``."""
    if len(out) == 3:
        self = plain(self)
    found = equal_adaptive(self, out)
    if found is not NotImplemented:
        return found
    return _resampled(self, len(out), ("means", tuple(out)), lambda: averages_of(self.shape[-len(out) :], out))


@kernel_for("adaptive_avg_pool_gradient")
def adaptive_avg_pool_gradient(grad, lengths):
    """See ``ops.pool_adaptive.adaptive_avg_pool_gradient``."""
    found = equal_adaptive_gradient(grad, lengths)
    if found is not NotImplemented:
        return found
    axes = averages_of(lengths, grad.shape[-len(lengths) :])
    return _resampled(grad, len(lengths), ("shares", tuple(lengths)), lambda: [taps.transposed for taps in axes])
