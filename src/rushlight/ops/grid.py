"""Sampling of images at the points of a grid, and grids of affine maps."""

import itertools
import math
import warnings

import numpy as np

from ..base.errors import hinted
from ..base.user_code import to_user
from .elementwise.checks import check_scalar_type
from .matmul import product
from .table import composite, functions, op, widened


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
            stacklevel=to_user(),
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
        found = product(_base_points(size, align_corners, theta.dtype), theta.swapaxes(1, 2))
        return found.reshape(size[0], *size[2:], len(size) - 2)

    def d_theta(grad, size, align_corners):
        base = functions.from_numpy(_base_points(size, align_corners, grad.dtype.numpy)).expand(size[0], -1, -1)
        return grad.reshape(size[0], -1, len(size) - 2).transpose(1, 2).bmm(base)


def _aligned(align_corners):
    """``align_corners`` as a bool; PyTorch warns where it is left out."""
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.",
            stacklevel=to_user(),
        )
    return bool(align_corners)


def _places(m, grid, length, padding_mode, align_corners):
    """Pixel coordinates of normalised grid coordinates along one dimension, and how fast they grow with those.

    Of arrays (``m`` is NumPy) or Tensors (``m`` is `functions`). Padding brings them inside. Half precision rounds every step.
    """
    scale = _number(m, grid, (length - 1 if align_corners else length) / 2)
    x = (grid + 1) * scale
    if not align_corners:
        x = x - _number(m, grid, 0.5)
    return (x, scale) if padding_mode == "zeros" else _held(m, x, length, padding_mode, align_corners, scale)


def _number(m, array, value):
    """A number beside an array, of its dtype where that is bfloat16: NumPy would compute in float32."""
    return array.dtype.type(value) if m is np else value


def _held(m, x, length, padding_mode, align_corners, scale=1.0):
    """Pixel coordinates brought inside, NaN to 0, and how fast they grow then: on the border itself they do not."""
    last, slope = length - 1, scale
    if padding_mode == "reflection":
        low, span = (0.0, last) if align_corners else (-0.5, length)
        low = _number(m, x, low)
        x = x - low
        slope, x = m.sign(x) * scale, abs(x)
        turns = m.floor(x / span) if span else x * 0
        rest = x - turns * span
        is_odd = turns % 2 != 0
        slope = m.where(is_odd, -slope, slope)
        x = m.where(is_odd, span - rest, rest) + low
    inside, zero = (x > 0) & (x < last), _number(m, x, 0.0)
    held = m.where(x >= last, _number(m, x, float(last)), zero)
    return m.where(inside, x, held), m.where(inside, slope, zero)


def _axes(grid):
    """The coordinates of the points along each dimension, the first dimension first: the grid has the last one first."""
    return [grid[..., axis] for axis in reversed(range(grid.shape[-1]))]


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
    _check_grid(input, grid, mode)
    return functions.grid_samples(input, grid, mode, padding_mode, align)


# ---------------------------------------------------------------- operations


_OPTIONS = "str mode, str padding_mode, bool align_corners"


@op(f"grid_samples(Tensor input, Tensor grid, {_OPTIONS}) -> Tensor",
    names=(), node=lambda input, *others: f"GridSampler{input.ndim - 2}DBackward0")  # fmt: skip
class grid_samples:
    """`grid_sample` by the nearest elements, or by lines or cubics between neighbours."""

    beside, beside_as = ("input", "grid"), None

    def forward(input, grid, mode, padding_mode, align_corners):
        found = 0
        for at, weights, _ in _neighbours(np, grid, input.shape[2:], mode, padding_mode, align_corners):
            value = _elements(input, at)
            found = found + (value if weights[0] is None else value * np.multiply.reduce(weights)[:, None])
        return found.astype(input.dtype, copy=False)

    def d_input(grad, input_shape, grid, mode, padding_mode, align_corners):
        return functions.grid_samples_input_gradient(grad, grid, input_shape[2:], mode, padding_mode, align_corners)

    def d_grid(grad, input, grid, mode, padding_mode, align_corners):
        return functions.grid_samples_grid_gradient(grad, input, grid, mode, padding_mode, align_corners)

    def samples():
        for image, grid, _, *options in _sample_calls():
            yield (image, grid, *options), {}


@op(f"grid_samples_input_gradient(Tensor grad, Tensor grid, int[] lengths, {_OPTIONS}) -> Tensor",
    names=(), node=lambda grad, *others: f"GridSampler{grad.ndim - 2}DBackwardBackward0")  # fmt: skip
