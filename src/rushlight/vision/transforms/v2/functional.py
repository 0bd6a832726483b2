"""``torchvision.transforms.v2.functional``: the first version's functions under both names, and those of boxes and masks."""

from __future__ import annotations

from .. import functional as _first
from ..functional import *  # noqa: F403
from ..functional import __all__ as _first_version
from ..interpolation import InterpolationMode
from .boxes import clamp_bounding_boxes, convert_bounding_box_format
from .conversion import to_dtype, to_image
from .geometry import horizontal_flip, vertical_flip
from .joint import on_image, size_of


def get_size(inpt):
    """``[height, width]`` of an image, a mask or what boxes lie on."""
    return list(size_of([inpt]))


def normalize(inpt, mean, std, inplace=False):
    """An image with each channel's mean subtracted and divided by its deviation."""
    return on_image(inpt, _first.normalize, mean, std, inplace)


hflip, vflip = horizontal_flip, vertical_flip

__all__ = [
    *_first_version,
    "InterpolationMode",
    "clamp_bounding_boxes",
    "convert_bounding_box_format",
    "get_size",
    "horizontal_flip",
    "to_dtype",
    "to_image",
    "vertical_flip",
]
