"""Operations on images and signals: padding, interpolation, windows to columns and back, pixel shuffles, grids."""

import itertools
import math
import warnings

import numpy as np

from ..base.errors import hinted
from .conv import output_lengths, repeated, taps
from .table import composite, functions, is_half, op

# ---------------------------------------------------------------- padding


@op("constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", names=("torch",))
class constant_pad_nd:
    """``value`` put around the tensor; negative padding cuts. ``pad`` counts from the last dimension: (before, after, ...)."""

    def forward(self, pad, value):
        if len(pad) % 2:
            raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
        if len(pad) // 2 > self.ndim:
            raise RuntimeError(
                f"Length of pad should be no more than twice the number of dimensions of the input. Pad length is {len(pad)} while the input has {self.ndim} dimensions."
            )
        sides = _sides(pad, self.ndim)
        shape = tuple(n + b + a for n, (b, a) in zip(self.shape, sides))
        if any(n < 0 for n in shape):
            raise RuntimeError(
                f"The input size {list(self.shape)}, plus negative padding {list(pad)}, resulted in a negative output size, which is invalid."
            )
        found = np.full(shape, value, self.dtype)
        source = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(self.shape, sides))
        target = tuple(slice(max(b, 0), n - max(a, 0)) for n, (b, a) in zip(shape, sides))
        found[target] = self[source]
        return found

    def d_self(grad, pad):
        return functions.constant_pad_nd(grad, [-p for p in pad], 0)


