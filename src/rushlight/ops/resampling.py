"""Resampling along one dimension: each output is a weighted sum of a few elements, its taps.

Interpolation, its gradient and means of windows of different lengths are such sums, one dimension after the other.
"""

from __future__ import annotations

import functools

import numpy as np

from .table import is_half

_HALF_WIDTHS = {"linear": 1.0, "cubic": 2.0, "lanczos": 3.0}
_BYTE_BITS = 15  # of the whole-number weights of uint8 images


class Taps:
    """The sums along one dimension of ``length`` elements.

    Output ``i`` is the sum of ``weights[t] * source[places[t]]`` for t from ``starts[i]`` to ``starts[i + 1]``. Where
    ``weights`` is None each output has one tap, which it copies.
    """

    def __init__(self, length, starts, places, weights):
        self.length, self.starts, self.places, self.weights = length, starts, places, weights
        self.out = len(starts) - 1

    @functools.cached_property
    def is_identity(self):
        """Whether the outputs are the elements."""
        if self.length != self.out:
            return False
        given = slice(None) if self.weights is None else self.weights != 0
        rows, ones = self.rows[given], self.weights is None or (self.weights[given] == 1).all()
        return bool(ones and np.array_equal(rows, np.arange(self.out)) and np.array_equal(rows, self.places[given]))

    @property
    def rows(self):
        """The output that each tap belongs to."""
        return np.repeat(np.arange(self.out), np.diff(self.starts))

    @functools.cached_property
    def transposed(self):
        """The taps of the gradient: what each element has given to the outputs."""
        order = np.argsort(self.places, kind="stable")
        weights = np.ones(len(order)) if self.weights is None else self.weights[order]
        counts = np.bincount(self.places, minlength=self.length)
        return Taps(self.out, _starts(counts), self.rows[order], weights)

    @functools.cached_property
    def columns(self):
        """``(places, weights)``: the first tap of each output, the second ones, ...; where there is none the place is -1."""
        counts = np.diff(self.starts)
        most = int(counts.max(initial=1))
        within = np.arange(len(self.places)) - np.repeat(self.starts[:-1], counts)
        places, weights = np.full((most, self.out), -1), np.zeros((most, self.out))
        places[within, self.rows] = self.places
        weights[within, self.rows] = 1 if self.weights is None else self.weights
        return places, weights

    @functools.cached_property
    def in_whole_numbers(self):
        """``(taps, bits)``: the taps of uint8 images, with weights rounded to multiples of ``1 / 2**bits``."""
        keys, inverse = np.unique(self.rows * self.length + self.places, return_inverse=True)
        weights = np.bincount(inverse, self.weights)  # of taps at one place together
        bits = 0
        while bits < 21 and int(0.5 + weights.max() * (1 << (bits + 1))) < 1 << _BYTE_BITS:
            bits += 1
        weights = np.trunc(weights * (1 << bits) + np.where(weights < 0, -0.5, 0.5))
        counts = np.bincount(keys // self.length, minlength=self.out)
        return Taps(self.length, _starts(counts), keys % self.length, weights), bits


def _starts(counts):
    return np.concatenate([[0], np.cumsum(counts)])


def _even(length, places, weights):
    """Taps where each output has as many: arrays of (outputs, taps)."""
    return Taps(length, np.arange(len(places) + 1) * places.shape[1], places.reshape(-1), weights.reshape(-1))


# ---------------------------------------------------------------- the taps of each mode


@functools.lru_cache(256)
def interpolation_taps(length, out, scale, mode, align_corners, antialias):
    """The taps of `interpolate` along one dimension."""
    if mode.startswith("nearest"):
        return Taps(length, np.arange(out + 1), _nearest_places(length, out, scale, mode == "nearest-exact"), None)
    kernel = {"bicubic": "cubic", "lanczos": "lanczos"}.get(mode, "linear")
    step = _source_step(length, out, scale, align_corners)
    if antialias:
        return _antialiased_taps(length, out, step, kernel)
    centre = np.arange(out) * step if align_corners else (np.arange(out) + 0.5) * step - 0.5
    if kernel == "linear":
        centre = np.maximum(centre, 0)
        below = np.minimum(centre.astype(np.int64), length - 1)
        weight = np.clip(centre - below, 0, 1)
        places = np.stack([below, np.minimum(below + 1, length - 1)], 1)
        return _even(length, places, np.stack([1 - weight, weight], 1))
    offsets = np.arange(-1, 3)
    below = np.floor(centre)[:, None]
    places = np.clip(below.astype(np.int64) + offsets, 0, length - 1)
    return _even(length, places, _cubic(np.abs(centre[:, None] - below - offsets), -0.75))


@functools.lru_cache(256)
def averaging_taps(length, out):
    """The taps of means over windows that together cover the dimension."""
    begin, end = np.arange(out) * length // out, -(-(np.arange(out) + 1) * length // out)
    return _ranges(length, begin, end - begin, np.repeat(1 / np.maximum(end - begin, 1), end - begin))


def _ranges(length, begin, counts, weights):
    """Taps at so many places in a row from each ``begin`` on."""
    starts = _starts(counts)
    return Taps(length, starts, np.arange(len(weights)) - np.repeat(starts[:-1] - begin, counts), weights)


def _source_step(length, out, scale, align_corners):
    """How far apart the outputs lie in the input."""
    if align_corners:
        return (length - 1) / (out - 1) if out > 1 else 0.0
    return 1 / scale if scale else length / out


def _nearest_places(length, out, scale, exact):
    """Which element each output copies; PyTorch computes it in float32, and ties fall as they do there."""
    step = np.float32(1 / scale) if scale else np.float32(length) / np.float32(out)
    places = (np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0)) * step
    return np.minimum(np.floor(places).astype(np.int64), length - 1)


