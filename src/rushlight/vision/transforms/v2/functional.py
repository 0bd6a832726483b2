"""``torchvision.transforms.v2.functional``: functions of images, videos, masks and boxes, which stay of their class."""

from __future__ import annotations

from .. import functional as _first
from ..functional import get_dimensions, pil_to_tensor, to_pil_image, to_tensor
from ..interpolation import InterpolationMode
from .boxes import clamp_bounding_boxes, convert_bounding_box_format
from .colors import equalize, erase, gaussian_noise, grayscale_to_rgb, of_image, permute_channels, posterize
from .conversion import normalize, to_dtype, to_image
from .geometry import center_crop, crop, horizontal_flip, pad, resize, resized_crop, vertical_flip
from .joint import is_pure_tensor, size_of
from .videos import uniform_temporal_subsample
from .warps import affine, elastic, perspective, rotate


def get_size(inpt):
    """``[height, width]`` of an image, a mask or what boxes lie on."""
    return list(size_of([inpt]))


def get_num_channels(inpt):
    """The number of channels of an image."""
    return get_dimensions(inpt)[0]


def get_num_frames(inpt):
    """The number of frames of a video (..., frames, channels, height, width)."""
    return inpt.shape[-4]


hflip, vflip, elastic_transform, get_image_num_channels = horizontal_flip, vertical_flip, elastic, get_num_channels
get_image_size = _first.get_image_size

COLORS = (
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "autocontrast",
    "convert_image_dtype",
    "five_crop",
    "gaussian_blur",
    "invert",
    "rgb_to_grayscale",
    "solarize",
    "ten_crop",
    "to_grayscale",
)
for _name in COLORS:
    globals()[_name] = of_image(getattr(_first, _name))

__all__ = [
    *COLORS,
    "InterpolationMode",
    "affine",
    "center_crop",
    "clamp_bounding_boxes",
    "convert_bounding_box_format",
    "crop",
    "elastic",
    "elastic_transform",
    "equalize",
    "erase",
    "gaussian_noise",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "get_num_channels",
    "get_num_frames",
    "get_size",
    "grayscale_to_rgb",
    "hflip",
    "horizontal_flip",
    "is_pure_tensor",
    "normalize",
    "pad",
    "permute_channels",
    "perspective",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rotate",
    "to_dtype",
    "to_image",
    "to_pil_image",
    "to_tensor",
    "uniform_temporal_subsample",
    "vertical_flip",
    "vflip",
]
