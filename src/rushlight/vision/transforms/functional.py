"""``torchvision.transforms.functional``: each transform as a function of the image and its parameters.

An image is a PIL image, a tensor (..., C, H, W) or a uint8 array (HxW or HxWxC); the result has the same form. What a
function does to each form stands in ``on_pillow``, ``on_tensor`` and ``on_array``; here the arguments are checked.
"""

from __future__ import annotations

import math

import numpy as np

from ..images import is_tensor
from .conversion import convert_image_dtype, normalize, pil_to_tensor, to_pil_image, to_tensor
from .elastic import elastic_transform
from .forms import operation
from .functional_color import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    erase,
    gaussian_blur,
    invert,
    posterize,
    rgb_to_grayscale,
    solarize,
    to_grayscale,
)
from .interpolation import InterpolationMode, as_mode

NEAREST, BILINEAR = InterpolationMode.NEAREST, InterpolationMode.BILINEAR


def get_dimensions(img):
    """``[channels, height, width]`` of an image.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.get_dimensions(torch.zeros(3, 20, 30))
    [3, 20, 30]
    """
    return operation("get_dimensions", img)(img)


def get_image_size(img):
    """``[width, height]`` of an image."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img):
    """The number of channels of an image."""
    return get_dimensions(img)[0]


def hflip(img):
    """The image mirrored left to right.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.hflip(torch.tensor([[[1, 2, 3]]]))
    tensor([[[3, 2, 1]]])
    """
    return operation("hflip", img)(img)


def vflip(img):
    """The image mirrored top to bottom."""
    return operation("vflip", img)(img)


def crop(img, top, left, height, width):
    """The `height` x `width` box whose corner is at (`top`, `left`), filled with zeros outside the image."""
    return operation("crop", img)(img, top, left, height, width)


def center_crop(img, output_size):
    """The middle `output_size` (one number or (height, width)) of the image, padded with zeros where it is smaller.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.center_crop(torch.arange(16).view(1, 4, 4), 2)
    tensor([[[ 5,  6],
             [ 9, 10]]])
    """
    height, width = pair(output_size)
    _, tall, wide = get_dimensions(img)
    if width > wide or height > tall:
        border = [max(width - wide, 0) // 2, max(height - tall, 0) // 2,
                  (max(width - wide, 0) + 1) // 2, (max(height - tall, 0) + 1) // 2]  # fmt: skip
        img = pad(img, border, fill=0)
        _, tall, wide = get_dimensions(img)
        if (wide, tall) == (width, height):
            return img
    return crop(img, round((tall - height) / 2.0), round((wide - width) / 2.0), height, width)


def pair(size):
    """``(height, width)`` from one number or a sequence of one or two."""
    if isinstance(size, int | float):
        return int(size), int(size)
    return (size[0], size[0]) if len(size) == 1 else tuple(size)


def pad(img, padding, fill=0, padding_mode="constant"):
    """The image with a border.

    `padding` is one number, (left and right, top and bottom) or (left, top, right, bottom); `padding_mode` is
    ``"constant"`` (of colour `fill`), ``"edge"``, ``"reflect"`` or ``"symmetric"``.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.pad(torch.tensor([[[1, 2]]]), (1, 0), padding_mode="edge")
    tensor([[[1, 1, 2, 2]]])
    """
    act = operation("pad", img)
    if not isinstance(padding, int | tuple | list):
        raise TypeError("Got inappropriate padding arg")
    if fill is not None and not isinstance(fill, int | float | str | tuple | list):
        raise TypeError("Got inappropriate fill arg")
    if not isinstance(padding_mode, str):
        raise TypeError("Got inappropriate padding_mode arg")
    if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
        raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
    if isinstance(padding, int):
        padding = [padding]
    if len(padding) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple")
    border = tuple(padding) * (4 // len(padding))
    return act(img, border, fill, padding_mode)


def resized_size(img, size, max_size=None):
    """The (height, width) that `size` means for this image; see `resize`."""
    if not isinstance(size, int | list | tuple):
        raise TypeError(f"Size should be int or sequence. Got {type(size)}")
    size = [size] if isinstance(size, int) else list(size)
    if len(size) not in (1, 2):
        raise ValueError(f"Size must be an int or a 1 or 2 element tuple/list, not a {len(size)} element tuple/list")
    if len(size) == 2:
        if max_size is not None:
            raise ValueError(
                "max_size should only be passed if size specifies the length of the smaller edge, "
                "i.e. size should be an int or a sequence of length 1 in torchscript mode."
            )
        return tuple(size)
    _, height, width = get_dimensions(img)
    short, long = min(height, width), max(height, width)
    new_short, new_long = size[0], int(size[0] * long / short)
    if max_size is not None:
        if max_size <= size[0]:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size for the smaller edge "
                f"size = {size[0] if len(size) == 1 else size}"
            )
        if new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def resize(img, size, interpolation=BILINEAR, max_size=None, antialias=True):
    """The image in another size: (height, width), or one number for the shorter edge, the other keeping the proportion.

    `max_size` limits the longer edge. `antialias` smooths a tensor that shrinks; PIL images and arrays always are.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.resize(torch.zeros(3, 20, 30), 10).shape
    torch.Size([3, 10, 15])
    """
    interpolation = as_mode(interpolation)
    act = operation("resize", img)
    height, width = resized_size(img, size, max_size)
    if [height, width] == get_dimensions(img)[1:]:
        return img
    return act(img, (height, width), interpolation, antialias)


def resized_crop(img, top, left, height, width, size, interpolation=BILINEAR, antialias=True):
    """`crop`, then `resize` to `size`."""
    return resize(crop(img, top, left, height, width), size, interpolation, antialias=antialias)


def five_crop(img, size):
    """The four corners and the middle of the image, `size` (one number or (height, width)) each: a tuple of five."""
    height, width = pair(size)
    _, tall, wide = get_dimensions(img)
    if width > wide or height > tall:
        raise ValueError(f"Requested crop size {size} is bigger than input size {(tall, wide)}")
    corners = ((0, 0), (0, wide - width), (tall - height, 0), (tall - height, wide - width))
    return (*(crop(img, top, left, height, width) for top, left in corners), center_crop(img, [height, width]))


def ten_crop(img, size, vertical_flip=False):
    """`five_crop` of the image and of its mirror image (upside down when `vertical_flip`): a tuple of ten."""
    return five_crop(img, size) + five_crop(vflip(img) if vertical_flip else hflip(img), size)


def inverse_affine_matrix(center, angle, translate, scale, shear):
    """The map from the result to an image that is sheared, scaled, turned by `angle` about `center`, then moved."""
    turn, shear_x, shear_y = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    cosine, sine = math.cos(turn - shear_y) / math.cos(shear_y), math.sin(turn - shear_y) / math.cos(shear_y)
    a, b = cosine, -cosine * math.tan(shear_x) - math.sin(turn)
    c, d = sine, -sine * math.tan(shear_x) + math.cos(turn)
    matrix = [part / scale for part in (d, -b, 0.0, -c, a, 0.0)]
    x, y = -center[0] - translate[0], -center[1] - translate[1]
    matrix[2] = matrix[0] * x + matrix[1] * y + center[0]
    matrix[5] = matrix[3] * x + matrix[4] * y + center[1]
    return matrix


def rotate(img, angle, interpolation=NEAREST, expand=False, center=None, fill=None):
    """The image turned counter-clockwise by `angle` degrees about `center` ((x, y); None: the middle).

    `expand` makes the result large enough for the whole turned image. `fill` colours what is left empty.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.rotate(torch.tensor([[[1., 2.], [3., 4.]]]), 90)
    tensor([[[2., 4.],
             [1., 3.]]])
    """
    interpolation = as_mode(interpolation)
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, list | tuple):
        raise TypeError("Argument center should be a sequence")
    act = operation("rotate", img)
    if not is_tensor(img):
        return act(img, angle, interpolation, expand, center, fill)
    matrix = inverse_affine_matrix(from_middle(img, center), -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    return act(img, matrix, interpolation, expand, fill)


def from_middle(img, center):
    """`center` (x, y) measured from the middle of the image; None is the middle."""
    if center is None:
        return [0.0, 0.0]
    _, height, width = get_dimensions(img)
    return [place - length * 0.5 for place, length in zip(center, (width, height))]


def affine(img, angle, translate, scale, shear, interpolation=NEAREST, fill=None, center=None):
    """The image sheared, scaled, turned clockwise by `angle` degrees about `center`, moved by `translate` (x, y).

    `shear` is one angle (along x) or two (x, y), in degrees. `fill` colours what is left empty.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.affine(torch.tensor([[[1., 2., 3.]]]), 0, (1, 0), 1.0, 0)
    tensor([[[0., 1., 2.]]])
    """
    interpolation = as_mode(interpolation)
    shear = checked_affine(angle, translate, scale, shear, center)
    act = operation("affine", img)
    if is_tensor(img):
        middle = from_middle(img, center)
    else:
        _, height, width = get_dimensions(img)
        middle = center if center is not None else [width * 0.5, height * 0.5]
    return act(img, inverse_affine_matrix(middle, angle, translate, scale, shear), interpolation, fill)


def checked_affine(angle, translate, scale, shear, center):
    """`shear` as [x, y]; ``TypeError`` or ``ValueError`` for arguments of `affine` that are not of its form."""
    if not isinstance(angle, int | float):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, list | tuple):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    if not isinstance(shear, int | float | list | tuple):
        raise TypeError("Shear should be either a single value or a sequence of two values")
    if center is not None and not isinstance(center, list | tuple):
        raise TypeError("Argument center should be a sequence")
    if isinstance(shear, int | float):
        shear = [shear, 0.0]
    if len(shear) == 1:
        shear = [shear[0], shear[0]]
    if len(shear) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    return shear


def perspective(img, startpoints, endpoints, interpolation=BILINEAR, fill=None):
    """The image with the corners `startpoints` moved to `endpoints`: each four (x, y), clockwise from the top left."""
    interpolation = as_mode(interpolation)
    coefficients = perspective_coefficients(startpoints, endpoints)
    return operation("perspective", img)(img, coefficients, interpolation, fill)


def perspective_coefficients(startpoints, endpoints):
    """The eight numbers of the projective map that leads from `endpoints` back to `startpoints`."""
    if len(startpoints) != 4 or len(endpoints) != 4:
        raise ValueError(
            f"Please provide exactly four corners, got {len(startpoints)} startpoints and {len(endpoints)} endpoints."
        )
    rows = []
    for (x, y), (u, v) in zip(endpoints, startpoints):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    wanted = np.array(startpoints, dtype=np.float64).reshape(8)
    return np.linalg.lstsq(np.array(rows, dtype=np.float64), wanted)[0].astype(np.float32).tolist()


__all__ = [
    "InterpolationMode",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "adjust_sharpness",
    "affine",
    "autocontrast",
    "center_crop",
    "convert_image_dtype",
    "crop",
    "elastic_transform",
    "equalize",
    "erase",
    "five_crop",
    "gaussian_blur",
    "get_dimensions",
    "get_image_num_channels",
    "get_image_size",
    "hflip",
    "invert",
    "normalize",
    "pad",
    "perspective",
    "pil_to_tensor",
    "posterize",
    "resize",
    "resized_crop",
    "rgb_to_grayscale",
    "rotate",
    "solarize",
    "ten_crop",
    "to_grayscale",
    "to_pil_image",
    "to_tensor",
    "vflip",
]
