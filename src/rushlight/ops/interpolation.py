"""Interpolation: images and signals resized by nearest elements, lines, cubics and Lanczos windows.

Resizing one dimension is a product with a small matrix; dimensions are resized one after the other.
"""

import math
import warnings

import numpy as np

from ..base import dtypes
from ..base.arrays import laid_out_as
from ..base.errors import hinted
from .pool_adaptive import along_each
from .table import composite, functions, is_half, op

_HALF_WIDTHS = {"linear": 1.0, "cubic": 2.0, "lanczos": 3.0}


def _source_step(length, out, scale, align_corners):
    """How far apart the outputs lie in the input."""
    if align_corners:
        return (length - 1) / (out - 1) if out > 1 else 0.0
    return 1 / scale if scale else length / out


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


def _matrix(length, out, scale, align_corners, kernel, antialias):
    """The matrix (out, length) that resizes one dimension."""
    step = _source_step(length, out, scale, align_corners)
    if antialias:
        return _antialiased_matrix(length, out, step, kernel)
    centre = np.arange(out) * step if align_corners else (np.arange(out) + 0.5) * step - 0.5
    matrix, rows = np.zeros((out, length)), np.arange(out)
    if kernel == "linear":
        centre = np.maximum(centre, 0)
        below = np.minimum(centre.astype(np.int64), length - 1)
        weight = np.clip(centre - below, 0, 1)
        np.add.at(matrix, (rows, below), 1 - weight)
        np.add.at(matrix, (rows, np.minimum(below + 1, length - 1)), weight)
        return matrix
    below = np.floor(centre).astype(np.int64)
    rest = centre - below
    for offset in range(-1, 3):
        np.add.at(matrix, (rows, np.clip(below + offset, 0, length - 1)), _cubic(np.abs(rest - offset), -0.75))
    return matrix


def _antialiased_matrix(length, out, step, kernel):
    """Weights of a kernel widened to the step, so that shrinking averages instead of skipping."""
    support = _HALF_WIDTHS[kernel] * max(step, 1.0)
    widen = 1 / max(step, 1.0)
    matrix = np.zeros((out, length))
    for row in range(out):
        centre = step * (row + 0.5)
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), length)
        weights = _kernel_at(kernel, np.abs((np.arange(first, last) - centre + 0.5) * widen))
        matrix[row, first:last] = weights / weights.sum()
    return matrix


def _nearest_places(length, out, scale, exact):
    """Which element each output copies; PyTorch computes it in float32, and ties fall as they do there."""
    step = np.float32(1 / scale) if scale else np.float32(length) / np.float32(out)
    places = (np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0)) * step
    return np.minimum(np.floor(places).astype(np.int64), length - 1)


def _nearest_matrix(length, out, scale, exact):
    matrix = np.zeros((out, length))
    matrix[np.arange(out), _nearest_places(length, out, scale, exact)] = 1
    return matrix


def _matrices(lengths, out, scales, mode, align_corners, antialias):
    """The matrix of each dimension."""
    if mode.startswith("nearest"):
        return [_nearest_matrix(n, m, s, mode == "nearest-exact") for n, m, s in zip(lengths, out, scales)]
    kernel = {"bicubic": "cubic", "lanczos": "lanczos"}.get(mode, "linear")
    return [_matrix(n, m, s, align_corners, kernel, antialias) for n, m, s in zip(lengths, out, scales)]


def _apply(array, matrices):
    if array.dtype == np.uint8:
        return _apply_to_bytes(array, matrices)
    wide = np.float32 if is_half(array.dtype) or array.dtype.kind in "ib" else array.dtype
    found = along_each(array.astype(wide, copy=False), [matrix.astype(wide) for matrix in matrices])
    if array.dtype.kind == "i":
        info = np.iinfo(array.dtype)
        found = np.clip(np.rint(found), info.min, info.max)
    return found.astype(array.dtype, copy=False)


