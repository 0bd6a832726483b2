"""The functional transforms of tensor images (..., C, H, W) that change colours: brightness, hue, blur and the rest."""

from __future__ import annotations

import numpy as np

from rushlight.base import dtypes
from rushlight.nn import functional as nn_functional
from rushlight.ops.table import functions

from .tensor_casting import full_range, through_float

LUMA = (0.2989, 0.587, 0.114)


def check_channels(image, permitted):
    """Raise ``TypeError`` unless the image has one of the `permitted` numbers of channels."""
    channels = 1 if image.ndim == 2 else image.shape[-3]
    if channels not in permitted:
        raise TypeError(f"Input image tensor permitted channel values are {list(permitted)}, but found {channels}")


def blend(image, other, ratio):
    """``ratio * image + (1 - ratio) * other`` cut to the image's range, in its dtype."""
    ratio = float(ratio)  # a whole number would keep whole pixels whole, and wrap
    mixed = ratio * image + (1.0 - ratio) * other
    return mixed.clamp(0, full_range(image.dtype)).to(image.dtype)


def to_grayscale(image, channels):
    """ITU-R 601-2 luma of an RGB image, as one channel or repeated in three; a gray image keeps its numbers."""
    check_channels(image, (1, 3))
    if image.shape[-3] == 3:
        red, green, blue = image.unbind(-3)
        image = (LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue).to(image.dtype).unsqueeze(-3)
    else:
        image = image.clone()
    return image if channels == 1 else image.expand(*image.shape[:-3], 3, *image.shape[-2:])


def adjust_brightness(image, factor):
    """Towards black (0), unchanged (1), brighter (above)."""
    check_channels(image, (1, 3))
    return blend(image, functions.zeros_like(image), factor)


def adjust_contrast(image, factor):
    """Towards the mean gray (0), unchanged (1), stronger (above)."""
    check_channels(image, (1, 3))
    dtype = image.dtype if image.is_floating_point() else dtypes.float32
    gray = to_grayscale(image, 1) if image.shape[-3] == 3 else image
    return blend(image, gray.to(dtype).mean((-3, -2, -1), keepdim=True), factor)


def adjust_saturation(image, factor):
    """Towards gray (0), unchanged (1), more vivid (above); a gray image stays as it is."""
    check_channels(image, (1, 3))
    if image.shape[-3] == 1:
        return image
    dtype = image.dtype if image.is_floating_point() else dtypes.float32
    return blend(image, to_grayscale(image, 1).to(dtype), factor)


def adjust_gamma(image, gamma, gain):
    """``gain * image ** gamma`` on the scale 0 ... 1, cut to it."""
    result = image if image.is_floating_point() else to_unit(image)
    return from_unit((gain * result**gamma).clamp(0, 1), image.dtype)


def to_unit(image):
    """An integer image as float32 between 0 and 1."""
    return image.to(dtypes.float32) / full_range(image.dtype)


def from_unit(image, dtype):
    """A float image between 0 and 1 as `dtype`; integers by equal bins."""
    return image.to(dtype) if dtype.is_floating_point else image.mul(full_range(dtype) + 1.0 - 1e-3).to(dtype)


def adjust_hue(image, factor):
    """Turn the hue by `factor` of a full circle; a gray image stays as it is."""
    check_channels(image, (1, 3))
    if image.shape[-3] == 1:
        return image
    hue, saturation, value = hsv_from_rgb(image if image.is_floating_point() else to_unit(image))
    return from_unit(rgb_from_hsv((hue + factor) % 1.0, saturation, value), image.dtype)


def hsv_from_rgb(image):
    """Hue, saturation and value (each ..., H, W) of an RGB image between 0 and 1."""
    red, green, blue = image.unbind(-3)
    high, low = image.amax(-3), image.amin(-3)
    flat, spread = high == low, high - low
    one = functions.ones_like(high)
    divisor = functions.where(flat, one, spread)
    saturation = spread / functions.where(flat, one, high)
    from_red, from_green, from_blue = (high - red) / divisor, (high - green) / divisor, (high - blue) / divisor
    by_red = high == red
    by_green = (high == green) & ~by_red
    sector = functions.where(
        by_red,
        from_blue - from_green,
        functions.where(by_green, 2.0 + from_red - from_blue, 4.0 + from_green - from_red),
    )
    return functions.fmod(sector / 6.0 + 1.0, 1.0), saturation, high