def _sides(pad, ndim):
    """(before, after) of every dimension, from PyTorch's order, which starts at the last."""
    sides = [(0, 0)] * ndim
    for number in range(len(pad) // 2):
        sides[ndim - 1 - number] = (pad[2 * number], pad[2 * number + 1])
    return sides


def _pad_positions(length, before, after, mode):
    """For each element of the padded dimension, the place that it copies."""
    places = np.arange(-before, length + after)
    if mode == "replicate":
        return np.clip(places, 0, length - 1)
    if mode == "circular":
        return places % length
    period = max(2 * (length - 1), 1)
    places = np.abs(places) % period
    return np.where(places >= length, period - places, places)


@op("pad_by_places(Tensor self, int[] pad, str mode) -> Tensor", names=(), node="PadBackward0")
class pad_by_places:
    """The tensor continued by its own elements: reflected, replicated or in a circle."""

    def forward(self, pad, mode):
        found = self
        for axis, (before, after) in enumerate(_sides(pad, self.ndim)):
            if before or after:
                found = np.take(found, _pad_positions(self.shape[axis], before, after, mode), axis)
        return np.array(found, order="C")

    def d_self(grad, self, pad, mode):
        return functions.pad_by_places_gradient(grad, tuple(self.shape), pad, mode)


@op(
    "pad_by_places_gradient(Tensor self, int[] shape, int[] pad, str mode) -> Tensor",
    names=(),
    node="PadBackwardBackward0",
)
class pad_by_places_gradient:
    """Gradients added up where `pad_by_places` copied from."""

    def forward(self, shape, pad, mode):
        found = self
        for axis, (before, after) in enumerate(_sides(pad, self.ndim)):
            if before or after:
                summed = np.zeros((shape[axis], *np.delete(found.shape, axis)), found.dtype)
                np.add.at(summed, _pad_positions(shape[axis], before, after, mode), np.moveaxis(found, axis, 0))
                found = np.moveaxis(summed, 0, axis)
        return np.array(found, order="C")

    def d_self(grad, pad, mode):
        return functions.pad_by_places(grad, pad, mode)


@composite(names=("nn.functional",))
def pad(input, pad, mode="constant", value=None):
    """``input`` made larger at its ends: (before, after) of the last dimension, of the one before, ...

    Modes: "constant" (``value``), "reflect", "replicate", "circular".

    >>> import rushlight as torch
    >>> torch.nn.functional.pad(torch.tensor([1, 2]), (1, 0))
    tensor([0, 1, 2])
    """
    pad = [int(p) for p in pad]
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.ndim:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length {len(pad)} and input of dimension {input.ndim}"
        )
    if mode == "constant":
        return functions.constant_pad_nd(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) // 2 not in (input.ndim - 1, input.ndim - 2):
        raise NotImplementedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now")
    for number in range(len(pad) // 2):
        length = input.shape[input.ndim - 1 - number]
        before, after = pad[2 * number : 2 * number + 2]
        if mode == "reflect" and (before >= length or after >= length):
            raise RuntimeError(
                hinted(
                    f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({before}, {after}) "
                    f"at dimension {input.ndim - 1 - number} of input {list(input.shape)}",
                    "a reflection cannot be longer than what it reflects",
                )
            )
        if mode == "circular" and (before > length or after > length):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if length + before + after < 1 and mode != "circular":
            raise RuntimeError(f"input (size: {length}) too small after padding")
    if any(p < 0 for p in pad) and not any(p > 0 for p in pad):
        return functions.constant_pad_nd(input, pad, 0)
    if any(p < 0 for p in pad):
        cut = [min(p, 0) for p in pad]
        input, pad = functions.constant_pad_nd(input, cut, 0), [max(p, 0) for p in pad]
    return functions.pad_by_places(input, pad, mode)


# ---------------------------------------------------------------- windows to columns


def _unfold_arguments(kernel_size, dilation, padding, stride):
    return (
        repeated(v, 2, n, "unfold")
        for v, n in ((kernel_size, "kernel_size"), (dilation, "dilation"), (padding, "padding"), (stride, "stride"))
    )


@op(
    "im2col(Tensor self, int[] kernel, int[] dilation, int[] padding, int[] stride) -> Tensor",
    names=(),
    node="Im2ColBackward0",
)
class im2col:
    """Windows of (samples, channels, height, width) as columns (samples, channels x kernel, windows)."""

    def forward(self, kernel, dilation, padding, stride):
        samples, channels, height, width = self.shape
        out = output_lengths((height, width), kernel, stride, padding, dilation)
        if any(n <= 0 for n in out):
            raise RuntimeError(
                f"Given input with spatial size ({height}, {width}), kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
                f"padding={tuple(padding)}, calculated shape of the array of sliding blocks as {tuple(out)}, but its components must be "
                "at least one."
            )
        source = np.pad(self, ((0, 0), (0, 0), *((p, p) for p in padding)))
        found = np.empty((samples, channels, *kernel, *out), self.dtype)
        for place, window in taps(kernel, stride, dilation, out):
            found[(slice(None), slice(None), *place)] = source[(slice(None), slice(None), *window)]
        return found.reshape(samples, channels * math.prod(kernel), math.prod(out))

    def d_self(grad, self, kernel, dilation, padding, stride):
        return functions.col2im(grad, tuple(self.shape[2:]), kernel, dilation, padding, stride)


@op(
    "col2im(Tensor self, int[] lengths, int[] kernel, int[] dilation, int[] padding, int[] stride) -> Tensor",
    names=(),
    node="Col2ImBackward0",
)
class col2im:
    """Columns added up at the places of their windows: the gradient of `im2col`."""

    def forward(self, lengths, kernel, dilation, padding, stride):
        samples = self.shape[0]
        out = output_lengths(lengths, kernel, stride, padding, dilation)
        columns = self.reshape(samples, self.shape[1] // math.prod(kernel), *kernel, *out)
        found = np.zeros((samples, columns.shape[1], *(n + 2 * p for n, p in zip(lengths, padding))), self.dtype)
        for place, window in taps(kernel, stride, dilation, out):
            found[(slice(None), slice(None), *window)] += columns[(slice(None), slice(None), *place)]
        inside = tuple(slice(p, p + n) for n, p in zip(lengths, padding))
        return np.ascontiguousarray(found[(slice(None), slice(None), *inside)])

    def d_self(grad, kernel, dilation, padding, stride):
        return functions.im2col(grad, kernel, dilation, padding, stride)


@composite(names=("nn.functional:unfold",))
def unfold_windows(input, kernel_size, dilation=1, padding=0, stride=1):
    """Sliding windows of (samples, channels, height, width) as columns (samples, channels x kernel, windows)."""
    kernel, dilation, padding, stride = _unfold_arguments(kernel_size, dilation, padding, stride)
    if input.ndim not in (3, 4):
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: {list(input.shape)}"
        )
    batched = input if input.ndim == 4 else input.unsqueeze(0)
    found = functions.im2col(batched, kernel, dilation, padding, stride)
    return found if input.ndim == 4 else found.squeeze(0)


@composite(names=("nn.functional",))
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns of windows added up to an image of ``output_size``: the reverse of `unfold`, overlaps summed."""
    kernel, dilation, padding, stride = _unfold_arguments(kernel_size, dilation, padding, stride)
    lengths = repeated(output_size, 2, "output_size", "fold")
    if input.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but got: {list(input.shape)}"
        )
    batched = input if input.ndim == 3 else input.unsqueeze(0)
    if batched.shape[1] % math.prod(kernel):
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)={batched.shape[1]} "
            f"and kernel_size={tuple(kernel)}."
        )
    windows = math.prod(output_lengths(lengths, kernel, stride, padding, dilation))
    if batched.shape[2] != windows:
        raise RuntimeError(
            f"Given output_size={tuple(lengths)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, padding={tuple(padding)}, "
            f"stride={tuple(stride)}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{' * '.join(map(str, output_lengths(lengths, kernel, stride, padding, dilation)))} = {windows}, but got input.size(2)={batched.shape[2]}."
        )
    found = functions.col2im(batched, lengths, kernel, dilation, padding, stride)
    return found if input.ndim == 3 else found.squeeze(0)


# ---------------------------------------------------------------- shuffles


@composite(names=("nn.functional", "torch"))
def pixel_shuffle(input, upscale_factor):
    """(..., C r^2, H, W) as (..., C, H r, W r): channels moved into space (Shi et al., 2016)."""
    r = upscale_factor
    if input.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    *lead, channels, height, width = input.shape
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    if channels % (r * r):
        raise RuntimeError(
            f"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    found = input.reshape(math.prod(lead), channels // (r * r), r, r, height, width).permute(0, 1, 4, 2, 5, 3)
    return found.reshape(*lead, channels // (r * r), height * r, width * r)


@composite(names=("nn.functional", "torch"))
def pixel_unshuffle(input, downscale_factor):
    """(..., C, H r, W r) as (..., C r^2, H, W): the reverse of `pixel_shuffle`."""
    r = downscale_factor
    *lead, channels, height, width = input.shape
    if height % r or width % r:
        name, length = ("height", height) if height % r else ("width", width)
        raise RuntimeError(
            f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({-2 if height % r else -1})={length} is "
            f"not divisible by {r}"
        )
    found = input.reshape(math.prod(lead), channels, height // r, r, width // r, r).permute(0, 1, 3, 5, 2, 4)
    return found.reshape(*lead, channels * r * r, height // r, width // r)


@composite(names=("nn.functional", "torch"))
def channel_shuffle(input, groups):
    """Channels dealt out anew across ``groups`` (Zhang et al., 2018)."""
    if input.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups."
        )
    shape = tuple(input.shape)
    return input.reshape(shape[0], groups, shape[1] // groups, *shape[2:]).transpose(1, 2).reshape(shape)


# ---------------------------------------------------------------- interpolation


def _source_scale(length, out, scale, align_corners):
    if align_corners:
        return (length - 1) / (out - 1) if out > 1 else 0.0
    return 1 / scale if scale else length / out


def _linear_weights(length, out, scale, align_corners, kernel="linear", antialias=False):
    """The matrix (out, length) that resizes one dimension."""
    step = _source_scale(length, out, scale, align_corners)
    centre = np.arange(out) * step if align_corners else (np.arange(out) + 0.5) * step - 0.5
    matrix = np.zeros((out, length))
    rows = np.arange(out)
    if antialias:
        return _antialiased_weights(length, out, step, kernel)
    if kernel == "linear":
        centre = np.maximum(centre, 0)
        below = np.minimum(centre.astype(np.int64), length - 1)
        weight = np.clip(centre - below, 0, 1)
        np.add.at(matrix, (rows, below), 1 - weight)
        np.add.at(matrix, (rows, np.minimum(below + 1, length - 1)), weight)
        return matrix
    below = np.floor(centre).astype(np.int64)
    t = centre - below
    for offset in range(-1, 3):
        np.add.at(matrix, (rows, np.clip(below + offset, 0, length - 1)), _cubic(np.abs(t - offset), -0.75))
    return matrix


def _cubic(x, a):
    """Keys' cubic kernel at distances ``x`` (1981)."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _antialiased_weights(length, out, step, kernel):
    """Weights of a kernel widened to the step, so that shrinking averages instead of skipping."""
    support = (1.0 if kernel == "linear" else 2.0) * max(step, 1.0)
    widen = 1 / max(step, 1.0)
    matrix = np.zeros((out, length))
    for row in range(out):
        centre = step * (row + 0.5)
        first = max(int(centre - support + 0.5), 0)
        last = min(int(centre + support + 0.5), length)
        x = np.abs((np.arange(first, last) - centre + 0.5) * widen)
        weights = np.clip(1 - x, 0, None) if kernel == "linear" else _cubic(x, -0.5)
        matrix[row, first:last] = weights / weights.sum()
    return matrix


def _nearest_places(length, out, scale, exact):
    step = 1 / scale if scale else length / out
    offset = 0.5 if exact else 0.0
    places = np.floor((np.arange(out) + np.float32(offset)) * np.float32(step)).astype(np.int64)
    return np.minimum(places, length - 1)


def _resize_matrices(lengths, out, scales, mode, align_corners, antialias):
    matrices = []
    for length, n, scale in zip(lengths, out, scales):
        if mode in ("nearest", "nearest-exact"):
            matrix = np.zeros((n, length))
            matrix[np.arange(n), _nearest_places(length, n, scale, mode == "nearest-exact")] = 1
        else:
            matrix = _linear_weights(
                length, n, scale, align_corners, "cubic" if mode == "bicubic" else "linear", antialias
            )
        matrices.append(matrix)
    return matrices


def _apply(array, matrices):
    wide = np.float32 if is_half(array.dtype) or array.dtype.kind in "iub" else array.dtype
    found = array.astype(wide, copy=False)
    for axis, matrix in enumerate(matrices, 2):
        found = np.moveaxis(np.matmul(np.moveaxis(found, axis, -1), matrix.T.astype(wide)), -1, axis)
    if array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        found = np.clip(np.rint(found), info.min, info.max)
    return np.ascontiguousarray(found).astype(array.dtype, copy=False)


@op(
    "resize(Tensor self, int[] out, any scales, str mode, bool align_corners, bool antialias) -> Tensor",
    names=(),
    node="UpsampleBilinear2DBackward0",
)
class interpolate_parts:
    """`interpolate` along every spatial dimension: each is a product with a small matrix."""

    def forward(self, out, scales, mode, align_corners, antialias):
        lengths = self.shape[2:]
        if mode in ("nearest", "nearest-exact"):
            places = [_nearest_places(n, m, s, mode == "nearest-exact") for n, m, s in zip(lengths, out, scales)]
            return np.ascontiguousarray(self[(slice(None), slice(None), *np.ix_(*places))])
        return _apply(self, _resize_matrices(lengths, out, scales, mode, align_corners, antialias))

    def d_self(grad, self, out, scales, mode, align_corners, antialias):
        return functions.interpolate_gradient(grad, tuple(self.shape[2:]), scales, mode, align_corners, antialias)


@op(
    "resize_gradient(Tensor self, int[] lengths, any scales, str mode, bool align_corners, bool antialias) -> Tensor",
    names=(),
    node="UpsampleBackwardBackward0",
)
class interpolate_gradient:
    """The gradient of `interpolate`: products with the transposed matrices."""

    def forward(self, lengths, scales, mode, align_corners, antialias):
        return _apply(
            self, [m.T for m in _resize_matrices(lengths, self.shape[2:], scales, mode, align_corners, antialias)]
        )

    def d_self(grad, self, scales, mode, align_corners, antialias):
        return functions.interpolate_parts(grad, tuple(self.shape[2:]), scales, mode, align_corners, antialias)


_MODES = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


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

    Modes: "nearest", "nearest-exact", "linear" (3-D input), "bilinear" and "bicubic" (4-D), "trilinear" (5-D), "area".
    """
    if mode not in ("nearest", "nearest-exact", "area", *_MODES):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | linear | bilinear | "
            f"bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    count = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "only one of size or scale_factor should be defined"
            if size is not None
            else "either size or scale_factor should be defined"
        )
    if mode in _MODES and input.ndim != _MODES[mode]:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {_MODES[mode]}D input")
    if size is not None:
        out = tuple(size) if isinstance(size, (tuple, list)) else (size,) * count
        scales = (None,) * count
    else:
        factors = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * count
        out = tuple(math.floor(float(n) * f) for n, f in zip(input.shape[2:], factors))
        scales = (None,) * count if recompute_scale_factor else tuple(float(f) for f in factors)
    if len(out) != count:
        raise ValueError(
            f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output "
            "size in (o1, o2, ...,oK) format."
        )
    if any(n <= 0 for n in out):
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input (H: {input.shape[-2]}, W: {input.shape[-1]}) output (H: {out[0]}, W: {out[-1]})"
        )
    if mode == "area":
        return getattr(functions, f"adaptive_avg_pool{count}d")(input, out)
    return functions.interpolate_parts(input, [int(n) for n in out], scales, mode, bool(align_corners), antialias)


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


# ---------------------------------------------------------------- sampling on a grid


@composite(names=("nn.functional",))
def affine_grid(theta, size, align_corners=None):
    """The sampling grid of affine maps ``theta`` (N, 2, 3) or (N, 3, 4) for images of ``size``."""
    align = bool(align_corners)
    axes = []
    for length in size[2:]:
        line = (
            functions.linspace(-1, 1, length, dtype=theta.dtype)
            if length > 1
            else functions.zeros(1, dtype=theta.dtype)
        )
        axes.append(line if align else line * ((length - 1) / length))
    mesh = functions.meshgrid(*axes, indexing="ij")
    base = functions.stack([*reversed(mesh), functions.ones_like(mesh[0])], -1)
    flat = base.reshape(1, -1, len(size) - 1).expand(size[0], -1, -1)
    return flat.bmm(theta.transpose(1, 2)).reshape(size[0], *size[2:], len(size) - 2)


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
    align = bool(align_corners)
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    lengths = tuple(input.shape[2:])
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