def _apply_to_bytes(array, matrices):
    """uint8 images: whole-number weights of 15 bits, and bytes again after each dimension, from the last to the first."""
    found = array
    for axis in range(len(matrices)):
        matrix = matrices[-1 - axis]
        if matrix.shape[0] == matrix.shape[1] and (matrix == np.eye(matrix.shape[0])).all():
            continue
        bits = 0
        while bits < 21 and int(0.5 + matrix.max() * (1 << (bits + 1))) < 1 << 15:
            bits += 1
        weights = np.trunc(matrix * (1 << bits) + np.where(matrix < 0, -0.5, 0.5))
        kept = [None] * (len(matrices) - 1 - axis) + [weights] + [None] * axis
        total = along_each(found.astype(np.float64), kept) + (1 << bits >> 1)
        found = np.clip(np.floor(total / (1 << bits)), 0, 255).astype(np.uint8)
    return found


def _repeated(array, factors):
    """Every element repeated along the last dimensions."""
    lead, lengths = array.shape[: -len(factors)], array.shape[-len(factors) :]
    apart = array[(..., *(part for _ in factors for part in (slice(None), None)))]
    found = np.empty((*lead, *(part for pair in zip(lengths, factors) for part in pair)), array.dtype)
    found[...] = apart
    return found.reshape(*lead, *(n * k for n, k in zip(lengths, factors)))