def _cubic(x, a):
    """Keys' cubic kernel at distances ``x`` (1981)."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _kernel_at(kernel, x):
    """The antialiasing kernels at distances ``x``."""
    if kernel == "linear":
        return np.clip(1 - x, 0, None)
    if kernel == "cubic":
        return _cubic(x, -0.5)
    return np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)


def _antialiased_taps(length, out, step, kernel):
    """A kernel widened to the step, so that shrinking averages instead of skipping."""
    support = _HALF_WIDTHS[kernel] * max(step, 1.0)
    centre = step * (np.arange(out) + 0.5)
    begin = np.maximum((centre - support + 0.5).astype(np.int64), 0)
    counts = np.minimum((centre + support + 0.5).astype(np.int64), length) - begin
    taps = _ranges(length, begin, counts, np.zeros(counts.sum()))
    weights = _kernel_at(kernel, np.abs((taps.places - centre[taps.rows] + 0.5) / max(step, 1.0)))
    taps.weights = weights / np.bincount(taps.rows, weights)[taps.rows]
    return taps


# ---------------------------------------------------------------- with NumPy


def resample(array, axes):
    """``array`` with each of its last dimensions resampled by its Taps."""
    if array.dtype == np.uint8 and any(taps.weights is not None for taps in axes):
        return _resampled_bytes(array, axes)
    wide = np.float32 if is_half(array.dtype) or array.dtype.kind in "ib" else array.dtype
    found = array
    for axis, taps in enumerate(axes, array.ndim - len(axes)):
        if not taps.is_identity:
            found = _along(found if taps.weights is None else found.astype(wide, copy=False), axis, taps)
    if array.dtype.kind == "i" and found.dtype != array.dtype:
        info = np.iinfo(array.dtype)
        found = np.clip(np.rint(found), info.min, info.max)
    return _own(found, array)


def _along(array, axis, taps):
    if taps.weights is None:
        return np.take(array, taps.places, axis)
    shape = (*array.shape[:axis], taps.out, *array.shape[axis + 1 :])
    spread = (-1,) + (1,) * (array.ndim - 1 - axis)
    found = np.zeros(shape, array.dtype)
    for places, weights in zip(*taps.columns):
        given = slice(None) if places.min(initial=0) >= 0 else np.nonzero(places >= 0)[0]
        part = np.take(array, places[given], axis)
        part *= weights[given].astype(array.dtype).reshape(spread)
        found[(slice(None),) * axis + (given,)] += part
    return found


def _resampled_bytes(array, axes):
    """uint8 images: weights are whole numbers, and there are bytes again after each dimension, from the last to the first."""
    found = array
    for axis, taps in zip(range(array.ndim - 1, -1, -1), reversed(axes)):
        if not taps.is_identity:
            whole, bits = taps.in_whole_numbers
            total = _along(found.astype(np.float64), axis, whole) + (1 << bits >> 1)
            found = np.clip(np.floor(total / (1 << bits)), 0, 255).astype(np.uint8)
    return _own(found, array)


def _own(found, array):
    """The result in the dtype of ``array``, row by row, in memory of its own."""
    return array.copy() if found is array else np.asarray(found, array.dtype, order="C")
