"""Fractional max pooling: windows at random steps that cover an image in any number of rows and columns."""

import math

import numpy as np

from ..base.errors import hinted
from .create import negative_size
from .pool import dimension_name
from .table import composite, functions, op, widened

_AXES = {2: ("height", "width"), 3: ("time", "height", "width")}


def _window_positions(samples, length, window, count):
    """Where the windows lie along a dimension of ``length``: (images, count, window), from one random number each."""
    starts = np.full((len(samples), count), length - window)
    if count > 1:
        kind, samples = samples.dtype.type, samples[:, None]
        step = kind(length - window) / kind(count - 1)
        shifted = (np.arange(count - 1, dtype=kind) + samples) * step
        starts[:, :-1] = shifted.astype(np.int64) - (samples * step).astype(np.int64)
    return starts[:, :, None] + np.arange(window)


@op(
    "fractional_max_pool(Tensor self, Tensor samples, int[] window, int[] count) -> (Tensor, Tensor)",
    names=(),
    node=dimension_name("FractionalMaxPool", "Backward0", 2),
)
class fractional_max_pool:
    """The largest value of each window of (images, *lengths), and its flat position in the image.

    ``samples`` (images, dims) holds a number in [0, 1) for each dimension; there are ``count`` windows along each.
    """

    beside = ("self",)

    def forward(self, samples, window, count):
        images, lengths = self.shape[0], self.shape[1:]
        flat = np.zeros((images, *[1] * (2 * len(window))), np.int64)
        for axis, length in enumerate(lengths):
            along = _window_positions(widened(samples[:, axis]), length, window[axis], count[axis])
            shape = [images, *[1] * (2 * len(window))]
            shape[1 + axis], shape[1 + len(window) + axis] = count[axis], window[axis]
            flat = flat * length + along.reshape(shape)
        flat = flat.reshape(images, *count, math.prod(window))
        pixels, places = self.reshape(images, math.prod(lengths)), flat.reshape(images, math.prod(flat.shape[1:]))
        values = np.take_along_axis(pixels, places, 1).reshape(flat.shape)
        nan = np.isnan(widened(values))  # the last one wins; of numbers the first
        best = np.where(nan.any(-1), values.shape[-1] - 1 - nan[..., ::-1].argmax(-1), values.argmax(-1))[..., None]
        return np.take_along_axis(values, best, -1)[..., 0], np.take_along_axis(flat, best, -1)[..., 0]

    def d_self(grad, self, result1):
        flat = functions.zeros_like(self).flatten(1).scatter_add(1, result1.flatten(1), grad.flatten(1))
        return flat.view(self.shape)

    def samples():
        draw = np.random.default_rng(0)
        yield (draw.standard_normal((2, 5, 6)), draw.random((2, 2)), (2, 3), (3, 2)), {}


def _sizes(name, value, dims, what):
    sizes = (value,) * dims if isinstance(value, int) else tuple(value)
    if len(sizes) != dims:
        raise RuntimeError(f"{name}: {what} must either be a single Int or tuple of Ints")
    return sizes


def _counts(name, input, dims, output_size, output_ratio):
    if output_size is None and output_ratio is None:
        raise ValueError(
            hinted(f"{name} requires specifying either an output_size or an output_ratio", "give one of them")
        )
    if output_size is not None:
        return _sizes(name, output_size, dims, "output_size")
    ratios = (output_ratio,) * dims if isinstance(output_ratio, float) else tuple(output_ratio)
    if len(ratios) != dims:
        raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
    return tuple(int(input.size(axis - dims) * ratio) for axis, ratio in enumerate(ratios))


