"""Transforms that move pixels by chance: crops, flips, rotations, affine and perspective maps."""

from __future__ import annotations

import math
import warnings

import numpy as np

from rushlight.nn import Module
from rushlight.ops.table import functions

from ..images import is_tensor
from . import functional
from .draws import chance, integer, uniform
from .geometry import TWO_NUMBERS, plain_border, setup_size
from .interpolation import InterpolationMode, as_mode

NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


class RandomCrop(Module):
    """A box of `size` (one number or (height, width)) at a random place.

    `padding` surrounds the image first; `pad_if_needed` also pads an image that is too small, on both sides. `fill` and
    `padding_mode` as in ``functional.pad``. Raises ``ValueError`` when the image is smaller than the box.

    >>> from rushlight.vision import transforms
    >>> transforms.RandomCrop(32, padding=4)
    RandomCrop(size=(32, 32), padding=4)
    """

    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant"):
        super().__init__()
        self.size = tuple(setup_size(size, TWO_NUMBERS))
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @property
    def on_arrays(self):
        """Arrays, unless the colour is named or the border negative, which Pillow reads its own way."""
        return "image" if plain_border(self.padding or 0, self.fill) else None

    @staticmethod
    def get_params(img, output_size):
        """(top, left, height, width) of a random box of `output_size` (height, width)."""
        _, tall, wide = functional.get_dimensions(img)
        height, width = output_size
        if tall < height or wide < width:
            raise ValueError(f"Required crop size {(height, width)} is larger than input image size {(tall, wide)}")
        if (tall, wide) == (height, width):
            return 0, 0, tall, wide
        top = integer(tall - height + 1)
        return top, integer(wide - width + 1), height, width

    def forward(self, img):
        """A box of `img`."""
        if self.padding is not None:
            img = functional.pad(img, self.padding, self.fill, self.padding_mode)
        _, tall, wide = functional.get_dimensions(img)
        if self.pad_if_needed and wide < self.size[1]:
            img = functional.pad(img, [self.size[1] - wide, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and tall < self.size[0]:
            img = functional.pad(img, [0, self.size[0] - tall], self.fill, self.padding_mode)
        return functional.crop(img, *self.get_params(img, self.size))

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size}, padding={self.padding})"


