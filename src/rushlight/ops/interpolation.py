"""Interpolation: images and signals resized by nearest elements, lines, cubics and Lanczos windows."""

import functools
import math
import warnings

from ..base import dtypes
from ..base.arrays import laid_out_as
from ..base.errors import hinted
from ..base.limits import LARGEST_WORD
from ..base.scalars import no_place
from ..base.user_code import to_user
from .resampling import interpolation_taps, resample
from .table import composite, functions, op


def taps_of(lengths, out, scales, mode, align_corners, antialias):
    """The Taps of each dimension."""
    return [interpolation_taps(n, m, s, mode, align_corners, antialias) for n, m, s in zip(lengths, out, scales)]


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
        return laid_out_as(resample(self, taps_of(self.shape[2:], out, scales, mode, align_corners, antialias)), self)

    def d_self(grad, shape, scales, mode, align_corners, antialias):
        return functions.interpolate_gradient(grad, shape[2:], scales, mode, align_corners, antialias)


@op(f"interpolate_gradient(Tensor self, int[] lengths, {_OPTIONS}) -> Tensor",
    names=(), node="UpsampleBackwardBackward0")  # fmt: skip
class interpolate_gradient:
    """The gradient of `interpolate`: each element collects from the outputs that it went into."""

    def forward(self, lengths, scales, mode, align_corners, antialias):
        axes = taps_of(lengths, self.shape[2:], scales, mode, align_corners, antialias)
        return laid_out_as(resample(self, [taps.transposed for taps in axes]), self)

    def d_self(grad, shape, scales, mode, align_corners, antialias):
        return functions.interpolate_parts(grad, shape[2:], scales, mode, align_corners, antialias)


# ---------------------------------------------------------------- PyTorch's functions


_DIMENSIONS = {"linear": 3, "bilinear": 4, "bicubic": 4, "lanczos": 4, "trilinear": 5}
_NUMBERS = frozenset((int, float))
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
    if len(factors) != max(count, 0):
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(lengths)} and scale_factor of shape {scale_factor}. Please provide input tensor in (N, C, d1, d2, "
            "...,dK) format and scale_factor in (s1, s2, ...,sK) format."
        )
    scaled = _scaled if scale_factor.__class__ in _NUMBERS else _scaled.__wrapped__
    return scaled(lengths, factors, bool(recompute_scale_factor))


@functools.lru_cache(256)
def _scaled(lengths, factors, recomputed):
    """`_target_lengths` by factors."""
    wanted = [float(n) * f for n, f in zip(lengths, factors)]
    if not all(abs(n) <= LARGEST_WORD for n in wanted):
        raise RuntimeError(
            hinted(
                "value cannot be converted to type int64_t without overflow", f"{wanted} are to be the result's lengths"
            )
        )
    out = tuple(map(math.floor, wanted))
    if any(not -(1 << 63) <= n < 1 << 63 for n in out):
        raise no_place(dtypes.int64, f"the scale factors are {factors}")
    return out, (None,) * len(lengths) if recomputed else tuple(float(f) for f in factors)


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
    if mode in ("linear", "bilinear", "trilinear") and input.ndim in (3, 4, 5):
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
    bytes_go = input.ndim == 4 or mode.startswith("nearest")
    halves_go = not (antialias and dtype.itemsize == 2)
    if (dtype.is_floating_point and halves_go) or (dtype is dtypes.uint8 and bytes_go):
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
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=to_user()
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


@composite(names=("nn.functional",))
def upsample_nearest(input, size=None, scale_factor=None):
    """Deprecated in PyTorch: `interpolate` by the nearest element."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=to_user()
    )
    return interpolate(input, size, scale_factor, "nearest")


@composite(names=("nn.functional",))
def upsample_bilinear(input, size=None, scale_factor=None):
    """Deprecated in PyTorch: bilinear `interpolate` with aligned corners."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=to_user(),
    )
    return interpolate(input, size, scale_factor, "bilinear", True)
