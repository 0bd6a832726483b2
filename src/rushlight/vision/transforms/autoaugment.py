"""Augmentations drawn from a list: AutoAugment, RandAugment, TrivialAugmentWide, AugMix."""

from __future__ import annotations

import math

from rushlight.nn import Module
from rushlight.ops.table import functions

from ..images import is_tensor
from . import functional
from .conversion import pil_to_tensor, to_pil_image
from .draws import integer
from .interpolation import InterpolationMode
from .policies import AutoAugmentPolicy, policies_of

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]

MOST_SEVERE = 10  # of AugMix: how many magnitudes an operation has


def moved(img, interpolation, fill, shear=(0.0, 0.0), translate=(0, 0), center=None):
    return functional.affine(img, 0.0, list(translate), 1.0, list(shear), interpolation, fill, center)


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
    "Invert": lambda img, magnitude: functional.invert(img),
}


SIGNED = {"ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness"}


def steps(bins, end):
    return functions.linspace(0.0, end, bins).tolist()


def moves(bins, shear, across, down, angle):
    """The magnitudes of the operations that move pixels, by name."""
    return {
        "ShearX": steps(bins, shear),
        "ShearY": steps(bins, shear),
        "TranslateX": steps(bins, across),
        "TranslateY": steps(bins, down),
        "Rotate": steps(bins, angle),
    }


def tones(bins, end):
    """The magnitudes of the operations that change colours a little."""
    return {name: steps(bins, end) for name in ("Brightness", "Color", "Contrast", "Sharpness")}


def levels(bins, most_bits, bits, thresholds):
    """The magnitudes of the operations on single values; None: the operation has none."""
    posterize = [most_bits - round(index / ((bins - 1) / bits)) for index in range(bins)]
    return {"Posterize": posterize, "Solarize": thresholds, "AutoContrast": None, "Equalize": None}


def fill_for(img, fill):
    """The fill as a tensor's operations take it: one number a channel."""
    if not is_tensor(img) or fill is None:
        return fill
    if isinstance(fill, (int, float)):
        return [float(fill)] * functional.get_dimensions(img)[0]
    return [float(each) for each in fill]


class Augmentation(Module):
    """What the classes share: how operations, magnitudes and signs are drawn."""

    _colors = COLORS
    _shown: tuple[str, ...] = ()  # the arguments that are printed

    def __init__(self, interpolation, fill):
        super().__init__()
        self.interpolation = interpolation
        self.fill = fill

    @staticmethod
    def _negative():
        """Whether the sign that is drawn is minus."""
        return integer(2) == 1

    @staticmethod
    def _thresholds(img, bins):
        """The magnitudes of Solarize."""
        return functions.linspace(255.0, 0.0, bins).tolist()

    def _applied(self, img, name, magnitude, fill):
        """`img` after one operation of the list."""
        if name.startswith("Shear"):
            angle = math.degrees(math.atan(magnitude))
            shear = (angle, 0.0) if name == "ShearX" else (0.0, angle)
            return moved(img, self.interpolation, fill, shear, center=[0, 0])
        if name.startswith("Translate"):
            way = int(magnitude)
            return moved(img, self.interpolation, fill, translate=(way, 0) if name == "TranslateX" else (0, way))
        if name == "Rotate":
            return functional.rotate(img, magnitude, self.interpolation, fill=fill)
        return self._colors[name](img, magnitude)

    def _draw(self, space, place):
        """One operation of a list, and its magnitude: that at `place`, which is a function where it is drawn too."""
        name = list(space)[integer(len(space))]
        magnitudes = space[name]
        if magnitudes is None:
            return name, 0.0
        magnitude = float(magnitudes[place() if callable(place) else place])
        return name, -magnitude if name in SIGNED and self._negative() else magnitude

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in self._shown)})"


class AutoAugment(Augmentation):
    """A pair of operations drawn from a policy that was learned (Cubuk and others, "AutoAugment", 2018).

    >>> from rushlight.vision import transforms
    >>> transforms.AutoAugment(transforms.AutoAugmentPolicy.CIFAR10)
    AutoAugment(policy=AutoAugmentPolicy.CIFAR10, fill=None)
    """

    _shown = ("policy", "fill")

    def __init__(self, policy=AutoAugmentPolicy.IMAGENET, interpolation=InterpolationMode.NEAREST, fill=None):
        super().__init__(interpolation, fill)
        self.policy = policy
        self.policies = policies_of(policy)

    @staticmethod
    def get_params(transform_num):
        """The number of a pair, and two probabilities and two signs to go with it."""
        return integer(transform_num), functions.rand((2,)), functions.randint(2, (2,))

    def _chosen(self):
        """The operations to apply: name, place of the magnitude (or None), whether it is negative."""
        pair, chances, signs = self.get_params(len(self.policies))
        for (name, probability, place), chance, sign in zip(self.policies[pair], chances, signs):
            if chance <= probability:
                yield name, place, name in SIGNED and sign == 0

    def forward(self, img):
        """`img`, a PIL image or a uint8 tensor, changed."""
        fill = fill_for(img, self.fill)
        _, height, width = functional.get_dimensions(img)
        reach = (150.0 / 331.0 * width, 150.0 / 331.0 * height)
        space = moves(10, 0.3, *reach, 30.0) | tones(10, 0.9) | levels(10, 8, 4, self._thresholds(img, 10))
        for name, place, negative in self._chosen():
            magnitude = 0.0 if place is None else float(space[name][place])
            img = self._applied(img, name, -magnitude if negative else magnitude, fill)
        return img


