"""The functional transforms of uint8 arrays (HxW or HxWxC): Pillow's arithmetic in NumPy, equal to it to the last bit.

The functions also take a batch (NxHxW or NxHxWxC) where `rows` names the axis that holds the image's rows.
"""

from __future__ import annotations

import math

import numpy as np

from .array_warp import fill_color
from .interpolation import InterpolationMode

PRECISION = 22  # bits behind the point of Pillow's resampling weights
LUMA = (19595, 38470, 7471)  # ITU-R 601-2 in 1/65536


def get_dimensions(image):
    """``[channels, height, width]``."""
    return [1 if image.ndim == 2 else image.shape[2], image.shape[0], image.shape[1]]


def hflip(image):
    """Mirror left to right."""
    return image[:, ::-1]


def vflip(image):
    """Mirror top to bottom."""
    return image[::-1]


def crop(image, top, left, height, width, rows=0):
    """The box at (`top`, `left`); what lies outside the image is black."""
    tall, wide = image.shape[rows : rows + 2]
    before = max(-top, 0), max(-left, 0)
    after = max(top + height - tall, 0), max(left + width - wide, 0)
    if any(before) or any(after):
        border = before[1], before[0], after[1], after[0]
        image = pad(image, border, 0, "constant", rows)
        top, left = top + before[0], left + before[1]
    lead = (slice(None),) * rows
    return image[(*lead, slice(top, top + height), slice(left, left + width))]


def pad(image, border, fill, mode, rows=0):
    """`border` is (left, top, right, bottom); negative numbers crop."""
    left, top, right, bottom = border
    lead = (slice(None),) * rows
    tall, wide = image.shape[rows : rows + 2]
    image = image[(*lead, slice(max(-top, 0), tall + min(bottom, 0)), slice(max(-left, 0), wide + min(right, 0)))]
    widths = [(0, 0)] * image.ndim
    widths[rows], widths[rows + 1] = (max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0))
    if mode != "constant":
        return np.pad(image, widths, mode=mode)
    tall, wide = image.shape[rows : rows + 2]
    shape = [before + length + after for length, (before, after) in zip(image.shape, widths)]
    padded = np.empty(shape, image.dtype)
    padded[...] = fill_color(fill, image, rows)
    inside = (*lead, slice(widths[rows][0], widths[rows][0] + tall))
    padded[(*inside, slice(widths[rows + 1][0], widths[rows + 1][0] + wide))] = image
    return padded


def to_grayscale(image, channels, rows=0):
    """ITU-R 601-2 luma of the last axis, as one channel (no axis for it) or repeated in three."""
    coloured = image.ndim > rows + 2
    if coloured and image.shape[-1] == 3:
        red, green, blue = (image[..., channel].astype(np.uint32) for channel in range(3))
        image = ((red * LUMA[0] + green * LUMA[1] + blue * LUMA[2] + 0x8000) >> 16).astype(np.uint8)
    elif coloured:
        image = image[..., 0]
    return image if channels == 1 else np.repeat(image[..., None], 3, axis=-1)


def resize(image, size, interpolation, antialias=True, rows=0):
    """To `size` (height, width), smoothed when it shrinks: first along the rows, then down the columns, as Pillow."""
    if interpolation in (InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT):
        down, across = nearest_positions(image.shape[rows], size[0]), nearest_positions(image.shape[rows + 1], size[1])
        return image.take(down, axis=rows).take(across, axis=rows + 1)
    if size[1] != image.shape[rows + 1]:
        image = resample(image, rows + 1, size[1], interpolation)
    if size[0] != image.shape[rows]:
        image = resample(image, rows, size[0], interpolation)
    return image


def nearest_positions(old, new):
    """Which of `old` pixels each of `new` shows. Pillow adds up the step, so rounding errors are part of the answer."""
    step = old / new
    steps = np.full(new, step)
    steps[0] = step * 0.5
    return np.minimum(np.add.accumulate(steps).astype(np.intp), old - 1)


def resample(image, axis, length, interpolation):
    """`image` with `axis` resampled to `length`, in Pillow's fixed-point arithmetic (exact in float64)."""
    weights = resampling_weights(image.shape[axis], length, interpolation)
    moved = np.moveaxis(image, axis, -1).astype(np.float64)
    rounded = np.floor((moved @ weights.T + (1 << (PRECISION - 1))) / (1 << PRECISION))
    return np.moveaxis(np.clip(rounded, 0, 255).astype(np.uint8), -1, axis)


def resampling_weights(old, new, interpolation):
    """The `new` x `old` matrix of Pillow's integer weights, as float64."""
    kernel, reach = KERNELS[interpolation]
    scale = old / new
    stretch = max(scale, 1.0)
    support = reach * stretch
    weights = np.zeros((new, old))
    for row in range(new):
        center = (row + 0.5) * scale
        first, last = max(int(center - support + 0.5), 0), min(int(center + support + 0.5), old)
        taps = [kernel((column - center + 0.5) * (1.0 / stretch)) for column in range(first, last)]
        total = sum(taps)
        for column, tap in enumerate(taps, first):
            share = (tap / total if total else tap) * (1 << PRECISION)
            weights[row, column] = int(share - 0.5) if share < 0 else int(share + 0.5)
    return weights


def _box(x):
    return 1.0 if -0.5 < x <= 0.5 else 0.0


def _bilinear(x):
    return max(1.0 - abs(x), 0.0)


def _hamming(x):
    x = abs(x)
    if x == 0.0:
        return 1.0
    x *= math.pi
    return math.sin(x) / x * (0.54 + 0.46 * math.cos(x)) if x < math.pi else 0.0


def _bicubic(x, a=-0.5):
    x = abs(x)
    if x < 1.0:
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1
    return (((x - 5) * x + 8) * x - 4) * a if x < 2.0 else 0.0


def _sinc(x):
    return math.sin(x * math.pi) / (x * math.pi) if x else 1.0


def _lanczos(x):
    return _sinc(x) * _sinc(x / 3) if -3.0 <= x < 3.0 else 0.0


KERNELS = {
    InterpolationMode.BOX: (_box, 0.5),
    InterpolationMode.BILINEAR: (_bilinear, 1.0),
    InterpolationMode.HAMMING: (_hamming, 1.0),
    InterpolationMode.BICUBIC: (_bicubic, 2.0),
    InterpolationMode.LANCZOS: (_lanczos, 3.0),
}
