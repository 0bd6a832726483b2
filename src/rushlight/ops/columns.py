"""Windows of images as columns of a matrix, and back: unfold and fold; and channels moved into space: shuffles."""

import math

import numpy as np

from ..base.arrays import is_channels_last, laid_out_as, strided_view
from ..base.errors import hinted
from .conv import taps
from .conv_checks import output_lengths
from .elementwise.checks import INTEGERS
from .moving import copied
from .pool import surrounded
from .table import composite, functions, op, widened

# What PyTorch says of numbers that are too small: of kernel size, dilation, padding and stride.
_LEAST = (
    "kernel size should be greater than zero",
    "dilation should be greater than zero",
    "padding should be non-negative",
    "stride should be greater than zero",
)


def _pair(value, name):
    """An int or two of them as two ints."""
    if not isinstance(value, (tuple, list)):
        return (int(value),) * 2
    if len(value) != 2:
        raise RuntimeError(
            hinted(f"It is expected {name} equals to 2, but got size {len(value)}", "give one int, or two")
        )
    return tuple(int(v) for v in value)


def _unfold_arguments(kernel_size, dilation, padding, stride):
    names = ("kernel_size", "dilation", "padding", "stride")
    values = [_pair(v, n) for v, n in zip((kernel_size, dilation, padding, stride), names)]
    for (first, second), words, named in zip(values, _LEAST, ("kernel", "dilation", "pad", "stride")):
        if min(first, second) < (named != "pad"):
            raise RuntimeError(
                hinted(
                    f"{words}, but got {named}_height: {first} {named}_width: {second}",
                    "windows have a size and a step of at least 1; only the padding may be 0",
                )
            )
    return values


@op(
    "im2col(Tensor self, int[] kernel, int[] dilation, int[] padding, int[] stride) -> Tensor",
    names=(),
    node="Im2ColBackward0",
    refuse=INTEGERS,
)
class im2col:
    """Windows of (samples, channels, height, width) as columns (samples, channels x kernel, windows)."""

    kernel = "im2col_out_cpu"

    def forward(self, kernel, dilation, padding, stride):
        *samples, channels, height, width = self.shape
        out = output_lengths((height, width), kernel, stride, padding, dilation)
        if any(n <= 0 for n in out):
            raise RuntimeError(
                f"Given input with spatial size ({height}, {width}), kernel_size={tuple(kernel)}, "
                f"dilation={tuple(dilation)}, padding={tuple(padding)}, calculated shape of the array of sliding blocks as "
                f"{tuple(out)}, but its components must be at least one."
            )
        source = surrounded(self, padding, padding, 0)
        found = np.empty((*samples, channels, *kernel, *out), self.dtype)
        *lead, row, column = source.strides
        by_tap, by_window = ((row * rows, column * columns) for rows, columns in (dilation, stride))
        np.copyto(found, strided_view(source, found.shape, (*lead, *by_tap, *by_window)))
        return found.reshape(*samples, channels * math.prod(kernel), math.prod(out))

    def d_self(grad, shape, kernel, dilation, padding, stride):
        return functions.col2im(grad, shape[-2:], kernel, dilation, padding, stride)


@op(
    "col2im(Tensor self, int[] lengths, int[] kernel, int[] dilation, int[] padding, int[] stride) -> Tensor",
    names=(),
    node="Col2ImBackward0",
    refuse=INTEGERS,
)
class col2im:
    """Columns added up at the places of their windows: the gradient of `im2col`."""

    kernel = "col2im_out_cpu"

    def forward(self, lengths, kernel, dilation, padding, stride):
        *samples, rows, _ = self.shape
        out = output_lengths(lengths, kernel, stride, padding, dilation)
        channels = rows // math.prod(kernel)
        columns = widened(self).reshape(*samples, channels, *kernel, *out)
        found = np.zeros((*samples, channels, *(n + 2 * p for n, p in zip(lengths, padding))), columns.dtype)
        for place, window in taps(kernel, stride, dilation, out):
            found[(..., *window)] += columns[(..., *place, slice(None), slice(None))]
        inside = tuple(slice(p, p + n) for n, p in zip(lengths, padding))
        return np.ascontiguousarray(found[(..., *inside)]).astype(self.dtype, copy=False)

    def d_self(grad, kernel, dilation, padding, stride):
        return functions.im2col(grad, kernel, dilation, padding, stride)