class RandAugment(Augmentation):
    """`num_ops` operations drawn from a list, all of one `magnitude` (Cubuk and others, "RandAugment", 2019).

    >>> from rushlight.vision import transforms
    >>> transforms.RandAugment()
    RandAugment(num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None)
    """

    _shown = ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")

    def __init__(
        self, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None
    ):
        super().__init__(interpolation, fill)
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def forward(self, img):
        """`img`, a PIL image or a uint8 tensor, changed."""
        fill = fill_for(img, self.fill)
        _, height, width = functional.get_dimensions(img)
        bins, reach = self.num_magnitude_bins, (150.0 / 331.0 * width, 150.0 / 331.0 * height)
        space = {"Identity": None} | moves(bins, 0.3, *reach, 30.0) | tones(bins, 0.9)
        space |= levels(bins, 8, 4, self._thresholds(img, bins))
        for _ in range(self.num_ops):
            img = self._applied(img, *self._draw(space, self.magnitude), fill)
        return img


class TrivialAugmentWide(Augmentation):
    """One operation drawn from a list, of a drawn magnitude (Müller and Hutter, "TrivialAugment", 2021)."""

    _shown = ("num_magnitude_bins", "interpolation", "fill")

    def __init__(self, num_magnitude_bins=31, interpolation=InterpolationMode.NEAREST, fill=None):
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = num_magnitude_bins

    def forward(self, img):
        """`img`, a PIL image or a uint8 tensor, changed."""
        fill, bins = fill_for(img, self.fill), self.num_magnitude_bins
        space = {"Identity": None} | moves(bins, 0.99, 32.0, 32.0, 135.0) | tones(bins, 0.99)
        space |= levels(bins, 8, 6, self._thresholds(img, bins))
        return self._applied(img, *self._draw(space, lambda: integer(bins)), fill)


class AugMix(Augmentation):
    """The image mixed with `mixture_width` others that chains of operations made of it (Hendrycks and others, "AugMix", 2019).

    `severity` from 1 to 10 limits the magnitudes; a `chain_depth` below 1 is drawn, from 1 to 3; `alpha` shapes the
    weights; `all_ops` says whether brightness, colour, contrast and sharpness belong to the operations.
    """

    _shown = ("severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill")

    def __init__(
        self,
        severity=3,
        mixture_width=3,
        chain_depth=-1,
        alpha=1.0,
        all_ops=True,
        interpolation=InterpolationMode.BILINEAR,
        fill=None,
    ):
        super().__init__(interpolation, fill)
        if not 1 <= severity <= MOST_SEVERE:
            raise ValueError(f"The severity must be between [1, {MOST_SEVERE}]. Got {severity} instead.")
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops

    def forward(self, img):
        """`img`, a PIL image or a uint8 tensor, mixed."""
        if not is_tensor(img):
            return to_pil_image(self.forward(pil_to_tensor(img)))
        fill = fill_for(img, self.fill)
        _, height, width = functional.get_dimensions(img)
        space = moves(MOST_SEVERE, 0.3, width / 3.0, height / 3.0, 30.0)
        space |= levels(MOST_SEVERE, 4, 4, self._thresholds(img, MOST_SEVERE))
        if self.all_ops:
            space |= tones(MOST_SEVERE, 0.9)
        batch = img.reshape(*[1] * max(4 - img.ndim, 0), *img.shape)
        share = self._weights(2, len(batch))
        weights = self._weights(self.mixture_width, len(batch)) * share[:, 1:]
        each = (-1, *[1] * (batch.ndim - 1))
        mixed = share[:, 0].view(each) * batch
        for weight in weights.unbind(1):
            changed = batch
            for _ in range(self.chain_depth if self.chain_depth > 0 else 1 + integer(3)):
                changed = self._applied(changed, *self._draw(space, lambda: integer(self.severity)), fill)
            mixed.add_(weight.view(each) * changed)
        return mixed.view(img.shape).to(img.dtype)

    def _weights(self, parts, images):
        """Weights that add up to 1, drawn for each image."""
        return functions._sample_dirichlet(functions.tensor([self.alpha] * parts).expand(images, -1))
