"""Transforms without chance that move pixels: Resize, CenterCrop, Pad, FiveCrop, TenCrop, and Grayscale beside them."""

from __future__ import annotations

import numpy as np

from rushlight.nn import Module

from . import functional, on_array
from .interpolation import InterpolationMode, as_mode


def setup_size(size, message):
    """`size` as (height, width): one number, or a sequence of one or two; ``ValueError`` with `message` otherwise."""
    if isinstance(size, int | float):
        return int(size), int(size)
    if isinstance(size, list | tuple) and len(size) == 1:
        return size[0], size[0]
    if len(size) != 2:
        raise ValueError(message)
    return size


TWO_NUMBERS = "Please provide only two dimensions (h, w) for size."


class Resize(Module):
    """The image in another size: (height, width), or one number for the shorter edge; see ``functional.resize``.

    >>> from rushlight.vision import transforms
    >>> transforms.Resize(32)
    Resize(size=32, interpolation=bilinear, max_size=None, antialias=True)
    """

    def __init__(self, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
        super().__init__()
        if not isinstance(size, int | list | tuple):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if isinstance(size, list | tuple) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.max_size = max_size
        self.interpolation = as_mode(interpolation)
        self.antialias = antialias

    @property
    def on_arrays(self):
        """Arrays for squares only: which direction Pillow resizes first in other cases depends on its version."""
        return "image" if isinstance(self.size, int) or len(set(self.size)) == 1 else None

    def forward(self, img):
        """`img` resized."""
        return functional.resize(img, self.size, self.interpolation, self.max_size, self.antialias)

    def batch(self, images):
        """An NxHxW or NxHxWxC uint8 array of square images resized."""
        if not isinstance(images, np.ndarray) or images.shape[1] != images.shape[2] or self.on_arrays is None:
            return NotImplemented
        size = functional.resized_size(images[0], self.size, self.max_size)
        return on_array.resize(images, size, self.interpolation, rows=1)

    def __repr__(self):
        return (
            f"{type(self).__name__}(size={self.size}, interpolation={self.interpolation.value}, "
            f"max_size={self.max_size}, antialias={self.antialias})"
        )


class CenterCrop(Module):
    """The middle of the image, `size` one number or (height, width); see ``functional.center_crop``.

    >>> import rushlight as torch
    >>> from rushlight.vision import transforms
    >>> transforms.CenterCrop(2)(torch.arange(16).view(1, 4, 4))
    tensor([[[ 5,  6],
             [ 9, 10]]])
    """

    on_arrays = "image"

    def __init__(self, size):
        super().__init__()
        self.size = setup_size(size, TWO_NUMBERS)

    def forward(self, img):
        """`img` cropped."""
        return functional.center_crop(img, self.size)

    def batch(self, images):
        """An NxHxW or NxHxWxC uint8 array cropped, when the images are large enough."""
        if not isinstance(images, np.ndarray):
            return NotImplemented
        (tall, wide), (height, width) = images.shape[1:3], self.size
        if height > tall or width > wide:
            return NotImplemented
        corner = round((tall - height) / 2.0), round((wide - width) / 2.0)
        return on_array.crop(images, *corner, height, width, rows=1)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"


def plain_border(padding, fill):
    """Whether a border means the same for an array as for a Pillow image: no negative width, no named colour."""
    return not isinstance(fill, str) and min([padding] if isinstance(padding, int | float) else padding) >= 0


class Pad(Module):
    """The image with a border; see ``functional.pad``.

    >>> import rushlight as torch
    >>> from rushlight.vision import transforms
    >>> transforms.Pad(2)(torch.zeros(1, 28, 28)).shape
    torch.Size([1, 32, 32])
    """

    def __init__(self, padding, fill=0, padding_mode="constant"):
        super().__init__()
        if not isinstance(padding, int | float | tuple | list):
            raise TypeError("Got inappropriate padding arg")
        if not isinstance(fill, int | float | str | tuple | list):
            raise TypeError("Got inappropriate fill arg")
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        if isinstance(padding, list | tuple) and len(padding) not in (1, 2, 4):
            raise ValueError(
                f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
            )
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    @property
    def on_arrays(self):
        """Arrays, unless the colour is named or the border negative, which Pillow reads its own way."""
        return "image" if plain_border(self.padding, self.fill) else None

    def forward(self, img):
        """`img` with its border."""
        return functional.pad(img, self.padding, self.fill, self.padding_mode)

    def __repr__(self):
        return f"{type(self).__name__}(padding={self.padding}, fill={self.fill}, padding_mode={self.padding_mode})"


class FiveCrop(Module):
    """The four corners and the middle, `size` each: a tuple of five images; see ``functional.five_crop``."""

    def __init__(self, size):
        super().__init__()
        self.size = setup_size(size, TWO_NUMBERS)

    def forward(self, img):
        """Five images."""
        return functional.five_crop(img, self.size)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"


class TenCrop(Module):
    """`FiveCrop` of the image and of its mirror image: a tuple of ten images; see ``functional.ten_crop``."""

    def __init__(self, size, vertical_flip=False):
        super().__init__()
        self.size = setup_size(size, TWO_NUMBERS)
        self.vertical_flip = vertical_flip

    def forward(self, img):
        """Ten images."""
        return functional.ten_crop(img, self.size, self.vertical_flip)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size}, vertical_flip={self.vertical_flip})"


class Grayscale(Module):
    """The luma of an RGB image in 1 or 3 channels; see ``functional.rgb_to_grayscale``."""

    on_arrays = "image"

    def __init__(self, num_output_channels=1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img):
        """`img` in gray."""
        return functional.rgb_to_grayscale(img, self.num_output_channels)

    def batch(self, images):
        """An NxHxW or NxHxWx3 uint8 array in gray."""
        if not isinstance(images, np.ndarray) or self.num_output_channels not in (1, 3):
            return NotImplemented
        return on_array.to_grayscale(images, self.num_output_channels, rows=1)

    def __repr__(self):
        return f"{type(self).__name__}(num_output_channels={self.num_output_channels})"
