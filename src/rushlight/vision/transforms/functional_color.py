"""The functional transforms that change colours: arguments are checked here, each form of image is served elsewhere."""

from __future__ import annotations

from ..images import is_pillow, is_tensor
from .conversion import pil_to_tensor, to_pil_image
from .forms import operation


def rgb_to_grayscale(img, num_output_channels=1):
    """The luma (ITU-R 601-2) of an RGB image, in 1 channel or repeated in 3.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.rgb_to_grayscale(torch.ones(3, 2, 2)).shape
    torch.Size([1, 2, 2])
    """
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    return operation("to_grayscale", img)(img, num_output_channels)


def to_grayscale(img, num_output_channels=1):
    """`rgb_to_grayscale` of a PIL image (or an array); ``TypeError`` for a tensor, as in torchvision."""
    if is_tensor(img):
        raise TypeError("Input should be PIL Image")
    return rgb_to_grayscale(img, num_output_channels)


def adjust_brightness(img, brightness_factor):
    """The image between black (factor 0) and itself (1), or brighter (above 1).

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.adjust_brightness(torch.full((1, 1, 2), 0.5), 0.5)
    tensor([[[0.2500, 0.2500]]])
    """
    check_factor(brightness_factor, "brightness_factor")
    return operation("adjust_brightness", img)(img, brightness_factor)


def adjust_contrast(img, contrast_factor):
    """The image between its mean gray (factor 0) and itself (1), or of stronger contrast (above 1)."""
    check_factor(contrast_factor, "contrast_factor")
    return operation("adjust_contrast", img)(img, contrast_factor)


def adjust_saturation(img, saturation_factor):
    """The image between gray (factor 0) and itself (1), or more vivid (above 1)."""
    check_factor(saturation_factor, "saturation_factor")
    return operation("adjust_saturation", img)(img, saturation_factor)


def adjust_sharpness(img, sharpness_factor):
    """The image between a blurred one (factor 0) and itself (1), or sharper (above 1)."""
    check_factor(sharpness_factor, "sharpness_factor")
    return operation("adjust_sharpness", img)(img, sharpness_factor)


def check_factor(factor, name):
    """Raise ``ValueError`` for a negative factor."""
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def adjust_hue(img, hue_factor):
    """The image with its hue turned by `hue_factor` (-0.5 to 0.5) of a full circle; gray images stay the same."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    return operation("adjust_hue", img)(img, hue_factor)


def adjust_gamma(img, gamma, gain=1):
    """``gain * image ** gamma`` with white as 1: below 1 lightens the shadows, above 1 darkens them."""
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    return operation("adjust_gamma", img)(img, gamma, gain)


def invert(img):
    """The negative of the image.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.invert(torch.tensor([[[0, 255]]], dtype=torch.uint8))
    tensor([[[255,   0]]], dtype=torch.uint8)
    """
    return operation("invert", img)(img)


def posterize(img, bits):
    """The image with only the `bits` (0 to 8) highest bits of each channel."""
    if not 0 <= bits <= 8:
        raise ValueError(f"The number if bits should be between 0 and 8. Got {bits}")
    return operation("posterize", img)(img, bits)


def solarize(img, threshold):
    """The image with the pixels at or above `threshold` inverted."""
    return operation("solarize", img)(img, threshold)


def autocontrast(img):
    """The image with each channel stretched to the full range."""
    return operation("autocontrast", img)(img)


def equalize(img):
    """The image with each channel's histogram leveled."""
    return operation("equalize", img)(img)


def gaussian_blur(img, kernel_size, sigma=None):
    """The image blurred by a Gaussian.

    `kernel_size` (odd) and `sigma` are one number or (x, y); `sigma` None means ``0.15 * kernel_size + 0.35``.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.gaussian_blur(torch.ones(1, 5, 5), 3).shape
    torch.Size([1, 5, 5])
    """
    kernel_size = sizes(kernel_size, "kernel_size", int)
    for size in kernel_size:
        if size % 2 == 0 or size < 0:
            raise ValueError(f"kernel_size should have odd and positive integers. Got {kernel_size}")
    sigma = [size * 0.15 + 0.35 for size in kernel_size] if sigma is None else sizes(sigma, "sigma", (int, float))
    for width in sigma:
        if width <= 0.0:
            raise ValueError(f"sigma should have positive values. Got {sigma}")
    if is_pillow(img):
        return to_pil_image(gaussian_blur(pil_to_tensor(img), kernel_size, sigma), mode=img.mode)
    return operation("gaussian_blur", img)(img, kernel_size, sigma)


def sizes(value, name, kind):
    """`value` as [x, y], from one number or a sequence of two."""
    if not isinstance(value, (kind, list, tuple) if isinstance(kind, type) else (*kind, list, tuple)):
        raise TypeError(f"{name} should be {'int' if kind is int else 'either float'} or a sequence. Got {type(value)}")
    value = list(value) if isinstance(value, list | tuple) else [value, value]
    if name == "sigma" and len(value) == 1:
        value *= 2
    if len(value) != 2:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(value)}")
    return value


def erase(img, i, j, h, w, v, inplace=False):
    """A tensor image with the `h` x `w` box at row `i`, column `j` set to `v` (a number or a tensor that broadcasts).

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.erase(torch.ones(1, 2, 2), 0, 0, 1, 2, 0.0)
    tensor([[[0., 0.],
             [1., 1.]]])
    """
    if not is_tensor(img):
        raise TypeError(f"img should be Tensor Image. Got {type(img)}")
    if not inplace:
        img = img.clone()
    img[..., i : i + h, j : j + w] = v
    return img