class RandomResizedCrop(Module):
    """A random box, between `scale` of the image's area and `ratio` (width to height) in shape, resized to `size`.

    >>> import rushlight as torch
    >>> from rushlight.vision import transforms
    >>> transforms.RandomResizedCrop(8)(torch.zeros(3, 20, 30)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation=BILINEAR, antialias=True):
        super().__init__()
        self.size = setup_size(size, TWO_NUMBERS)
        for name, value in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(value, list | tuple):
                raise TypeError(f"{name} should be a sequence")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)")
        self.interpolation = as_mode(interpolation)
        self.antialias = antialias
        self.scale = scale
        self.ratio = ratio

    @staticmethod
    def get_params(img, scale, ratio):
        """(top, left, height, width) of a random box; the largest middle box of fitting shape after ten failures."""
        _, height, width = functional.get_dimensions(img)
        narrow, broad = functions.log(_tensor(ratio)).tolist()
        for _ in range(10):
            area = height * width * uniform(scale[0], scale[1])
            shape = functions.exp(functions.empty(1).uniform_(narrow, broad)).item()
            wide, tall = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < wide <= width and 0 < tall <= height:
                top = integer(height - tall + 1)
                return top, integer(width - wide + 1), tall, wide
        wide, tall = width, height
        if width / height < min(ratio):
            tall = round(wide / min(ratio))
        elif width / height > max(ratio):
            wide = round(tall * max(ratio))
        return (height - tall) // 2, (width - wide) // 2, tall, wide

    def forward(self, img):
        """A box of `img`, resized."""
        top, left, height, width = self.get_params(img, self.scale, self.ratio)
        return functional.resized_crop(
            img, top, left, height, width, self.size, self.interpolation, antialias=self.antialias
        )

    def __repr__(self):
        scale, ratio = (tuple(round(part, 4) for part in pair) for pair in (self.scale, self.ratio))
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


def _tensor(numbers):
    """A list of numbers as a float32 tensor."""
    return functions.from_numpy(np.array(numbers, np.float32))


class RandomHorizontalFlip(Module):
    """The image mirrored left to right with probability `p`.

    >>> import rushlight as torch
    >>> from rushlight.vision import transforms
    >>> transforms.RandomHorizontalFlip(p=1)(torch.tensor([[[1, 2]]]))
    tensor([[[2, 1]]])
    """

    on_arrays = "image"

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        """`img` or its mirror image."""
        return functional.hflip(img) if chance(self.p) else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


class RandomVerticalFlip(Module):
    """The image mirrored top to bottom with probability `p`."""

    on_arrays = "image"

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        """`img` or its mirror image."""
        return functional.vflip(img) if chance(self.p) else img

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"


def setup_angle(angle, name, lengths=(2,)):
    """`angle` as a list of floats: one number means from its negative to itself."""
    if isinstance(angle, int | float):
        if angle < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        angle = [-angle, angle]
    else:
        check_sequence(angle, name, lengths)
    return [float(part) for part in angle]


def check_sequence(value, name, lengths):
    """``TypeError`` unless `value` is a sequence, ``ValueError`` unless its length is one of `lengths`."""
    allowed = " or ".join(str(length) for length in lengths)
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} should be a sequence of length {allowed}.")
    if len(value) not in lengths:
        raise ValueError(f"{name} should be a sequence of length {allowed}.")


def channel_fill(fill, img):
    """`fill` as one float for each channel of a tensor image; as it is for other images."""
    if not is_tensor(img):
        return fill
    return [float(part) for part in fill] if isinstance(fill, list | tuple) else [float(fill)] * img.shape[-3]


class RandomRotation(Module):
    """The image turned by a random angle between `degrees` (one number: plus or minus); see ``functional.rotate``.

    >>> from rushlight.vision import transforms
    >>> transforms.RandomRotation(10)
    RandomRotation(degrees=[-10.0, 10.0], interpolation=nearest, expand=False, fill=0)
    """

    def __init__(self, degrees, interpolation=NEAREST, expand=False, center=None, fill=0):
        super().__init__()
        self.degrees = setup_angle(degrees, "degrees")
        if center is not None:
            check_sequence(center, "center", (2,))
        self.interpolation = as_mode(interpolation)
        self.expand = expand
        self.center = center
        self.fill = checked_fill(fill)

    @property
    def on_arrays(self):
        """Arrays, where the interpolation is written for them."""
        return "image" if self.interpolation in (NEAREST, BILINEAR) else None

    @staticmethod
    def get_params(degrees):
        """A random angle."""
        return uniform(degrees[0], degrees[1])

    def forward(self, img):
        """`img` turned."""
        fill = channel_fill(self.fill, img)
        angle = self.get_params(self.degrees)
        return functional.rotate(img, angle, self.interpolation, self.expand, self.center, fill)

    def __repr__(self):
        parts = f"degrees={self.degrees}, interpolation={self.interpolation.value}, expand={self.expand}"
        parts += f", center={self.center}" if self.center is not None else ""
        parts += f", fill={self.fill}" if self.fill is not None else ""
        return f"{type(self).__name__}({parts})"


def checked_fill(fill):
    """`fill`, 0 for None; ``TypeError`` unless it is a number or a sequence."""
    if fill is None:
        return 0
    if not isinstance(fill, int | float | list | tuple):
        raise TypeError("Fill should be either a sequence or a number.")
    return fill


class RandomAffine(Module):
    """A random affine map that keeps the centre; see ``functional.affine``.

    `degrees` is the range of the angle; `translate` the largest shift as a share of the image's (width, height);
    `scale` the range of the factor; `shear` the range of the angle along x (one number, or two), or along x and y
    (four). None leaves that part out.

    >>> from rushlight.vision import transforms
    >>> transforms.RandomAffine(10, translate=(0.1, 0.1))
    RandomAffine(degrees=[-10.0, 10.0], translate=(0.1, 0.1))
    """

    def __init__(self, degrees, translate=None, scale=None, shear=None, interpolation=NEAREST, fill=0, center=None):
        super().__init__()
        self.interpolation = as_mode(interpolation)
        self.degrees = setup_angle(degrees, "degrees")
        if translate is not None:
            check_sequence(translate, "translate", (2,))
            if not all(0.0 <= part <= 1.0 for part in translate):
                raise ValueError("translation values should be between 0 and 1")
        self.translate = translate
        if scale is not None:
            check_sequence(scale, "scale", (2,))
            if min(scale) <= 0:
                raise ValueError("scale values should be positive")
        self.scale = scale
        self.shear = None if shear is None else setup_angle(shear, "shear", (2, 4))
        self.fill = checked_fill(fill)
        if center is not None:
            check_sequence(center, "center", (2,))
        self.center = center

    @property
    def on_arrays(self):
        """Arrays, where the interpolation is written for them."""
        return "image" if self.interpolation in (NEAREST, BILINEAR) else None

    @staticmethod
    def get_params(degrees, translate, scale_ranges, shears, img_size):
        """(angle, (x, y) shift in pixels, factor, (x, y) shear) for an image of `img_size` (width, height)."""
        angle = uniform(degrees[0], degrees[1])
        shift = (0, 0)
        if translate is not None:
            limits = [float(share * length) for share, length in zip(translate, img_size)]
            shift = tuple(round(uniform(-limit, limit)) for limit in limits)
        scale = 1.0 if scale_ranges is None else uniform(scale_ranges[0], scale_ranges[1])
        shear_x = shear_y = 0.0
        if shears is not None:
            shear_x = uniform(shears[0], shears[1])
            if len(shears) == 4:
                shear_y = uniform(shears[2], shears[3])
        return angle, shift, scale, (shear_x, shear_y)

    def forward(self, img):
        """`img` mapped."""
        fill = channel_fill(self.fill, img)
        _, height, width = functional.get_dimensions(img)
        drawn = self.get_params(self.degrees, self.translate, self.scale, self.shear, [width, height])
        return functional.affine(img, *drawn, interpolation=self.interpolation, fill=fill, center=self.center)

    def __repr__(self):
        parts = [f"degrees={self.degrees}"]
        for name in ("translate", "scale", "shear"):
            if getattr(self, name) is not None:
                parts.append(f"{name}={getattr(self, name)}")
        if self.interpolation is not NEAREST:
            parts.append(f"interpolation={self.interpolation.value}")
        if self.fill != 0:
            parts.append(f"fill={self.fill}")
        if self.center is not None:
            parts.append(f"center={self.center}")
        return f"{type(self).__name__}({', '.join(parts)})"


class RandomPerspective(Module):
    """The image seen from a random direction with probability `p`; `distortion_scale` from 0 (none) to 1.

    >>> from rushlight.vision import transforms
    >>> transforms.RandomPerspective(p=0.2)
    RandomPerspective(p=0.2)
    """

    def __init__(self, distortion_scale=0.5, p=0.5, interpolation=BILINEAR, fill=0):
        super().__init__()
        self.p = p
        self.interpolation = as_mode(interpolation)
        self.distortion_scale = distortion_scale
        self.fill = checked_fill(fill)

    @staticmethod
    def get_params(width, height, distortion_scale):
        """The image's four corners and the four places they go to, clockwise from the top left, as [x, y]."""
        across, down = int(distortion_scale * (width // 2)) + 1, int(distortion_scale * (height // 2)) + 1
        ends = [
            [integer(across), integer(down)],
            [width - across + integer(across), integer(down)],
            [width - across + integer(across), height - down + integer(down)],
            [integer(across), height - down + integer(down)],
        ]
        return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], ends

    def forward(self, img):
        """`img` or its perspective view."""
        fill = channel_fill(self.fill, img)
        if not chance(self.p):
            return img
        _, height, width = functional.get_dimensions(img)
        starts, ends = self.get_params(width, height, self.distortion_scale)
        return functional.perspective(img, starts, ends, self.interpolation, fill)

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"
