"""The transforms that go with trained weights."""

from __future__ import annotations

from rushlight.base import dtypes
from rushlight.nn import Module

from ..images import is_tensor
from . import functional
from .interpolation import InterpolationMode

__all__ = ["ImageClassification", "ObjectDetection", "SemanticSegmentation"]


class ImageClassification(Module):
    """An image resized, cut out at its centre and normalized as a classifier was trained with."""

    def __init__(
        self,
        *,
        crop_size,
        resize_size=256,
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        interpolation=InterpolationMode.BILINEAR,
        antialias=True,
    ):
        super().__init__()
        self.crop_size = [crop_size]
        self.resize_size = [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img):
        """A PIL image, or a tensor CxHxW or BxCxHxW, as a float32 tensor."""
        img = functional.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        img = functional.center_crop(img, self.crop_size)
        if not is_tensor(img):
            img = functional.pil_to_tensor(img)
        img = functional.convert_image_dtype(img, dtypes.float32)
        return functional.normalize(img, mean=self.mean, std=self.std)

    def __repr__(self):
        names = ("crop_size", "resize_size", "mean", "std", "interpolation")
        lines = "".join(f"\n    {name}={getattr(self, name)}" for name in names)
        return f"{type(self).__name__}({lines}\n)"

    def describe(self):
        """What it does, in words."""
        return (
            f"Takes PIL images and tensors CxHxW or BxCxHxW: resizes to {self.resize_size} ({self.interpolation}), cuts out "
            f"the central {self.crop_size}, scales to [0.0, 1.0] and normalizes with mean {self.mean} and std {self.std}."
        )


class ObjectDetection(Module):
    """An image as detectors take it: numbers from 0 to 1, in its own size."""

    def forward(self, img):
        """A PIL image, or a tensor, as a float32 tensor."""
        if not is_tensor(img):
            img = functional.pil_to_tensor(img)
        return functional.convert_image_dtype(img, dtypes.float32)

    def __repr__(self):
        return f"{type(self).__name__}()"


class SemanticSegmentation(Module):
    """An image resized and normalized as a model of segmentation was trained with."""

    def __init__(
        self,
        *,
        resize_size,
        mean=(0.485, 0.456, 0.406),
        std=(0.229, 0.224, 0.225),
        interpolation=InterpolationMode.BILINEAR,
        antialias=True,
    ):
        super().__init__()
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean = list(mean)
        self.std = list(std)
        self.interpolation = interpolation
        self.antialias = antialias

    def forward(self, img):
        """A PIL image, or a tensor CxHxW or BxCxHxW, as a float32 tensor."""
        if self.resize_size is not None:
            img = functional.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        if not is_tensor(img):
            img = functional.pil_to_tensor(img)
        img = functional.convert_image_dtype(img, dtypes.float32)
        return functional.normalize(img, mean=self.mean, std=self.std)

    def __repr__(self):
        names = ("resize_size", "mean", "std", "interpolation")
        lines = "".join(f"\n    {name}={getattr(self, name)}" for name in names)
        return f"{type(self).__name__}({lines}\n)"
