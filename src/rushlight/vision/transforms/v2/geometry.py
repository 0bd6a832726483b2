"""Flips, crops, sizes and borders of samples."""

from __future__ import annotations

from rushlight.ops.table import functions

from ... import tv_tensors
from ...tv_tensors import BoundingBoxes, Mask
from .. import functional, geometry, random_geometry
from ..draws import chance, integer
from ..interpolation import InterpolationMode
from .boxes import as_image, flip_boxes, plain, resize_boxes, resize_mask, shift_boxes
from .joint import Joint, is_image, on_image, second_version, size_of


def sides_of(padding):
    """A border as left, top, right, bottom."""
    if isinstance(padding, int):
        return [padding] * 4
    return list(padding) * (4 // len(padding))


def of_kind(inpt, image, boxes, mask):
    """`inpt` changed by the function for its kind."""
    if isinstance(inpt, BoundingBoxes):
        return boxes(inpt)
    if isinstance(inpt, Mask):
        return tv_tensors.wrap(mask(plain(inpt)), like=inpt)
    return on_image(inpt, image) if is_image(inpt) else inpt


def crop(inpt, top, left, height, width):
    """A box of an image with its mask, or of what boxes lie on."""

    def part(image):
        return functional.crop(image, top, left, height, width)

    return of_kind(inpt, part, lambda boxes: shift_boxes(boxes, -top, -left, (height, width)), part)


def pad(inpt, padding, fill=0, padding_mode="constant"):
    """An image, a mask or boxes with a border: one number, (across, down), or (left, top, right, bottom)."""
    left, top, right, bottom = sides = sides_of(padding)

    def of_boxes(boxes):
        if padding_mode != "constant":
            raise ValueError(f"Padding mode '{padding_mode}' is not supported with bounding boxes")
        height, width = boxes.canvas_size
        return shift_boxes(boxes, top, left, (height + top + bottom, width + left + right))

    def of_mask(mask):
        if isinstance(fill, (tuple, list)):
            raise ValueError("Non-scalar fill value is not supported")
        return as_image(mask, lambda image: functional.pad(image, sides, fill or 0, padding_mode))

    return of_kind(inpt, lambda image: functional.pad(image, sides, fill, padding_mode), of_boxes, of_mask)


def horizontal_flip(inpt):
    """An image, a mask or boxes mirrored left to right."""
    return of_kind(inpt, functional.hflip, lambda boxes: flip_boxes(boxes, 0), functional.hflip)


def vertical_flip(inpt):
    """An image, a mask or boxes upside down."""
    return of_kind(inpt, functional.vflip, lambda boxes: flip_boxes(boxes, 1), functional.vflip)


def resize(inpt, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
    """An image, a mask or boxes in another size: (height, width), or one number for the shorter edge."""
    size = size[0] if isinstance(size, (list, tuple)) and len(size) == 1 else size

    def target(height, width):
        return functional.resized_size(functions.empty(1, height, width), size, max_size)

    return of_kind(
        inpt,
        lambda image: functional.resize(image, size, interpolation, max_size, antialias),
        lambda boxes: resize_boxes(boxes, target(*boxes.canvas_size)),
        lambda mask: resize_mask(mask, target(*mask.shape[-2:]), interpolation),
    )


def center_crop(inpt, output_size):
    """The middle of an image, a mask or boxes; `output_size` one number or (height, width)."""
    height, width = geometry.setup_size(output_size, geometry.TWO_NUMBERS)

    def of_boxes(boxes):
        top, left = (round((whole - part) / 2.0) for whole, part in zip(boxes.canvas_size, (height, width)))
        return shift_boxes(boxes, -top, -left, (height, width))

    def part(image):
        return functional.center_crop(image, [height, width])

    return of_kind(inpt, part, of_boxes, lambda mask: as_image(mask, part))


def resized_crop(inpt, top, left, height, width, size, interpolation=InterpolationMode.BILINEAR, antialias=True):
    """A box of an image, a mask or boxes, resized to (height, width)."""
    size = list(geometry.setup_size(size, geometry.TWO_NUMBERS))

    def image(img):
        return functional.resized_crop(img, top, left, height, width, size, interpolation, antialias=antialias)

    def mask(each):
        return resize_mask(functional.crop(each, top, left, height, width), size, interpolation)

    def boxes(each):
        return resize_boxes(shift_boxes(each, -top, -left, (height, width)), tuple(size))

    return of_kind(inpt, image, boxes, mask)


class Flip(Joint):
    """What both flips share: whether, by one draw."""

    flip = staticmethod(horizontal_flip)

    def make_params(self, flat_inputs):
        return {"flip": chance(self.p)}

    def transform(self, inpt, params):
        return self.flip(inpt) if params["flip"] else inpt


class Upright(Flip):
    """Upside down."""

    flip = staticmethod(vertical_flip)


class Resizing(Joint):
    """Another size."""

    def transform(self, inpt, params):
        return resize(inpt, self.size, self.interpolation, self.max_size, self.antialias)


class Centering(Joint):
    """The middle."""

    def transform(self, inpt, params):
        return center_crop(inpt, self.size)


class Bordering(Joint):
    """A border."""

    def transform(self, inpt, params):
        return pad(inpt, self.padding, self.fill, self.padding_mode)


class Cropping(Joint):
    """A box at a random place."""

    def make_params(self, flat_inputs):
        tall, wide = size_of(flat_inputs)
        left, top, right, bottom = sides_of(self.padding) if self.padding is not None else (0, 0, 0, 0)
        tall, wide = tall + top + bottom, wide + left + right
        height, width = self.size
        if self.pad_if_needed:
            down, across = max(height - tall, 0), max(width - wide, 0)
            top, bottom, left, right = top + down, bottom + down, left + across, right + across
            tall, wide = tall + 2 * down, wide + 2 * across
        if tall < height or wide < width:
            kind = "padded " if self.padding is not None else ""
            raise ValueError(
                f"Required crop size {(height, width)} is larger than {kind}input image size {(tall, wide)}."
            )
        place = [integer(whole - part + 1) if whole > part else 0 for whole, part in ((tall, height), (wide, width))]
        return {"padding": [left, top, right, bottom], "box": (*place, height, width)}

    def transform(self, inpt, params):
        if any(params["padding"]):
            inpt = pad(inpt, params["padding"], self.fill, self.padding_mode)
        return crop(inpt, *params["box"])


class ResizedCropping(Joint):
    """A random box, resized."""

    def make_params(self, flat_inputs):
        blank = functions.empty(1, *size_of(flat_inputs))
        return {"box": self.get_params(blank, self.scale, self.ratio)}

    def transform(self, inpt, params):
        return resized_crop(inpt, *params["box"], self.size, self.interpolation, self.antialias)


RandomHorizontalFlip = second_version(random_geometry.RandomHorizontalFlip, Flip)
RandomVerticalFlip = second_version(random_geometry.RandomVerticalFlip, Upright)
Resize = second_version(geometry.Resize, Resizing)
CenterCrop = second_version(geometry.CenterCrop, Centering)
Pad = second_version(geometry.Pad, Bordering)
RandomCrop = second_version(random_geometry.RandomCrop, Cropping)
RandomResizedCrop = second_version(random_geometry.RandomResizedCrop, ResizedCropping)
