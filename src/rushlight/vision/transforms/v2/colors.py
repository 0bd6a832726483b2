"""Colours of samples where the second version does more than the first: floats, Pillow images, permuted channels, noise."""

from __future__ import annotations

import warnings

from rushlight.base import dtypes
from rushlight.base.errors import hinted
from rushlight.ops.table import functions

from ...images import is_pillow, is_tensor
from ...tv_tensors import BoundingBoxes, Mask
from .. import functional, random_color
from ..conversion import pil_to_tensor, to_pil_image
from ..draws import chance, uniform
from .conversion import to_dtype
from .joint import ColorsOnly, Transform, changed, is_image, on_image, second_version

__all__ = [
    "GaussianNoise",
    "RGB",
    "RandomChannelPermutation",
    "RandomEqualize",
    "RandomErasing",
    "RandomPhotometricDistort",
    "RandomPosterize",
]


def of_image(function):
    """`function` of a plain image as one of images and videos that say so, which keep their class."""

    def of_any(inpt, *args, **kwargs):
        if isinstance(inpt, (BoundingBoxes, Mask)):
            raise TypeError(
                hinted(
                    f"Functional F.{function.__name__} supports inputs of images and videos but got {type(inpt)} instead.",
                    "the transforms of v2 pass boxes and masks through",
                )
            )
        return on_image(inpt, function, *args, **kwargs)

    of_any.__name__, of_any.__doc__, of_any.__wrapped__ = function.__name__, function.__doc__, function
    return of_any


def through_tensor(function):
    """`function` of a tensor image as one of Pillow images too."""

    def of_both(image, *args, **kwargs):
        if is_pillow(image):
            return to_pil_image(function(pil_to_tensor(image), *args, **kwargs), mode=image.mode)
        return function(image, *args, **kwargs)

    of_both.__name__, of_both.__doc__, of_both.__wrapped__ = function.__name__, function.__doc__, function
    return of_image(of_both)


@of_image
def posterize(image, bits):
    """The image with only the `bits` (0 to 8) highest bits of each channel; floats in as many steps."""
    if not isinstance(bits, int) or not 0 <= bits <= 8:
        raise TypeError(f"bits must be a positive integer in the range [0, 8], got {bits} instead.")
    if not (is_tensor(image) and image.is_floating_point()):
        return functional.posterize(image, bits)
    steps = 1 << bits
    return (image * steps).floor().clamp(0, steps - 1) * (1.0 / steps)


@of_image
def equalize(image):
    """The image with each channel's histogram leveled; other tensors than uint8 go through it."""
    if not is_tensor(image) or image.dtype is dtypes.uint8:
        return functional.equalize(image)
    return to_dtype(functional.equalize(to_dtype(image, dtypes.uint8, scale=True)), image.dtype, scale=True)


@through_tensor
def erase(image, i, j, h, w, v, inplace=False):
    """An image with the `h` x `w` box at row `i`, column `j` set to `v` (a number or a tensor that broadcasts)."""
    return functional.erase(image, i, j, h, w, v, inplace)


@through_tensor
def permute_channels(image, permutation):
    """The image with its channels in the order of `permutation`."""
    channels = functional.get_image_num_channels(image)
    if len(permutation) != channels:
        raise ValueError(f"Length of permutation does not match number of channels: {len(permutation)} != {channels}")
    return image.index_select(-3, functions.as_tensor(permutation))


@of_image
def grayscale_to_rgb(image):
    """A gray image in three equal channels; one that has three stays as it is."""
    if functional.get_image_num_channels(image) >= 3:
        return image
    return functional.rgb_to_grayscale(image, 3) if is_tensor(image) else functional.to_grayscale(image, 3)


@of_image
def gaussian_noise(image, mean=0.0, sigma=0.1, clip=True):
    """A tensor image, uint8 or floats, with normal noise, measured on the scale 0 ... 1; `clip` cuts it to its range."""
    if is_pillow(image):
        raise ValueError("Gaussian Noise is not implemented for PIL images.")
    if sigma < 0:
        raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
    if image.is_floating_point():
        noisy, white = image + (mean + functions.randn_like(image) * sigma), 1
    elif image.dtype is dtypes.uint8:
        noise = mean * 255 + functions.randn_like(image, dtype=dtypes.float32) * (sigma * 255)
        noisy, white = image + noise.to(dtypes.int16), 255
    else:
        raise ValueError(f"Input tensor is expected to be in uint8 or float dtype, got dtype={image.dtype}")
    return (noisy.clamp(0, white) if clip else noisy).to(image.dtype)