class grid_samples_input_gradient:
    """The gradient of `grid_samples` for its input, whose spatial ``lengths`` are given."""

    def forward(grad, grid, lengths, mode, padding_mode, align_corners):
        samples, channels = grad.shape[:2]
        volume, planes = math.prod(lengths), np.arange(samples * channels).reshape(samples, channels, 1)
        wide, found = widened(grad), np.zeros(planes.size * volume)
        for at, weights, _ in _neighbours(np, grid, lengths, mode, padding_mode, align_corners):
            flat, inside = _positions(at, lengths)
            parts = wide if weights[0] is None else wide * np.multiply.reduce(weights)[:, None]
            parts = np.where(inside[:, None], parts, 0)
            index = planes * volume + flat.reshape(samples, 1, flat[:1].size)
            found += np.bincount(index.ravel(), parts.ravel(), found.size)
        return found.reshape(samples, channels, *lengths).astype(grad.dtype)

    def gradients(grads, grad, grid, lengths, mode, padding_mode, align_corners, needs):
        # The same at any input.
        input = functions.zeros((*grad.shape[:2], *lengths), dtype=grad.dtype, device=grad.device)
        found = functions.differentiate_gradient(
            lambda x, g: _formula(x, g, mode, padding_mode, align_corners), (input, grid), grad, (grads[0], None)
        )
        return found[0], found[2]

    def samples():
        for image, grid, grad, *options in _sample_calls():
            yield (grad, grid, image.shape[2:], *options), {}


@op(f"grid_samples_grid_gradient(Tensor grad, Tensor input, Tensor grid, {_OPTIONS}) -> Tensor",
    names=(), node=lambda grad, *others: f"GridSampler{grad.ndim - 2}DBackwardBackward0")  # fmt: skip
class grid_samples_grid_gradient:
    """The gradient of `grid_samples` for its grid: zeros for the nearest elements."""

    def forward(grad, input, grid, mode, padding_mode, align_corners):
        if mode == "nearest":
            return np.zeros(grid.shape, grid.dtype)
        climbs = [0] * grid.shape[-1]  # how fast the results grow with the grid's numbers
        for at, weights, rises in _neighbours(np, grid, input.shape[2:], mode, padding_mode, align_corners):
            value = _elements(input, at)
            for axis, rise in enumerate(rises):
                others = (*weights[:axis], *weights[axis + 1 :])
                climbs[axis] = climbs[axis] + value * (rise * np.multiply.reduce(others))[:, None]
        found = np.empty(grid.shape, grid.dtype)
        for axis, climb in enumerate(climbs):
            found[..., -1 - axis] = (widened(grad) * climb).sum(1)
        return found

    def gradients(grads, grad, input, grid, mode, padding_mode, align_corners, needs):
        if mode == "nearest":
            return None, None, None
        return functions.differentiate_gradient(
            lambda x, g: _formula(x, g, mode, padding_mode, align_corners), (input, grid), grad, (None, grads[0])
        )

    def samples():
        for image, grid, grad, *options in _sample_calls():
            yield (grad, image, grid, *options), {}


def _sample_calls():
    """(image, grid, gradient of the result, options)."""
    draw = np.random.default_rng(0)
    for shape, out, *options in (
        ((2, 3, 4, 5), (3, 4), "bilinear", "zeros", False),
        ((1, 2, 3, 4, 3), (3, 2, 2), "bilinear", "reflection", True),
        ((1, 2, 5, 4), (3, 2), "bicubic", "border", False),
    ):
        grid = draw.uniform(-1.2, 1.2, (shape[0], *out, len(out)))
        yield (draw.standard_normal(shape), grid, draw.standard_normal((*shape[:2], *out)), *options)


def _neighbours(m, grid, lengths, mode, padding_mode, align_corners):
    """(coordinates, weights, how fast these grow with the grid's numbers: of each along each dimension) of the elements that
    the points of a grid are sampled from; no weights (None) of the nearest. ``m`` as of `_places`."""
    taps = [_taps(m, x, n, mode, padding_mode, align_corners) for x, n in zip(_axes(grid), lengths)]
    for each in itertools.product(*taps):
        yield zip(*each)


