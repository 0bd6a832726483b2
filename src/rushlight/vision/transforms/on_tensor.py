"""The functional transforms of tensor images (..., C, H, W) that move pixels: flips, crops, pads, resizes and warps."""

from __future__ import annotations

import numpy as np

from rushlight.nn import functional as nn_functional
from rushlight.ops.table import functions

from .tensor_casting import through_float


def get_dimensions(image):
    """``[channels, height, width]``; an HxW tensor has one channel."""
    check_image(image)
    return [1 if image.ndim == 2 else image.shape[-3], image.shape[-2], image.shape[-1]]


def check_image(image):
    """Raise ``TypeError`` for a tensor of fewer than two dimensions."""
    if image.ndim < 2:
        raise TypeError("Tensor is not a torch image.")


def hflip(image):
    """Mirror left to right."""
    check_image(image)
    return image.flip(-1)


def vflip(image):
    """Mirror top to bottom."""
    check_image(image)
    return image.flip(-2)


def crop(image, top, left, height, width):
    """The box at (`top`, `left`); what lies outside the image is zero."""
    check_image(image)
    box = image[..., max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
    before = min(max(-left, 0), width), min(max(-top, 0), height)
    after = width - before[0] - box.shape[-1], height - before[1] - box.shape[-2]
    if any(before) or any(after):
        return nn_functional.pad(box, [before[0], after[0], before[1], after[1]])
    return box


def pad(image, border, fill, mode):
    """`border` is (left, top, right, bottom); negative numbers crop."""
    left, top, right, bottom = border
    if isinstance(fill, list | tuple):
        if len(set(fill)) > 1:
            raise ValueError(
                "Fill value for tensor images must be one number\nhint: pad each channel by itself and stack"
            )
        fill = fill[0]
    if mode == "symmetric":
        return pad_symmetric(image, border)
    if mode == "constant":
        fill = fill or 0
        fill = float(fill) if image.is_floating_point() else int(fill)
        return nn_functional.pad(image, [left, right, top, bottom], mode="constant", value=fill)
    mode = "replicate" if mode == "edge" else mode
    return through_float(image, lambda batch: nn_functional.pad(batch, [left, right, top, bottom], mode=mode))


def pad_symmetric(image, border):
    """Mirror the edges, the edge pixel included; negative numbers crop."""
    left, top, right, bottom = border
    _, tall, wide = get_dimensions(image)
    rows, columns = mirrored(tall, top, bottom), mirrored(wide, left, right)
    return image.index_select(-2, index(rows)).index_select(-1, index(columns))


def mirrored(length, before, after):
    """The positions -`before` ... `length` + `after` - 1, folded back over the edges."""
    return [
        place if 0 <= place < length else (-place - 1 if place < 0 else 2 * length - place - 1)
        for place in range(-before, length + after)
    ]


def index(positions):
    """A list of positions as an int64 tensor."""
    return functions.from_numpy(np.array(positions, dtype=np.int64))


def resize(image, size, interpolation, antialias=True):
    """To `size` (height, width), smoothed when it shrinks if `antialias` (bilinear and bicubic only)."""
    check_image(image)
    if image.shape[-2:] == tuple(size):
        return image
    mode = interpolation.value
    smooth = mode in ("bilinear", "bicubic")
    options = {"align_corners": False, "antialias": bool(antialias)} if smooth else {}
    if mode not in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        raise ValueError("This interpolation mode is unsupported with Tensor input")
    return through_float(
        image,
        lambda batch: nn_functional.interpolate(batch, size=list(size), mode=mode, **options),
        clamp=mode == "bicubic",
    )


def affine(image, matrix, interpolation, fill):
    """`matrix` maps places of the result to places of `image`, both measured from the middle: six numbers."""
    height, width = image.shape[-2:]
    return sample(image, affine_grid(matrix, (height, width), (height, width)), interpolation, fill)


def rotate(image, matrix, interpolation, expand, fill):
    """As `affine`, in a result that holds the whole turned image when `expand` is true."""
    height, width = image.shape[-2:]
    size = expanded_size(matrix, height, width) if expand else (height, width)
    return sample(image, affine_grid(matrix, (height, width), size), interpolation, fill)


def affine_grid(matrix, size, new_size):
    """The 1xHxWx2 grid for ``grid_sample``: where in an image of `size` each pixel of one of `new_size` looks."""
    height, width = size
    x, y = centered(new_size[1]), centered(new_size[0])
    points = np.stack([*np.broadcast_arrays(x[None, :], y[:, None]), np.ones(new_size, np.float32)], -1)
    scale = np.array([0.5 * width, 0.5 * height], np.float32)
    weights = np.array(matrix, np.float32).reshape(2, 3).T / scale
    return functions.from_numpy((points.reshape(-1, 3) @ weights).reshape(1, *new_size, 2))


def centered(length):
    """The centres of `length` pixels, measured from the middle of their row."""
    return np.arange(length, dtype=np.float32) + np.float32(0.5 - length * 0.5)


def expanded_size(matrix, height, width):
    """(height, width) of the smallest result that holds a whole image turned by `matrix`."""
    corners = np.array([(x * width, y * height, 1.0) for x in (-0.5, 0.5) for y in (-0.5, 0.5)], np.float32)
    points = corners @ np.array(matrix, np.float32).reshape(2, 3).T + np.array([width * 0.5, height * 0.5], np.float32)
    tolerance = 1e-4  # a corner that rounding pushed over a pixel's edge does not add a pixel
    low, high = points.min(0), points.max(0)
    high = np.ceil(np.trunc(high / tolerance) * tolerance)
    low = np.floor(np.trunc(low / tolerance) * tolerance)
    wide, tall = (high - low).astype(int).tolist()
    return tall, wide


def perspective(image, coefficients, interpolation, fill):
    """`coefficients` are the eight numbers of the projective map from the result to `image`."""
    height, width = image.shape[-2:]
    a, b, c, d, e, f, g, h = np.array(coefficients, np.float32)
    x = np.arange(width, dtype=np.float32)[None, :] + np.float32(0.5)
    y = np.arange(height, dtype=np.float32)[:, None] + np.float32(0.5)
    below = g * x + h * y + 1
    across = (a * x + b * y + c) / np.float32(0.5 * width) / below - 1
    down = (d * x + e * y + f) / np.float32(0.5 * height) / below - 1
    return sample(image, functions.from_numpy(np.stack([across, down], -1)[None]), interpolation, fill)


def sample(image, grid, interpolation, fill):
    """`image` read at `grid`; `fill` (None, a number, one number a channel) where the grid leaves it."""
    mode = interpolation.value
    if mode not in ("nearest", "bilinear"):
        raise ValueError(f"Interpolation mode '{mode}' is unsupported with Tensor input")

    def read(batch):
        places = grid.to(batch.dtype).expand(batch.shape[0], -1, -1, -1)
        if fill is None:
            return nn_functional.grid_sample(batch, places, mode=mode, padding_mode="zeros", align_corners=False)
        covered = functions.cat([batch, functions.ones_like(batch[:, :1])], 1)
        covered = nn_functional.grid_sample(covered, places, mode=mode, padding_mode="zeros", align_corners=False)
        result, mask = covered[:, :-1], covered[:, -1:]
        levels = [float(part) for part in fill] if isinstance(fill, list | tuple) else [float(fill)]
        if len(levels) not in (1, batch.shape[1]):
            raise ValueError(
                "The number of elements in 'fill' cannot broadcast to match the number of channels of the image "
                f"({len(levels)} != {batch.shape[1]})"
            )
        color = functions.from_numpy(np.array(levels)).to(batch.dtype).view(1, -1, 1, 1)
        return functions.where(mask < 0.5, color, result) if mode == "nearest" else result * mask + (1.0 - mask) * color

    return through_float(image, read)