class Posterizing(ColorsOnly):
    """Fewer bits, of floats too."""

    def change(self, img):
        """The coarser image."""
        return posterize(img, self.bits)


class Equalizing(ColorsOnly):
    """Leveled histograms, of floats too."""

    def change(self, img):
        """The leveled image."""
        return equalize(img)


class Erasing(ColorsOnly):
    """A box erased, in Pillow images too."""

    def forward(self, *inputs):
        """The sample, changed or not."""
        return changed(self, inputs)

    def transform(self, inpt, params):
        if isinstance(inpt, (BoundingBoxes, Mask)):
            warnings.warn(
                f"{type(self).__name__}() is currently passing through inputs of type tv_tensors.{type(inpt).__name__}. "
                "This will likely change in the future."
            )
        if is_pillow(inpt):
            return to_pil_image(super().transform(pil_to_tensor(inpt), params), mode=inpt.mode)
        return super().transform(inpt, params)


RandomPosterize = second_version(random_color.RandomPosterize, Posterizing)
RandomEqualize = second_version(random_color.RandomEqualize, Equalizing)
RandomErasing = second_version(random_color.RandomErasing, Erasing)


class ImageTransform(Transform):
    """A transform of the images of a sample; boxes and masks pass."""

    def transform(self, inpt, params):
        return self._act(inpt, **params) if is_image(inpt) else inpt


class RGB(ImageTransform):
    """Gray images of a sample in three equal channels; others as they are."""

    _act = staticmethod(grayscale_to_rgb)


class RandomChannelPermutation(ImageTransform):
    """The channels of an image in random order."""

    _act = staticmethod(permute_channels)

    def make_params(self, flat_inputs):
        return {"permutation": functions.randperm(channels_of(flat_inputs))}


class GaussianNoise(ImageTransform):
    """Tensor images with normal noise; see ``v2.functional.gaussian_noise``."""

    def __init__(self, mean=0.0, sigma=0.1, clip=True):
        super().__init__()
        self.mean = mean
        self.sigma = sigma
        self.clip = clip

    def _act(self, image):
        return gaussian_noise(image, self.mean, self.sigma, self.clip)


class RandomPhotometricDistort(ImageTransform):
    """Brightness, contrast, saturation and hue by random factors, and channels in random order, each with probability `p`.

    The distortion of SSD (Liu and others, 2015); contrast comes before or after saturation and hue, by chance.
    """

    def __init__(self, brightness=(0.875, 1.125), contrast=(0.5, 1.5), saturation=(0.5, 1.5), hue=(-0.05, 0.05), p=0.5):
        super().__init__()
        self.brightness = brightness
        self.contrast = contrast
        self.hue = hue
        self.saturation = saturation
        self.p = p

    def make_params(self, flat_inputs):
        bounds = (self.brightness, self.contrast, self.saturation, self.hue)
        factors = [uniform(*pair) if chance(self.p) else None for pair in bounds]
        early = chance(0.5)
        order = functions.randperm(channels_of(flat_inputs)) if chance(self.p) else None
        return {"factors": factors, "early": early, "order": order}

    def _act(self, image, factors, early, order):
        brightness, contrast, saturation, hue = factors
        first, last = (contrast, None) if early else (None, contrast)
        for adjust, factor in (
            (functional.adjust_brightness, brightness),
            (functional.adjust_contrast, first),
            (functional.adjust_saturation, saturation),
            (functional.adjust_hue, hue),
            (functional.adjust_contrast, last),
            (permute_channels, order),
        ):
            if factor is not None:
                image = on_image(image, adjust, factor)
        return image


def channels_of(leaves):
    """The number of channels of a sample's images, on which they must agree."""
    found = {functional.get_image_num_channels(leaf) for leaf in leaves if is_image(leaf)}
    if not found:
        raise TypeError("No image or video was found in the sample")
    if len(found) > 1:
        raise ValueError(f"Found multiple CxHxW dimensions in the sample: {sorted(found)}")
    return found.pop()
