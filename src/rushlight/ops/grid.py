"""Sampling of images at the points of a grid, and grids of affine maps."""

import itertools
import warnings

import numpy as np

from .table import composite, functions, op


@composite(names=("nn.functional",))
def affine_grid(theta, size, align_corners=None):
    """The sampling grid of affine maps ``theta`` (N, 2, 3) or (N, 3, 4) for images of ``size``."""
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{tuple(size)}."
        )
    count = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (count, count + 1):
        raise ValueError(
            f"Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1} for size {tuple(size)}. Got "
            f"{theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    align = _aligned(align_corners)
    if align and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is not "
            "an intended use case of affine_grid. See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    return functions.affine_points(theta, tuple(size), align)


def _base_points(size, align, kind):
    """The points of the grid that the identity map gives, each with a 1 behind: (1, points, dimensions + 1)."""
    lines = []
    for length in size[2:]:
        line = np.linspace(-1, 1, length, dtype=kind) if length > 1 else np.zeros(1, kind)
        lines.append(line if align else line * kind.type((length - 1) / length))
    mesh = np.meshgrid(*lines, indexing="ij")
    return np.stack([*reversed(mesh), np.ones_like(mesh[0])], -1).reshape(1, -1, len(lines) + 1)


@op(
    "affine_grid(Tensor theta, int[] size, bool align_corners) -> Tensor",
    names=(),
    node="AffineGridGeneratorBackward0",
)
class affine_points:
    """Where affine maps send the points of a grid."""

    def forward(theta, size, align_corners):
        found = _base_points(size, align_corners, theta.dtype) @ theta.swapaxes(1, 2)
        return found.reshape(size[0], *size[2:], len(size) - 2)

    def d_theta(grad, size, align_corners):
        base = functions.from_numpy(_base_points(size, align_corners, grad._array.dtype)).expand(size[0], -1, -1)
        return grad.reshape(size[0], -1, len(size) - 2).transpose(1, 2).bmm(base)


def _aligned(align_corners):
    """``align_corners`` as a bool; PyTorch warns where it is left out."""
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=3,
        )
    return bool(align_corners)


def _grid_places(grid, length, padding_mode, align_corners):
    """Pixel coordinates of normalised grid coordinates along one dimension."""
    x = (grid + 1) / 2 * (length - 1) if align_corners else ((grid + 1) * length - 1) / 2
    if padding_mode == "border":
        return x.clamp(0, length - 1)
    if padding_mode == "reflection":
        low, high = (0, 2 * (length - 1)) if align_corners else (-1, 2 * length - 1)
        low, span = low / 2, (high - low) / 2
        if span == 0:
            return x * 0
        x = (x - low).abs()
        turns = (x / span).floor().detach()
        rest = x - turns * span
        x = functions.where(turns % 2 == 0, rest + low, span - rest + low)
        return x.clamp(0, length - 1)
    return x


@composite(names=("nn.functional",))
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """``input`` (N, C, ...) sampled at the places ``grid`` (N, ..., 2 or 3) in [-1, 1], the last coordinate first."""
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    align = _aligned(align_corners)
    lengths = tuple(input.shape[2:])
    _check_grid(input, grid, mode)
    raw = [grid[..., len(lengths) - 1 - axis] for axis in range(len(lengths))]
    if mode == "bicubic":
        places = [_grid_places(g, n, "zeros", align) for g, n in zip(raw, lengths)]
        return _sample_cubic(input, places, lengths, padding_mode, align)
    places = [_grid_places(g, n, padding_mode, align) for g, n in zip(raw, lengths)]
    if mode == "nearest":
        return _fetch(input, [p.round() for p in places], lengths)
    below = [p.floor() for p in places]
    total = None
    for corner in itertools.product((0, 1), repeat=len(lengths)):
        weight = None
        for p, b, side in zip(places, below, corner):
            part = (p - b) if side else (b + 1 - p)
            weight = part if weight is None else weight * part
        value = _fetch(input, [b + side for b, side in zip(below, corner)], lengths) * weight.unsqueeze(1)
        total = value if total is None else total + value
    return total


def _check_grid(input, grid, mode):
    sizes = f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if not input.ndim or not grid.ndim or input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, but got {sizes}")
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            f"grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got {sizes}"
        )
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to have same dtype, but input has {input.dtype} and grid has "
            f"{grid.dtype}"
        )
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def _fetch(input, places, lengths):
    """The elements at integer coordinates; zeros outside."""
    flat, inside = None, None
    for place, length in zip(places, lengths):
        place = place.detach()
        ok = (place >= 0) & (place <= length - 1)
        inside = ok if inside is None else inside & ok
        whole = place.clamp(0, length - 1).long()
        flat = whole if flat is None else flat * length + whole
    samples, channels = input.shape[:2]
    index = flat.reshape(samples, 1, -1).expand(samples, channels, -1)
    found = input.reshape(samples, channels, -1).gather(2, index).reshape(samples, channels, *flat.shape[1:])
    return found * inside.unsqueeze(1).to(input.dtype)


def _sample_cubic(input, places, lengths, padding_mode, align):
    below = [p.floor().detach() for p in places]
    total = None
    for offsets in itertools.product(range(-1, 3), repeat=2):
        weight = None
        for p, b, offset in zip(places, below, offsets):
            part = _cubic_weight(p - b, offset)
            weight = part if weight is None else weight * part
        at = [b + offset for b, offset in zip(below, offsets)]
        if padding_mode != "zeros":
            at = [_hold(a, n, padding_mode, align) for a, n in zip(at, lengths)]
        value = _fetch(input, at, lengths) * weight.unsqueeze(1)
        total = value if total is None else total + value
    return total


def _hold(place, length, padding_mode, align):
    """Integer coordinates brought inside by clamping or reflection."""
    if padding_mode == "border":
        return place.clamp(0, length - 1)
    back = place / max(length - 1, 1) * 2 - 1 if align else (place * 2 + 1) / length - 1
    return _grid_places(back, length, padding_mode, align).round()


def _cubic_weight(t, offset, a=-0.75):
    """Keys' cubic kernel for the neighbour ``offset`` (-1 to 2) of a place ``t`` after its floor."""
    x = (t - offset).abs()
    if offset in (0, 1):
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