def _check_images(name, dims, input):
    """PyTorch's refusals of what is no batch of images, or has none."""
    shape = list(input.shape)
    label = f"{name}()" if dims == 2 else f"{name}_out()"
    hint = f"the input has the shape ([samples,] channels, {', '.join(_AXES[dims])})"
    if len(shape) <= dims:
        message = f"Dimension out of range (expected to be in range of [{-max(len(shape), 1)}, {max(len(shape) - 1, 0)}], but got {-dims - 1})"
        message = message if shape else "Dimension specified as 0 but tensor has no dimensions"
        raise IndexError(hinted(message, hint))
    if len(shape) > dims + 2:
        raise RuntimeError(hinted(f"{label}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {shape}", hint))
    for dim in range(1, len(shape)):
        if not shape[dim]:
            message = f"{label}: Expected input to have non-zero size for non-batch dimensions, but got{shape} with dimension {dim} being empty."
            raise RuntimeError(hinted(message, hint))
    if input.is_complex():
        message = f"\"{name}_out_frame\" not implemented for '{input.dtype.legacy_name}'"
        raise NotImplementedError(hinted(message, "convert the images with .float()"))


def _check_sizes(name, input, window, count):
    dims = len(window)
    # PyTorch's volumes need one more element than its images do.
    label, spare = (f"{name}()", 0) if dims == 2 else (f"{name}_out()", 1)
    for axis, word in enumerate(_AXES[dims]):
        length = input.shape[axis - dims]
        if count[axis] + window[axis] - 1 + spare > length:
            raise RuntimeError(
                hinted(
                    f"{label}: pool {word} {window[axis]} too large relative to input {word} {length}",
                    f"{count[axis]} windows of {window[axis]} with steps of at least one do not fit into {length}",
                )
            )


def _pool(name, dims, input, kernel_size, output_size, output_ratio, return_indices, samples):
    count = _counts(name, input, dims, output_size, output_ratio)
    window = _sizes(name, kernel_size, dims, "kernel_size")
    if input.dim() != dims + 1 or not input.numel() or input.is_complex():
        _check_images(name, dims, input)
    channels = input.shape[:-dims]
    if samples is None:
        samples = functions.rand(
            1 if len(channels) == 1 else channels[0], channels[-1], dims, dtype=input.dtype, device=input.device
        )
    if samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
    if samples.shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}.")
    if min(count) < 0:
        raise negative_size((*input.shape[:-dims], *count), None)
    if min(window) < 1:
        raise RuntimeError(
            hinted(f"{name}(): kernel sizes must be positive, got {window}", "an empty window has no largest element")
        )
    _check_sizes(name, input, window, count)
    images = input.reshape(math.prod(channels), *input.shape[-dims:])
    samples = samples.reshape(-1, dims)[: len(images)]
    # In two dimensions the first number drawn is the width's, in three the depth's.
    values, places = functions.fractional_max_pool(images, samples.flip(1) if dims == 2 else samples, window, count)
    values = values.view(*channels, *count)
    return (values, places.view(*channels, *count)) if return_indices else values


@composite(names=("nn.functional",))
def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """Max pooling of (N, C, H, W) or (C, H, W) to ``output_size``, or ``output_ratio`` times the size, by random steps.

    After Graham, "Fractional Max-Pooling" (2014). Follows ``torch.nn.functional.fractional_max_pool2d``.

    >>> import rushlight as torch
    >>> torch.nn.functional.fractional_max_pool2d(torch.randn(1, 2, 8, 8), 2, output_size=(3, 4)).shape
    torch.Size([1, 2, 3, 4])
    """
    return _pool(
        "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


@composite(names=("nn.functional",))
def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """Max pooling of (N, C, D, H, W) or (C, D, H, W) as in ``fractional_max_pool2d``.

    Follows ``torch.nn.functional.fractional_max_pool3d``.
    """
    return _pool(
        "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


@composite(names=("nn.functional",))
def fractional_max_pool2d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """``fractional_max_pool2d`` and the flat positions of the largest elements, whatever ``return_indices`` says.

    Follows ``torch.nn.functional.fractional_max_pool2d_with_indices``.
    """
    return _pool("fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, True, _random_samples)


@composite(names=("nn.functional",))
def fractional_max_pool3d_with_indices(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """``fractional_max_pool3d`` and the flat positions of the largest elements, whatever ``return_indices`` says.

    Follows ``torch.nn.functional.fractional_max_pool3d_with_indices``.
    """
    return _pool("fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, True, _random_samples)