def rgb_from_hsv(hue, saturation, value):
    """The RGB image (..., 3, H, W) of hue, saturation and value."""
    sector = functions.floor(hue * 6.0)
    part = hue * 6.0 - sector
    low = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    falling = (value * (1.0 - saturation * part)).clamp(0.0, 1.0)
    rising = (value * (1.0 - saturation * (1.0 - part))).clamp(0.0, 1.0)
    sector = (sector.to(dtypes.int64) % 6).unsqueeze(-3)
    channels = (
        (value, falling, low, low, rising, value),
        (rising, value, value, falling, low, low),
        (low, low, rising, value, value, falling),
    )
    return functions.cat([functions.stack(list(six), -3).gather(-3, sector) for six in channels], -3)


def adjust_sharpness(image, factor):
    """Blurred (0), unchanged (1), sharper (above); the outermost pixels stay."""
    check_channels(image, (1, 3))
    if image.shape[-1] <= 2 or image.shape[-2] <= 2:
        return image
    kernel = np.ones((3, 3), np.float32)
    kernel[1, 1] = 5.0
    kernel /= kernel.sum()
    blurred = image.clone()
    blurred[..., 1:-1, 1:-1] = through_float(image, lambda batch: filtered(batch, kernel))
    return blend(image, blurred, factor)


def filtered(batch, kernel):
    """Each channel of an NCHW batch convolved with one 2-d NumPy `kernel`, no padding."""
    channels = batch.shape[-3]
    weight = functions.from_numpy(kernel).to(batch.dtype).expand(channels, 1, *kernel.shape)
    return nn_functional.conv2d(batch, weight, groups=channels)


def gaussian_blur(image, kernel_size, sigma):
    """Blur with a Gaussian of `sigma` (x, y) cut to `kernel_size` (x, y), mirrored at the edges."""
    dtype = image.dtype.numpy if image.is_floating_point() else np.float32
    across, down = (gaussian(length, width, dtype) for length, width in zip(kernel_size, sigma))
    kernel = np.outer(down, across)
    border = [kernel_size[0] // 2, kernel_size[0] // 2, kernel_size[1] // 2, kernel_size[1] // 2]
    return through_float(image, lambda batch: filtered(nn_functional.pad(batch, border, mode="reflect"), kernel))


def gaussian(length, sigma, dtype):
    """`length` weights of a Gaussian around the middle, with sum 1."""
    half = (length - 1) * 0.5
    weights = np.exp(-0.5 * (np.linspace(-half, half, length, dtype=dtype) / np.asarray(sigma, dtype)) ** 2)
    return weights / weights.sum()


def invert(image):
    """White becomes black."""
    check_channels(image, (1, 3))
    return full_range(image.dtype) - image


def posterize(image, bits):
    """Keep the highest `bits` bits of each channel of a uint8 image."""
    if image.dtype is not dtypes.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {image.dtype}")
    check_channels(image, (1, 3))
    return image & (256 - 2 ** (8 - bits))


def solarize(image, threshold):
    """Invert the pixels at or above `threshold`."""
    check_channels(image, (1, 3))
    if threshold > full_range(image.dtype):
        raise TypeError("Threshold should be less than bound of img.")
    return functions.where(image >= threshold, invert(image), image)


def autocontrast(image):
    """Stretch each channel to the full range; a flat channel stays as it is."""
    check_channels(image, (1, 3))
    white = full_range(image.dtype)
    dtype = image.dtype if image.is_floating_point() else dtypes.float32
    low, high = image.amin((-2, -1), keepdim=True).to(dtype), image.amax((-2, -1), keepdim=True).to(dtype)
    flat = low == high
    scale = functions.where(flat, functions.ones_like(low), white / (high - low))
    return ((image - functions.where(flat, functions.zeros_like(low), low)) * scale).clamp(0, white).to(image.dtype)


def equalize(image):
    """Level each channel's histogram of a uint8 image."""
    if image.dtype is not dtypes.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {image.dtype}")
    check_channels(image, (1, 3))
    planes = image.numpy().reshape(-1, image.shape[-2] * image.shape[-1])
    return functions.from_numpy(np.stack([leveled(plane) for plane in planes]).reshape(image.shape))


def leveled(plane):
    """One channel with its histogram leveled: each level moves to its place among the pixels."""
    counts = np.bincount(plane, minlength=256)
    step = (plane.size - counts[plane.max()]) // 255 if plane.size else 0
    if step == 0:
        return plane
    table = np.concatenate([[0], (np.cumsum(counts) + step // 2)[:-1] // step])
    return np.clip(table, 0, 255).astype(np.uint8)[plane]
