"""``torchvision.transforms.v2.functional``: the first version's functions under both names, and those of boxes and masks."""

from __future__ import annotations

from ..functional import *  # noqa: F403
from ..functional import __all__ as _first_version
from ..interpolation import InterpolationMode
from .boxes import clamp_bounding_boxes, convert_bounding_box_format
from .conversion import to_dtype, to_image
from .geometry import horizontal_flip, vertical_flip
from .joint import size_of


def get_size(inpt):
    """``[height, width]`` of an image, a mask or what boxes lie on."""
    return list(size_of([inpt]))


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
