"""The functional transforms of Pillow images: which call to Pillow each one is."""

from __future__ import annotations

import numpy as np

from .interpolation import PILLOW_CODES


def get_dimensions(image):
    """``[channels, height, width]``."""
    return [len(image.getbands()), image.height, image.width]


def hflip(image):
    """Mirror left to right."""
    from PIL import Image

    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def vflip(image):
    """Mirror top to bottom."""
    from PIL import Image

    return image.transpose(Image.Transpose.FLIP_TOP_BOTTOM)


def crop(image, top, left, height, width):
    """The box at (`top`, `left`); what lies outside the image is black."""
    return image.crop((left, top, left + width, top + height))


def resize(image, size, interpolation, antialias=True):
    """To `size` (height, width). Pillow always smooths when it shrinks, so `antialias` changes nothing."""
    return image.resize((size[1], size[0]), PILLOW_CODES[interpolation])


def pad(image, border, fill, mode):
    """`border` is (left, top, right, bottom); negative numbers crop (with ``"constant"``, as Pillow does it)."""
    from PIL import Image, ImageOps

    left, top, right, bottom = border
    if mode == "constant":
        color = fill_color(fill, image)
        if image.mode != "P":
            return ImageOps.expand(image, border=border, fill=color)
        padded = ImageOps.expand(image, border=border, fill=color)
        padded.putpalette(image.getpalette())
        return padded
    palette = image.getpalette() if image.mode == "P" else None
    image = image.crop((-min(left, 0), -min(top, 0), image.width + min(right, 0), image.height + min(bottom, 0)))
    pixels = np.asarray(image)
    widths = [(max(top, 0), max(bottom, 0)), (max(left, 0), max(right, 0))] + [(0, 0)] * (pixels.ndim - 2)
    padded = Image.fromarray(np.pad(pixels, widths, mode=mode))
    if palette is not None:
        padded.putpalette(palette)
    return padded


def fill_color(fill, image):
    """`fill` (None, a number, one number a channel) as the colour Pillow takes; black for None."""
    channels = len(image.getbands())
    if fill is None:
        fill = 0
    if isinstance(fill, int | float) and channels > 1:
        fill = (fill,) * channels
    if isinstance(fill, list | tuple):
        if len(fill) == 1:
            fill = tuple(fill) * channels
        if len(fill) != channels:
            raise ValueError(
                "The number of elements in 'fill' does not match the number of channels of the image "
                f"({len(fill)} != {channels})"
            )
        fill = tuple(fill)
    if image.mode == "F":
        return fill
    return tuple(int(part) for part in fill) if isinstance(fill, tuple) else int(fill)


def affine(image, matrix, interpolation, fill):
    """`matrix` maps a pixel of the result to the pixel of `image` that it shows: ``[a, b, c, d, e, f]``."""
    from PIL import Image

    return image.transform(
        image.size, Image.Transform.AFFINE, matrix, PILLOW_CODES[interpolation], fillcolor=fill_color(fill, image)
    )


def rotate(image, angle, interpolation, expand, center, fill):
    """Counter-clockwise by `angle` degrees about `center` (x, y)."""
    return image.rotate(angle, PILLOW_CODES[interpolation], expand, center, fillcolor=fill_color(fill, image))


def perspective(image, coefficients, interpolation, fill):
    """`coefficients` are the eight numbers of the projective map from the result to `image`."""
    from PIL import Image

    color = fill_color(fill, image)
    return image.transform(
        image.size, Image.Transform.PERSPECTIVE, coefficients, PILLOW_CODES[interpolation], fillcolor=color
    )


def to_grayscale(image, channels):
    """ITU-R 601-2 luma, as one channel or repeated in three."""
    gray = image.convert("L")
    return gray if channels == 1 else gray.convert("RGB")


def adjust_brightness(image, factor):
    """Towards black (0), unchanged (1), brighter (above)."""
    from PIL import ImageEnhance

    return ImageEnhance.Brightness(image).enhance(factor)


def adjust_contrast(image, factor):
    """Towards the mean gray (0), unchanged (1), stronger (above)."""
    from PIL import ImageEnhance

    return ImageEnhance.Contrast(image).enhance(factor)


def adjust_saturation(image, factor):
    """Towards gray (0), unchanged (1), more vivid (above)."""
    from PIL import ImageEnhance

    return ImageEnhance.Color(image).enhance(factor)


def adjust_sharpness(image, factor):
    """Blurred (0), unchanged (1), sharper (above)."""
    from PIL import ImageEnhance

    return ImageEnhance.Sharpness(image).enhance(factor)


def adjust_hue(image, factor):
    """Turn the hue by `factor` of a full circle; gray images stay as they are."""
    from PIL import Image

    if image.mode in ("L", "1", "I", "F"):
        return image
    hue, saturation, value = image.convert("HSV").split()
    turned = np.array(hue, dtype=np.uint8) + np.array(int(factor * 255)).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(turned), saturation, value)).convert(image.mode)


def adjust_gamma(image, gamma, gain):
    """``255 * gain * (pixel / 255) ** gamma``."""
    curve = [int((255 + 1 - 1e-3) * gain * pow(level / 255.0, gamma)) for level in range(256)] * 3
    return image.convert("RGB").point(curve).convert(image.mode)


def invert(image):
    """White becomes black."""
    from PIL import ImageOps

    return ImageOps.invert(image)


def posterize(image, bits):
    """Keep the highest `bits` bits of each channel."""
    from PIL import ImageOps

    return ImageOps.posterize(image, bits)


def solarize(image, threshold):
    """Invert the pixels at or above `threshold`."""
    from PIL import ImageOps

    return ImageOps.solarize(image, threshold)


def autocontrast(image):
    """Stretch each channel to the full range."""
    from PIL import ImageOps

    return ImageOps.autocontrast(image)


def equalize(image):
    """Level each channel's histogram."""
    from PIL import ImageOps

    return ImageOps.equalize(image)
