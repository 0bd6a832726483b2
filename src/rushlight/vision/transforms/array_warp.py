"""Affine maps and rotations of uint8 arrays: Pillow's walk over the source in NumPy, equal to it to the last bit."""

from __future__ import annotations

import math

import numpy as np

from rushlight.base.errors import hinted

from .interpolation import InterpolationMode


def fill_color(fill, image, rows=0):
    """`fill` (None, a number, one number a channel) as something that broadcasts over `image`; black for None."""
    channels = 1 if image.ndim == rows + 2 else image.shape[-1]
    if isinstance(fill, list | tuple):
        if len(fill) not in (1, channels):
            raise ValueError(
                "The number of elements in 'fill' does not match the number of channels of the image "
                f"({len(fill)} != {channels})"
            )
        fill = fill[0] if len(fill) == 1 or image.ndim == rows + 2 else np.array([int(part) for part in fill], np.uint8)
    return fill if isinstance(fill, np.ndarray) else int(fill or 0)


def affine(image, matrix, interpolation, fill):
    """`matrix` maps a pixel of the result to the pixel of `image` that it shows: ``[a, b, c, d, e, f]``."""
    return warp(image, matrix, image.shape[:2], interpolation, fill)


def rotate(image, angle, interpolation, expand, center, fill):
    """Counter-clockwise by `angle` degrees about `center` (x, y); quarter turns about the middle move whole pixels."""
    height, width = image.shape[:2]
    angle %= 360.0
    if not center and (angle in (0.0, 180.0) or (angle in (90.0, 270.0) and (expand or height == width))):
        return np.rot90(image, int(angle // 90)).copy()
    turn = -math.radians(angle)
    cosine, sine = round(math.cos(turn), 15), round(math.sin(turn), 15)
    x, y = center or (width / 2, height / 2)
    matrix = [cosine, sine, 0.0, round(-math.sin(turn), 15), cosine, 0.0]
    matrix[2], matrix[5] = (part + middle for part, middle in zip(apply(matrix, -x, -y), (x, y)))
    if expand:
        corners = [apply(matrix, *corner) for corner in ((0, 0), (width, 0), (width, height), (0, height))]
        xs, ys = zip(*corners)
        wide, tall = (math.ceil(max(part)) - math.floor(min(part)) for part in (xs, ys))
        matrix[2], matrix[5] = apply(matrix, -(wide - width) / 2.0, -(tall - height) / 2.0)
        width, height = wide, tall
    return warp(image, matrix, (height, width), interpolation, fill)


def apply(matrix, x, y):
    """The point that `matrix` sends (`x`, `y`) to; `x` and `y` may be arrays."""
    a, b, c, d, e, f = matrix
    return a * x + b * y + c, d * x + e * y + f


def warp(image, matrix, size, interpolation, fill):
    """A result of `size` (height, width) that shows the pixels of `image` that `matrix` leads to, `fill` elsewhere."""
    result = np.empty((*size, *image.shape[2:]), image.dtype)
    result[...] = fill_color(fill, image)
    if interpolation is InterpolationMode.BILINEAR:
        return warp_bilinear(image, matrix, result)
    if interpolation is not InterpolationMode.NEAREST:
        raise ValueError(
            hinted(f"{interpolation} is not supported for arrays", "pass a PIL image, or use NEAREST or BILINEAR")
        )
    columns, rows = source_positions(matrix, *size)
    inside = (columns >= 0) & (columns < image.shape[1]) & (rows >= 0) & (rows < image.shape[0])
    result[inside] = image[rows[inside], columns[inside]]
    return result


def source_positions(matrix, height, width):
    """Source columns and rows of every pixel of a height x width result, negative where they lie outside.

    A map without rotation adds up float steps, one with rotation steps in 16.16 fixed point, as Pillow does.
    """
    a, b, c, d, e, f = matrix
    if b == 0 and d == 0:
        axes = []
        for start, step, length in ((c, a, width), (f, e, height)):
            steps = np.full(length, float(step))
            steps[0] = start + step * 0.5
            place = np.add.accumulate(steps)
            axes.append(np.where(place < 0, -1, np.trunc(place)).astype(np.int64))
        return np.broadcast_to(axes[0][None, :], (height, width)), np.broadcast_to(axes[1][:, None], (height, width))
    a, b, c, d, e, f = (
        math.floor(part * 65536.0 + 0.5) for part in (a, b, c + a * 0.5 + b * 0.5, d, e, f + d * 0.5 + e * 0.5)
    )
    x, y = np.arange(width)[None, :], np.arange(height)[:, None]
    return (c + a * x + b * y) >> 16, (f + d * x + e * y) >> 16


def warp_bilinear(image, matrix, result):
    """Fill `result` with the weighted mean of the four source pixels around each place, cut to an integer."""
    tall, wide = image.shape[:2]
    x, y = np.arange(result.shape[1])[None, :] + 0.5, np.arange(result.shape[0])[:, None] + 0.5
    columns, rows = apply(matrix, x, y)
    inside = (columns >= 0) & (columns < wide) & (rows >= 0) & (rows < tall)
    columns, rows = columns[inside] - 0.5, rows[inside] - 0.5
    left, top = np.floor(columns).astype(np.intp), np.floor(rows).astype(np.intp)
    lead = (slice(None),) + (None,) * (image.ndim - 2)
    across, down = (columns - left)[lead], (rows - top)[lead]
    pixels = image.astype(np.float64)
    lines = []
    for row in (top, top + 1):
        row = np.clip(row, 0, tall - 1)
        first, second = pixels[row, np.clip(left, 0, wide - 1)], pixels[row, np.clip(left + 1, 0, wide - 1)]
        lines.append(first + (second - first) * across)
    result[inside] = (lines[0] + (lines[1] - lines[0]) * down).astype(np.uint8)
    return result