def _taps(m, x, length, mode, padding_mode, align_corners):
    """The (coordinate, weight, growth of the weight) of each element along a dimension."""
    if mode == "bicubic":
        place, scale = _places(m, x, length, "zeros", align_corners)
        below = m.floor(place)
        return [
            _cubic_tap(m, below, place - below, o, length, padding_mode, align_corners, scale) for o in range(-1, 3)
        ]
    place, slope = _places(m, x, length, padding_mode, align_corners)
    if mode == "nearest":
        return [(m.round(place), None, None)]
    below = m.floor(place)
    beyond = place - below
    # Elements are counted in single precision: half precision lacks some of the numbers.
    number = widened(below) if m is np else below.float() if below.dtype.itemsize == 2 else below
    return [(number, 1 - beyond, -slope), (number + 1, beyond, slope)]


def _cubic_tap(m, below, beyond, offset, length, padding_mode, align_corners, scale, a=-0.75):
    """The neighbour ``offset`` (-1 to 2) of a place ``beyond`` behind its floor, by Keys' cubic kernel."""
    place = below + offset
    if padding_mode != "zeros":
        place, _ = _held(m, place, length, padding_mode, align_corners)
    # How far the place is; abs() would have no slope at a whole coordinate.
    x, a = beyond - offset if offset < 1 else offset - beyond, _number(m, beyond, a)
    if offset in (0, 1):
        weight, rise = ((a + 2) * x - (a + 3)) * x * x + 1, (3 * (a + 2) * x - 2 * (a + 3)) * x
    else:
        weight, rise = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a, (3 * a * x - 10 * a) * x + 8 * a
    return place, weight, (rise if offset < 1 else -rise) * scale


def _positions(places, lengths):
    """The numbers of the elements at whole coordinates, 0 outside, and whether they lie inside."""
    places, flat, inside = [widened(place) for place in places], 0, True
    for place, length in zip(places, lengths):
        inside = inside & (place >= 0) & (place < length)
    for place, length in zip(places, lengths):
        flat = flat * length + np.where(inside, place, 0).astype(np.int64)
    return flat, inside


def _elements(input, places):
    """The elements of ``input`` at whole coordinates; zeros outside."""
    samples, channels, *lengths = input.shape
    flat, inside = _positions(places, lengths)
    rows, index = widened(input).reshape(samples, channels, math.prod(lengths)), flat.reshape(samples, 1, flat[:1].size)
    found = np.take_along_axis(rows, index, 2).reshape(samples, channels, *flat.shape[1:])
    return np.where(inside[:, None], found, 0)


# ---------------------------------------------------------------- formulas of Tensors


def _formula(input, grid, mode, padding_mode, align):
    """`grid_samples`, of operations that can be differentiated again."""
    lengths, total = tuple(input.shape[2:]), None
    for at, weights, _ in _neighbours(functions, grid, lengths, mode, padding_mode, align):
        value = _fetch(input, at, lengths)
        if weights[0] is not None:
            value = value * math.prod(weights[1:], start=weights[0]).unsqueeze(1)
        total = value if total is None else total + value
    return total


def _check_grid(input, grid, mode):
    if not input.ndim or not grid.ndim:
        raise IndexError(hinted("Dimension specified as 0 but tensor has no dimensions", _sizes_of(input, grid)))
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size, but got {_sizes_of(input, grid)}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
            + _sizes_of(input, grid)
        )
    lengths = input.shape[2:]
    if 0 in lengths:
        raise RuntimeError(
            f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(input.shape)} "
            f"with dimension {lengths.index(0) + 2} being empty"
        )
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if not input.is_floating_point():
        kernel = "grid_sampler_2d_cpu_kernel_impl" if input.ndim == 4 else "grid_sampler3d_cpu"
        raise NotImplementedError(
            hinted(f"\"{kernel}\" not implemented for '{input.dtype.legacy_name}'", "convert both with .float()")
        )
    check_scalar_type(grid.dtype, input.dtype)


def _sizes_of(input, grid):
    return f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"


def _fetch(input, places, lengths):
    """The elements at integer coordinates; zeros outside."""
    places, flat, inside = [place.detach() for place in places], None, None
    for place, length in zip(places, lengths):
        ok = (place >= 0) & (place <= length - 1)
        inside = ok if inside is None else inside & ok
    for place, length in zip(places, lengths):
        whole = functions.where(inside, place, 0.0).long()
        flat = whole if flat is None else flat * length + whole
    (samples, channels), points = input.shape[:2], math.prod(flat.shape[1:])
    index = flat.reshape(samples, 1, points).expand(samples, channels, points)
    found = input.reshape(samples, channels, math.prod(lengths)).gather(2, index)
    found = found.reshape(samples, channels, *flat.shape[1:])
    return functions.where(inside.unsqueeze(1), found, 0.0)
