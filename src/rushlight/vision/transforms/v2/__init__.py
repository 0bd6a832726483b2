"""The names of ``torchvision.transforms.v2``: transforms of samples, images with their boxes and masks."""

from __future__ import annotations

from .. import transforms as _first
from ..transforms import InterpolationMode, Lambda, ToPILImage, ToTensor
from . import functional
from .containers import Compose, RandomApply, RandomChoice, RandomOrder
from .conversion import Identity, ToDtype, ToImage, ToPureTensor
from .geometry import (
    CenterCrop,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomVerticalFlip,
    Resize,
)
from .joint import ColorsOnly, ImagesOnly, Transform, second_version
from .mixing import CutMix, MixUp
from .sanitizing import ClampBoundingBoxes, ConvertBoundingBoxFormat, SanitizeBoundingBoxes

__all__ = [
    "CenterCrop",
    "ClampBoundingBoxes",
    "Compose",
    "ConvertBoundingBoxFormat",
    "CutMix",
    "Identity",
    "InterpolationMode",
    "Lambda",
    "MixUp",
    "Pad",
    "RandomApply",
    "RandomChoice",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomOrder",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "SanitizeBoundingBoxes",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
    "Transform",
    "functional",
]

COLORS = (
    "ColorJitter",
    "ConvertImageDtype",
    "GaussianBlur",
    "Grayscale",
    "Normalize",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPosterize",
    "RandomSolarize",
    "TrivialAugmentWide",
)
IMAGES = (
    "FiveCrop",
    "LinearTransformation",
    "PILToTensor",
    "RandomAffine",
    "RandomPerspective",
    "RandomRotation",
    "TenCrop",
)

for _names, _kind in ((COLORS, ColorsOnly), (IMAGES, ImagesOnly)):
    for _name in _names:
        _made = getattr(_first, _name)
        globals()[_name] = second_version(_made, _kind) if hasattr(_made, "forward") else _made
        __all__.append(_name)
