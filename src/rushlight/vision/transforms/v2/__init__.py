"""The names of ``torchvision.transforms.v2``: transforms of samples, images with their boxes and masks."""

from __future__ import annotations

from .. import transforms as _first
from ..transforms import InterpolationMode, Lambda, ToPILImage, ToTensor
from . import functional
from ..autoaugment import AutoAugmentPolicy
from .autoaugment import AugMix, AutoAugment, RandAugment, TrivialAugmentWide
from .colors import (
    RGB,
    GaussianNoise,
    RandomChannelPermutation,
    RandomEqualize,
    RandomErasing,
    RandomPhotometricDistort,
    RandomPosterize,
)
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
from .sizes import RandomIoUCrop, RandomResize, RandomShortestSize, RandomZoomOut, ScaleJitter
from .videos import UniformTemporalSubsample
from .warps import ElasticTransform, RandomAffine, RandomPerspective, RandomRotation

__all__ = [
    "AugMix",
    "AutoAugment",
    "AutoAugmentPolicy",
    "CenterCrop",
    "ClampBoundingBoxes",
    "Compose",
    "ConvertBoundingBoxFormat",
    "CutMix",
    "ElasticTransform",
    "GaussianNoise",
    "Identity",
    "InterpolationMode",
    "Lambda",
    "MixUp",
    "Pad",
    "RGB",
    "RandAugment",
    "RandomAffine",
    "RandomApply",
    "RandomChannelPermutation",
    "RandomChoice",
    "RandomCrop",
    "RandomEqualize",
    "RandomErasing",
    "RandomHorizontalFlip",
    "RandomIoUCrop",
    "RandomOrder",
    "RandomPerspective",
    "RandomPhotometricDistort",
    "RandomPosterize",
    "RandomResize",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomShortestSize",
    "RandomVerticalFlip",
    "RandomZoomOut",
    "Resize",
    "SanitizeBoundingBoxes",
    "ScaleJitter",
    "ToDtype",
    "ToImage",
    "ToPILImage",
    "ToPureTensor",
    "ToTensor",
    "Transform",
    "TrivialAugmentWide",
    "UniformTemporalSubsample",
    "functional",
]

COLORS = (
    "ColorJitter",
    "ConvertImageDtype",
    "GaussianBlur",
    "Grayscale",
    "Normalize",
    "RandomAdjustSharpness",
    "RandomAutocontrast",
    "RandomGrayscale",
    "RandomInvert",
    "RandomSolarize",
)
IMAGES = (
    "FiveCrop",
    "LinearTransformation",
    "PILToTensor",
    "TenCrop",
)

for _names, _kind in ((COLORS, ColorsOnly), (IMAGES, ImagesOnly)):
    for _name in _names:
        _made = getattr(_first, _name)
        globals()[_name] = second_version(_made, _kind) if hasattr(_made, "forward") else _made
        __all__.append(_name)
