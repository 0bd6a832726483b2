"""Transforms that change colours by chance: ColorJitter, RandomGrayscale, GaussianBlur, RandomErasing and their kin."""

from __future__ import annotations

import math

import numpy as np

from rushlight.nn import Module
from rushlight.ops.table import functions

from . import functional
from .draws import chance, integer, uniform
from .geometry import setup_size
from .random_geometry import check_sequence


class ColorJitter(Module):
    """Brightness, contrast, saturation and hue changed by random factors, in random order.

    A number b means factors from max(0, 1 - b) to 1 + b (for `hue`: shifts from -b to b, at most 0.5); a pair gives the
    range itself; 0 leaves that one out.

    >>> from rushlight.vision import transforms
    >>> transforms.ColorJitter(brightness=0.25)
    ColorJitter(brightness=(0.75, 1.25), contrast=None, saturation=None, hue=None)
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        super().__init__()
        self.brightness = factor_range(brightness, "brightness")
        self.contrast = factor_range(contrast, "contrast")
        self.saturation = factor_range(saturation, "saturation")
        self.hue = factor_range(hue, "hue", center=0, bound=(-0.5, 0.5), clip=False)

    @staticmethod
    def get_params(brightness, contrast, saturation, hue):
        """(order of the four as a tensor, brightness, contrast, saturation, hue), None for what is left out."""
        order = functions.randperm(4)
        drawn = (
            None if bounds is None else uniform(bounds[0], bounds[1])
            for bounds in (brightness, contrast, saturation, hue)
        )
        return order, *drawn

    def forward(self, img):
        """`img` recoloured."""
        order, *drawn = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        steps = (functional.adjust_brightness, functional.adjust_contrast,
                 functional.adjust_saturation, functional.adjust_hue)  # fmt: skip
        for index in order.tolist():
            if drawn[index] is not None:
                img = steps[index](img, drawn[index])
        return img

    def __repr__(self):
        return (
            f"{type(self).__name__}(brightness={self.brightness}, contrast={self.contrast}, "
            f"saturation={self.saturation}, hue={self.hue})"
        )


def factor_range(value, name, center=1, bound=(0, float("inf")), clip=True):
    """`value`, a number or a pair, as (low, high); None when it changes nothing."""
    if isinstance(value, int | float):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        value = [center - float(value), center + float(value)]
        if clip:
            value[0] = max(value[0], 0.0)
    elif isinstance(value, list | tuple) and len(value) == 2:
        value = [float(value[0]), float(value[1])]
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= value[0] <= value[1] <= bound[1]:
        raise ValueError(f"{name} values should be between {bound}, but got {value}.")
    return None if value[0] == value[1] == center else tuple(value)


class RandomGrayscale(Module):
    """The image in gray, with as many channels as before, with probability `p`."""

    on_arrays = "image"

    def __init__(self, p=0.1):
        super().__init__()
        self.p = p

    def forward(self, img):
        """`img` or its gray version."""
        channels = functional.get_image_num_channels(img)
        return functional.rgb_to_grayscale(img, channels) if chance(self.p) else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class GaussianBlur(Module):
    """The image blurred by a Gaussian whose sigma is drawn between `sigma` (one number: always that).

    `kernel_size` (odd) is one number or (x, y).

    >>> from rushlight.vision import transforms
    >>> transforms.GaussianBlur(3)
    GaussianBlur(kernel_size=(3, 3), sigma=(0.1, 2.0))
    """

    def __init__(self, kernel_size, sigma=(0.1, 2.0)):
        super().__init__()
        self.kernel_size = setup_size(kernel_size, "Kernel size should be a tuple/list of two integers")
        for size in self.kernel_size:
            if size <= 0 or size % 2 == 0:
                raise ValueError("Kernel size value should be an odd and positive number.")
        if isinstance(sigma, int | float):
            if sigma <= 0:
                raise ValueError("If sigma is a single number, it must be positive.")
            sigma = (sigma, sigma)
        elif isinstance(sigma, list | tuple) and len(sigma) == 2:
            if not 0.0 < sigma[0] <= sigma[1]:
                raise ValueError("sigma values should be positive and of the form (min, max).")
        else:
            check_sequence(sigma, "sigma", (2,))
        self.sigma = sigma

    @staticmethod
    def get_params(sigma_min, sigma_max):
        """A random sigma."""
        return uniform(sigma_min, sigma_max)

    def forward(self, img):
        """`img` blurred."""
        sigma = self.get_params(self.sigma[0], self.sigma[1])
        return functional.gaussian_blur(img, list(self.kernel_size), [sigma, sigma])

    def __repr__(self):
        return f"{type(self).__name__}(kernel_size={self.kernel_size}, sigma={self.sigma})"


class RandomErasing(Module):
    """A random box of a tensor image erased with probability `p`.

    The box takes between `scale` of the area, with height to width between `ratio`. `value` is a number, one number a
    channel, or ``"random"`` for normal noise.

    >>> from rushlight.vision import transforms
    >>> transforms.RandomErasing()
    RandomErasing(p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False)
    """

    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False):
        super().__init__()
        if not isinstance(value, int | float | str | tuple | list):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        for name, pair in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(pair, tuple | list):
                raise TypeError(f"{name} should be a sequence")
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if p < 0 or p > 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(img, scale, ratio, value=None):
        """(row, column, height, width, value) of a random box; the whole image, unchanged, after ten failures."""
        channels, height, width = img.shape[-3:]
        low, high = functions.log(functions.from_numpy(np.array(ratio, np.float32))).tolist()
        for _ in range(10):
            area = height * width * uniform(scale[0], scale[1])
            shape = functions.exp(functions.empty(1).uniform_(low, high)).item()
            tall, wide = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if not (tall < height and wide < width):
                continue
            if value is None:
                patch = functions.empty(channels, tall, wide).normal_()
            else:
                patch = functions.from_numpy(np.array(value, np.float32)).view(-1, 1, 1)
            row = integer(height - tall + 1)
            return row, integer(width - wide + 1), tall, wide, patch
        return 0, 0, height, width, img

    def forward(self, img):
        """`img`, or a copy with a box erased (`img` itself written to when `inplace`)."""
        if not chance(self.p):
            return img
        value = [float(self.value)] if isinstance(self.value, int | float) else self.value
        value = None if isinstance(value, str) else [float(part) for part in value]
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{img.shape[-3]} (number of input channels)"
            )
        row, column, height, width, patch = self.get_params(img, self.scale, self.ratio, value)
        return functional.erase(img, row, column, height, width, patch, self.inplace)

    def __repr__(self):
        return (
            f"{type(self).__name__}(p={self.p}, scale={self.scale}, ratio={self.ratio}, "
            f"value={self.value}, inplace={self.inplace})"
        )


class _WithProbability(Module):
    """Base of the transforms that do one fixed thing with probability `p`."""

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        """`img` changed or as it is."""
        return self.change(img) if chance(self.p) else img

    def change(self, img):
        """What happens with probability `p`."""
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class RandomInvert(_WithProbability):
    """The negative of the image with probability `p`."""

    def change(self, img):
        """The negative."""
        return functional.invert(img)


class RandomAutocontrast(_WithProbability):
    """The image with each channel stretched to the full range with probability `p`."""

    def change(self, img):
        """The stretched image."""
        return functional.autocontrast(img)


class RandomEqualize(_WithProbability):
    """The image with its histogram leveled with probability `p`."""

    def change(self, img):
        """The leveled image."""
        return functional.equalize(img)


class RandomPosterize(_WithProbability):
    """The image with `bits` bits a channel with probability `p`."""

    def __init__(self, bits, p=0.5):
        super().__init__(p)
        self.bits = bits

    def change(self, img):
        """The coarser image."""
        return functional.posterize(img, self.bits)

    def __repr__(self):
        return f"{type(self).__name__}(bits={self.bits},p={self.p})"


class RandomSolarize(_WithProbability):
    """The image with the pixels from `threshold` up inverted with probability `p`."""

    def __init__(self, threshold, p=0.5):
        super().__init__(p)
        self.threshold = threshold

    def change(self, img):
        """The solarized image."""
        return functional.solarize(img, self.threshold)

    def __repr__(self):
        return f"{type(self).__name__}(threshold={self.threshold},p={self.p})"


class RandomAdjustSharpness(_WithProbability):
    """The image sharpened by `sharpness_factor` with probability `p`."""

    def __init__(self, sharpness_factor, p=0.5):
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def change(self, img):
        """The sharpened image."""
        return functional.adjust_sharpness(img, self.sharpness_factor)

    def __repr__(self):
        return f"{type(self).__name__}(sharpness_factor={self.sharpness_factor},p={self.p})"
