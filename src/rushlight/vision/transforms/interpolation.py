"""InterpolationMode: the ways to read a pixel between pixels, and Pillow's numbers for them."""

from __future__ import annotations

from enum import Enum


class InterpolationMode(Enum):
    """How a resize, rotation or warp reads between pixels; tensors take neither ``BOX``, ``HAMMING`` nor ``LANCZOS``.

    >>> from rushlight.vision.transforms import InterpolationMode
    >>> InterpolationMode.BILINEAR.value
    'bilinear'
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's resampling constants.
PILLOW_CODES = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
    InterpolationMode.NEAREST_EXACT: 0,
}
BY_CODE = {0: InterpolationMode.NEAREST, 1: InterpolationMode.LANCZOS, 2: InterpolationMode.BILINEAR,
           3: InterpolationMode.BICUBIC, 4: InterpolationMode.BOX, 5: InterpolationMode.HAMMING}  # fmt: skip


def as_mode(interpolation):
    """`interpolation` as an InterpolationMode: one already, or one of Pillow's numbers; ``TypeError`` otherwise."""
    if isinstance(interpolation, int):
        interpolation = BY_CODE.get(int(interpolation), interpolation)
    if not isinstance(interpolation, InterpolationMode):
        raise TypeError(
            "Argument interpolation should be a InterpolationMode or a corresponding Pillow integer constant"
        )
    return interpolation