def _nearest(array, out, places):
    """The elements at ``places`` along each of the last dimensions."""
    lengths = array.shape[2:]
    if all(m % n == 0 and (p == np.arange(m) // (m // n)).all() for n, m, p in zip(lengths, out, places)):
        return _repeated(array, [m // n for n, m in zip(lengths, out)])
    for axis, place in enumerate(places, 2):
        array = np.take(array, place, axis)
    return array


_NODE_NAMES = {"nearest": "UpsampleNearest", "nearest-exact": "UpsampleNearestExact", "linear": "UpsampleLinear",
               "bilinear": "UpsampleBilinear", "bicubic": "UpsampleBicubic", "trilinear": "UpsampleTrilinear",
               "lanczos": "UpsampleLanczos"}  # fmt: skip


def _node_name(self, out, scales, mode, align_corners, antialias):
    return f"{_NODE_NAMES[mode]}{len(out)}D{'Aa' if antialias else ''}Backward0"


_OPTIONS = "any scales, str mode, bool align_corners, bool antialias"


@op(f"interpolate(Tensor self, int[] out, {_OPTIONS}) -> Tensor", names=(), node=_node_name)
class interpolate_parts:
    """`interpolate` along every spatial dimension."""

    def forward(self, out, scales, mode, align_corners, antialias):
        lengths = self.shape[2:]
        if not mode.startswith("nearest"):
            found = _apply(self, _matrices(lengths, out, scales, mode, align_corners, antialias))
        else:
            places = [_nearest_places(n, m, s, mode == "nearest-exact") for n, m, s in zip(lengths, out, scales)]
            found = _nearest(self, out, places)
        return laid_out_as(found, self)

    def d_self(grad, shape, scales, mode, align_corners, antialias):
        return functions.interpolate_gradient(grad, shape[2:], scales, mode, align_corners, antialias)


@op(f"interpolate_gradient(Tensor self, int[] lengths, {_OPTIONS}) -> Tensor",
    names=(), node="UpsampleBackwardBackward0")  # fmt: skip
class interpolate_gradient:
    """The gradient of `interpolate`: products with the transposed matrices."""

    def forward(self, lengths, scales, mode, align_corners, antialias):
        matrices = _matrices(lengths, self.shape[2:], scales, mode, align_corners, antialias)
        return laid_out_as(_apply(self, [matrix.T for matrix in matrices]), self)

    def d_self(grad, shape, scales, mode, align_corners, antialias):
        return functions.interpolate_parts(grad, shape[2:], scales, mode, align_corners, antialias)


# ---------------------------------------------------------------- PyTorch's functions


_DIMENSIONS = {"linear": 3, "bilinear": 4, "bicubic": 4, "lanczos": 4, "trilinear": 5}
_CORNERED = ("linear", "bilinear", "bicubic", "trilinear")


@composite(names=("nn.functional",))
def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """(samples, channels, ...) resized to ``size`` or by ``scale_factor``.

    Modes: "nearest", "nearest-exact", "linear" (3-D input), "bilinear", "bicubic" and "lanczos" (4-D), "trilinear" (5-D),
    "area".

    >>> import rushlight as torch
    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 3.0]]]), size=4, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    if mode in _CORNERED:
        align_corners = bool(align_corners)
    elif align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    out, scales = _target_lengths(input, size, scale_factor, recompute_scale_factor)
    _check_mode(input, mode, antialias)
    if mode == "area":
        return getattr(functions, f"adaptive_avg_pool{len(out)}d")(input, out)
    _check_lengths(tuple(input.shape), out)
    _check_dtype(input, mode, antialias)
    return functions.interpolate_parts(input, out, scales, mode, bool(align_corners), antialias)


def _target_lengths(input, size, scale_factor, recompute_scale_factor):
    """(output lengths, scales of the dimensions where they count)."""
    count, lengths = input.ndim - 2, tuple(input.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        out = tuple(size) if isinstance(size, (tuple, list)) else (size,) * count
        if len(out) != count:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                f"{list(lengths)} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
                "and output size in (o1, o2, ...,oK) format."
            )
        if recompute_scale_factor:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        if any(isinstance(n, float) for n in out):
            raise TypeError(hinted("interpolate(): argument 'size' must be ints, not float", "round the size first"))
        return tuple(int(n) for n in out), (None,) * count
    factors = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * count
    if len(factors) != count:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(lengths)} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, "
            "...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
    out = tuple(math.floor(float(n) * f) for n, f in zip(lengths, factors))
    if any(not -(1 << 63) <= n < 1 << 63 for n in out):
        raise RuntimeError(
            hinted("value cannot be converted to type int64_t without overflow", f"the scale factors are {factors}")
        )
    return out, (None,) * count if recompute_scale_factor else tuple(float(f) for f in factors)


def _check_mode(input, mode, antialias):
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    wanted = _DIMENSIONS.get(mode)
    if wanted == input.ndim or (mode in ("nearest", "nearest-exact", "area") and input.ndim in (3, 4, 5)):
        return
    if mode in _CORNERED and input.ndim in (3, 4, 5):
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {wanted}D input")
    raise NotImplementedError(
        hinted(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})",
            "the input has samples and channels in front of the dimensions that are resized",
        )
    )


def _check_dtype(input, mode, antialias):
    dtype = input.dtype
    if dtype.is_floating_point or dtype.is_complex or dtype is dtypes.uint8:
        return
    kind = mode.removeprefix("bi").removeprefix("tri").removesuffix("-exact")
    kernel = f"compute_indices_weights_{kind}"
    if antialias:
        kernel = "compute_index_ranges_weights"
    elif input.ndim == 4 and kind != "cubic":
        kernel = f"upsample_{'bilinear' if kind == 'linear' else kind}2d_channels_last"
    raise NotImplementedError(
        hinted(f"\"{kernel}\" not implemented for '{dtype.legacy_name}'", "convert the images with .float()")
    )


def _check_lengths(shape, out):
    lengths, names = shape[2:], "DHW"[-len(out) :]
    if 0 in (*lengths, *out) or min(out) < 0:
        given, wanted = (", ".join(f"{a}: {n}" for a, n in zip(names, values)) for values in (lengths, out))
        joint = " and" if len(out) == 1 else ""
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({given}){joint} output ({wanted})"
        )
    if shape[1] == 0:
        raise RuntimeError(f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes {list(shape)}")


@composite(names=("nn.functional",))
def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """Deprecated in PyTorch: `interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(names=("nn.functional",))
def upsample_nearest(input, size=None, scale_factor=None):
    """Deprecated in PyTorch: `interpolate` by the nearest element."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, "nearest")


@composite(names=("nn.functional",))
def upsample_bilinear(input, size=None, scale_factor=None):
    """Deprecated in PyTorch: bilinear `interpolate` with aligned corners."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, "bilinear", True)