@composite(names=("nn.functional:unfold",))
def unfold_windows(input, kernel_size, dilation=1, padding=0, stride=1):
    """Sliding windows of (samples, channels, height, width) as columns (samples, channels x kernel, windows)."""
    kernel, dilation, padding, stride = _unfold_arguments(kernel_size, dilation, padding, stride)
    shape = input._array.shape
    if len(shape) < 3:
        hint = "unfold takes (samples, channels, height, width) or (channels, height, width)"
        if not shape:
            raise IndexError(hinted("Dimension specified as 1 but tensor has no dimensions", hint))
        reach = f"[{-len(shape)}, {len(shape) - 1}]"
        raise IndexError(
            hinted(f"Dimension out of range (expected to be in range of {reach}, but got {len(shape)})", hint)
        )
    if len(shape) > 4 or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(input.shape)}"
        )
    return functions.im2col(input, kernel, dilation, padding, stride)


@composite(names=("nn.functional",))
def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns of windows added up to an image of ``output_size``: the reverse of `unfold`, overlaps summed."""
    lengths = _pair(output_size, "output_size")
    kernel, dilation, padding, stride = _unfold_arguments(kernel_size, dilation, padding, stride)
    if input.ndim not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    rows, columns = input.shape[-2:]
    if rows % math.prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={tuple(kernel)}."
        )
    out = output_lengths(lengths, kernel, stride, padding, dilation)
    windows = math.prod(out)
    if columns != windows:
        raise RuntimeError(
            f"Given output_size={tuple(lengths)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, stride={tuple(stride)}, expected size of input's dimension 2 to match the calculated "
            f"number of sliding blocks {' * '.join(map(str, out))} = {windows}, but got input.size(2)={columns}."
        )
    return functions.col2im(input, lengths, kernel, dilation, padding, stride)


# ---------------------------------------------------------------- shuffles


@op("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", names=("nn.functional", "torch"))
class pixel_shuffle:
    """(..., C r^2, H, W) as (..., C, H r, W r): channels moved into space (Shi et al., 2016)."""

    def forward(self, upscale_factor):
        r = upscale_factor
        _check_shuffle("pixel_shuffle", "upscale_factor", self.ndim, r)
        *lead, channels, height, width = self.shape
        if channels % (r * r):
            raise RuntimeError(
                "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
                f"but input.size(-3)={channels} is not divisible by {r * r}"
            )
        found = self.reshape(math.prod(lead), channels // (r * r), r, r, height, width).transpose(0, 1, 4, 2, 5, 3)
        found = copied(found).reshape(*lead, channels // (r * r), height * r, width * r)
        return laid_out_as(found, self)

    def d_self(grad, upscale_factor):
        return functions.pixel_unshuffle(grad, upscale_factor)


@op("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", names=("nn.functional", "torch"))
class pixel_unshuffle:
    """(..., C, H r, W r) as (..., C r^2, H, W): the reverse of `pixel_shuffle`."""

    def forward(self, downscale_factor):
        r = downscale_factor
        _check_shuffle("pixel_unshuffle", "downscale_factor", self.ndim, r)
        *lead, channels, height, width = self.shape
        for name, length, dim in (("height", height, -2), ("width", width, -1)):
            if length % r:
                raise RuntimeError(
                    f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={length} is "
                    f"not divisible by {r}"
                )
        found = self.reshape(math.prod(lead), channels, height // r, r, width // r, r).transpose(0, 1, 3, 5, 2, 4)
        found = copied(found).reshape(*lead, channels * r * r, height // r, width // r)
        return laid_out_as(found, self)

    def d_self(grad, downscale_factor):
        return functions.pixel_shuffle(grad, downscale_factor)


def _check_shuffle(name, argument, ndim, factor):
    if ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")


@op(
    "channel_shuffle(Tensor self, int groups) -> Tensor",
    names=("nn.functional", "torch", "torch:native_channel_shuffle", "nn.functional:native_channel_shuffle"),
)
class channel_shuffle:
    """Channels dealt out anew across ``groups`` (Zhang et al., 2018)."""

    def forward(self, groups):
        if self.ndim < 3:
            message = f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}"
            raise RuntimeError(hinted(message, "images have the shape (samples, channels, ...)"))
        samples, channels, *lengths = self.shape
        if groups <= 0:
            raise RuntimeError(
                hinted(
                    f"Number of groups to divide channels in must be positive. Value of groups:{groups}",
                    "the channels are dealt out across so many groups",
                )
            )
        if channels % groups:
            raise RuntimeError(
                f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
            )
        if is_channels_last(self):
            found = np.moveaxis(self, 1, -1).reshape(samples, *lengths, groups, channels // groups).swapaxes(-1, -2)
            return np.moveaxis(copied(found).reshape(samples, *lengths, channels), -1, 1)
        found = self.reshape(samples, groups, channels // groups, *lengths).swapaxes(1, 2)
        return copied(found).reshape(self.shape)

    def d_self(grad, shape, groups):
        return functions.channel_shuffle(grad, shape[1] // groups)
