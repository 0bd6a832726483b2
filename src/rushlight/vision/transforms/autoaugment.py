"""Augmentations drawn from a list: RandAugment, TrivialAugmentWide."""

from __future__ import annotations

import math

from rushlight.nn import Module
from rushlight.ops.table import functions

from ..images import is_tensor
from . import functional
from .draws import integer
from .interpolation import InterpolationMode

__all__ = ["RandAugment", "TrivialAugmentWide"]


def moved(img, interpolation, fill, shear=(0.0, 0.0), translate=(0, 0), center=None):
    return functional.affine(img, 0.0, list(translate), 1.0, list(shear), interpolation, fill, center)


def applied(img, name, magnitude, interpolation, fill):
    """`img` after one operation of the list."""
    if name.startswith("Shear"):
        angle = math.degrees(math.atan(magnitude))
        return moved(img, interpolation, fill, (angle, 0.0) if name == "ShearX" else (0.0, angle), center=[0, 0])
    if name.startswith("Translate"):
        way = int(magnitude)
        return moved(img, interpolation, fill, translate=(way, 0) if name == "TranslateX" else (0, way))
    if name == "Rotate":
        return functional.rotate(img, magnitude, interpolation, fill=fill)
    return COLORS[name](img, magnitude)


COLORS = {
    "Identity": lambda img, magnitude: img,
    "Brightness": lambda img, magnitude: functional.adjust_brightness(img, 1.0 + magnitude),
    "Color": lambda img, magnitude: functional.adjust_saturation(img, 1.0 + magnitude),
    "Contrast": lambda img, magnitude: functional.adjust_contrast(img, 1.0 + magnitude),
    "Sharpness": lambda img, magnitude: functional.adjust_sharpness(img, 1.0 + magnitude),
    "Posterize": lambda img, magnitude: functional.posterize(img, int(magnitude)),
    "Solarize": lambda img, magnitude: functional.solarize(img, magnitude),
    "AutoContrast": lambda img, magnitude: functional.autocontrast(img),
    "Equalize": lambda img, magnitude: functional.equalize(img),
}


def choices(bins, shear, across, down, angle, color, bits):
    """The operations in order: name, its magnitudes (None: it has none), and whether the sign is drawn."""

    def steps(end):
        return functions.linspace(0.0, end, bins).tolist()

    posterize = [8 - round(index / ((bins - 1) / bits)) for index in range(bins)]
    return [
        ("Identity", None, False),
        ("ShearX", steps(shear), True),
        ("ShearY", steps(shear), True),
        ("TranslateX", steps(across), True),
        ("TranslateY", steps(down), True),
        ("Rotate", steps(angle), True),
        *((name, steps(color), True) for name in ("Brightness", "Color", "Contrast", "Sharpness")),
        ("Posterize", posterize, False),
        ("Solarize", functions.linspace(255.0, 0.0, bins).tolist(), False),
        ("AutoContrast", None, False),
        ("Equalize", None, False),
    ]


def fill_for(img, fill):
    """The fill as a tensor's operations take it: one number a channel."""
    if not is_tensor(img) or fill is None:
        return fill
    if isinstance(fill, (int, float)):
        return [float(fill)] * functional.get_dimensions(img)[0]
    return [float(each) for each in fill]


class RandAugment(Module):
    """`num_ops` operations drawn from a list, all of one `magnitude` (Cubuk and others, "RandAugment", 2019).

    >>> from rushlight.vision import transforms
    >>> transforms.RandAugment()
    RandAugment(num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None)
    """

    def __init__(
        self, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None
    ):
        super().__init__()
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, img):
        """`img`, a PIL image or a uint8 tensor, changed."""
        fill = fill_for(img, self.fill)
        _, height, width = functional.get_dimensions(img)
        reach = (150.0 / 331.0 * width, 150.0 / 331.0 * height)
        space = choices(self.num_magnitude_bins, 0.3, *reach, 30.0, 0.9, 4)
        for _ in range(self.num_ops):
            name, magnitudes, signed = space[integer(len(space))]
            magnitude = 0.0 if magnitudes is None else float(magnitudes[self.magnitude])
            if signed and integer(2):
                magnitude = -magnitude
            img = applied(img, name, magnitude, self.interpolation, fill)
        return img

    def __repr__(self):
        names = ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


class TrivialAugmentWide(Module):
    """One operation drawn from a list, of a drawn magnitude (Müller and Hutter, "TrivialAugment", 2021)."""

    def __init__(self, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None):
        super().__init__()
        self.num_magnitude_bins = num_magnitude_bins
        self.interpolation = interpolation
        self.fill = fill

    def forward(self, img):
        """`img`, a PIL image or a uint8 tensor, changed."""
        fill = fill_for(img, self.fill)
        space = choices(self.num_magnitude_bins, 0.99, 32.0, 32.0, 135.0, 0.99, 6)
        name, magnitudes, signed = space[integer(len(space))]
        magnitude = 0.0 if magnitudes is None else float(magnitudes[integer(len(magnitudes))])
        if signed and integer(2):
            magnitude = -magnitude
        return applied(img, name, magnitude, self.interpolation, fill)

    def __repr__(self):
        names = ("num_magnitude_bins", "interpolation", "fill")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"
