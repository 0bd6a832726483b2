"""``torchvision.transforms.v2.functional`` for plain images: the first version's functions, under both names."""

from __future__ import annotations

from ..functional import *  # noqa: F403
from ..functional import __all__ as _first_version
from ..functional import hflip as horizontal_flip
from ..functional import vflip as vertical_flip
from .conversion import to_dtype, to_image


def get_size(inpt):
    """``[height, width]`` of an image."""
    return get_dimensions(inpt)[1:]  # noqa: F405


__all__ = [*_first_version, "get_size", "horizontal_flip", "to_dtype", "to_image", "vertical_flip"]
