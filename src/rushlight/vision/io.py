"""``torchvision.io`` for images: files and bytes to uint8 tensors and back, by Pillow."""

from __future__ import annotations

import io
from enum import Enum
from pathlib import Path

import numpy as np

from rushlight.base import dtypes
from rushlight.base.errors import hinted
from rushlight.ops.table import functions

from .images import array_to_tensor, is_tensor, pillow

__all__ = [
    "ImageReadMode",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_webp",
    "decode_gif",
    "encode_jpeg",
    "encode_png",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]


class ImageReadMode(Enum):
    """Which channels a decoded image has; UNCHANGED: those of the file."""

    UNCHANGED = 0
    GRAY = 1
    GRAY_ALPHA = 2
    RGB = 3
    RGB_ALPHA = 4
    RGBA = RGB_ALPHA


PILLOW_MODES = {"GRAY": "L", "GRAY_ALPHA": "LA", "RGB": "RGB", "RGB_ALPHA": "RGBA"}


def read_file(path):
    """The bytes of a file, as a one-dimensional uint8 tensor."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise RuntimeError(f"[Errno 2] No such file or directory: '{path}'") from None
    return functions.from_numpy(np.frombuffer(data, np.uint8).copy())


def write_file(filename, data):
    """Write a one-dimensional uint8 tensor to a file."""
    check_bytes(data)
    Path(filename).write_bytes(data.numpy().tobytes())


def check_bytes(data):
    if data.dtype != dtypes.uint8:
        raise RuntimeError(hinted("Input tensor dtype should be uint8", f"it is {data.dtype}"))
    if data.dim() != 1:
        raise RuntimeError(hinted("Input data should be a 1-dimensional tensor", f"it has {data.dim()} dimensions"))


def opened(data, formats=None):
    """The Pillow image of encoded bytes."""
    check_bytes(data)
    image = pillow("decoding images")
    try:
        return image.open(io.BytesIO(data.numpy().tobytes()), formats=formats)
    except image.UnidentifiedImageError:
        kinds = "image" if formats is None else " or ".join(formats)
        raise RuntimeError(hinted("Unsupported image file.", f"Pillow does not know these bytes as {kinds}")) from None


def pixels(image, mode, upright=False):
    """A Pillow image as a CxHxW tensor with the channels that `mode` asks for."""
    mode = ImageReadMode[mode.upper()] if isinstance(mode, str) else mode
    if upright:
        from PIL import ImageOps

        image = ImageOps.exif_transpose(image)
    if mode != ImageReadMode.UNCHANGED:
        image = image.convert(PILLOW_MODES[mode.name])
    elif image.mode in ("P", "1", "CMYK", "YCbCr"):
        has_alpha = image.mode == "P" and "transparency" in image.info
        image = image.convert("L" if image.mode == "1" else "RGBA" if has_alpha else "RGB")
    array = np.array(image)
    return array_to_tensor(array.astype(np.uint16) if array.dtype == np.int32 else array)


def decode_image(input, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """An encoded image (bytes as a uint8 tensor, or a path) as a CxHxW tensor; `mode` is an `ImageReadMode` or its name."""
    data = input if is_tensor(input) else read_file(str(input))
    return pixels(opened(data), mode, apply_exif_orientation)


def read_image(path, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """The image in a file as a CxHxW uint8 tensor (uint16 for 16-bit PNGs). Needs Pillow.

    >>> import rushlight as torch
    >>> from rushlight.vision.io import read_image, write_png
    >>> write_png(torch.arange(12, dtype=torch.uint8).reshape(3, 2, 2), "four_pixels.png")
    >>> read_image("four_pixels.png")[0]
    tensor([[0, 1],
            [2, 3]], dtype=torch.uint8)
    """
    return decode_image(read_file(path), mode, apply_exif_orientation)


def decode_png(input, mode=ImageReadMode.UNCHANGED, apply_exif_orientation=False):
    """A PNG's bytes as a CxHxW tensor."""
    return pixels(opened(input, ["PNG"]), mode, apply_exif_orientation)


def decode_jpeg(input, mode=ImageReadMode.UNCHANGED, device="cpu", apply_exif_orientation=False):
    """A JPEG's bytes as a CxHxW tensor; a list of them as a list."""
    if isinstance(input, list):
        if len(input) == 0:
            raise ValueError("Input list must contain at least one element")
        if not all(is_tensor(each) for each in input):
            raise ValueError("All elements of the input list must be tensors.")
        return [decode_jpeg(each, mode, device, apply_exif_orientation) for each in input]
    return pixels(opened(input, ["JPEG"]), mode, apply_exif_orientation)


def decode_webp(input, mode=ImageReadMode.UNCHANGED):
    """A WebP's bytes as a CxHxW tensor."""
    return pixels(opened(input, ["WEBP"]), mode)


def decode_gif(input):
    """A GIF's bytes as a 3xHxW tensor, Nx3xHxW when it moves."""
    image = opened(input, ["GIF"])
    frames = []
    for index in range(image.n_frames):
        image.seek(index)
        frames.append(array_to_tensor(np.array(image.convert("RGB"))))
    return frames[0] if len(frames) == 1 else functions.stack(frames)


def encoded(image, kind, **options):
    """The bytes of a CxHxW uint8 tensor as a file of that kind."""
    if image.dtype != dtypes.uint8:
        raise RuntimeError(hinted("Input tensor dtype should be uint8", f"it is {image.dtype}"))
    if image.dim() != 3:
        raise RuntimeError(hinted("Input data should be a 3-dimensional tensor", f"it has {image.dim()} dimensions"))
    if image.size(0) not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {image.size(0)}")
    array = np.ascontiguousarray(image.permute(1, 2, 0).numpy())
    file = io.BytesIO()
    pillow("encoding images").fromarray(array[:, :, 0] if image.size(0) == 1 else array).save(file, kind, **options)
    return functions.from_numpy(np.frombuffer(file.getvalue(), np.uint8).copy())


def encode_png(input, compression_level=6):
    """A CxHxW uint8 tensor, one or three channels, as the bytes of a PNG; `compression_level` 0 ... 9."""
    if not 0 <= compression_level <= 9:
        raise RuntimeError("Compression level should be between 0 and 9")
    return encoded(input, "PNG", compress_level=compression_level)


def encode_jpeg(input, quality=75):
    """A CxHxW uint8 tensor, one or three channels, as the bytes of a JPEG; a list of them as a list."""
    if quality < 1 or quality > 100:
        raise ValueError("Image quality should be a positive number between 1 and 100")
    if isinstance(input, list):
        if not input:
            raise ValueError("encode_jpeg requires at least one input tensor when a list is passed")
        return [encode_jpeg(image, quality) for image in input]
    return encoded(input, "JPEG", quality=quality)


def write_png(input, filename, compression_level=6):
    """Write a CxHxW uint8 tensor as a PNG."""
    write_file(filename, encode_png(input, compression_level))


def write_jpeg(input, filename, quality=75):
    """Write a CxHxW uint8 tensor as a JPEG."""
    write_file(filename, encode_jpeg(input, quality))
