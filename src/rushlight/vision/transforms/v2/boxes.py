"""Bounding boxes and masks under the transforms of images: flips, crops, sizes, borders, formats."""

from __future__ import annotations

from rushlight.base.errors import hinted
from rushlight.ops.table import functions
from rushlight.tensor import Tensor

from ... import tv_tensors
from ...ops.boxes import box_convert
from ...tv_tensors import BoundingBoxes, BoundingBoxFormat
from .. import functional
from ..interpolation import InterpolationMode

NEAREST, EXACT = InterpolationMode.NEAREST, InterpolationMode.NEAREST_EXACT
XYXY = BoundingBoxFormat.XYXY


def plain(tensor):
    """A tensor without its class."""
    return tensor.as_subclass(Tensor)


def numbers_of(boxes):
    """The boxes as a plain tensor that may be written into; rotated ones are refused."""
    if boxes.format in tv_tensors.ROTATED:
        raise NotImplementedError(
            hinted(
                f"Transforms of bounding boxes in the format {boxes.format.value} do not exist here",
                "convert_bounding_box_format brings rotated boxes to another rotated format only: transform them yourself",
            )
        )
    return plain(boxes).clone()


def halved(numbers):
    """Half of it; whole numbers are rounded down."""
    return numbers / 2 if numbers.is_floating_point() else functions.floor_divide(numbers, 2)


def converted(numbers, old, new):
    """Boxes in another format, in their dtype."""
    if old in tv_tensors.ROTATED or new in tv_tensors.ROTATED:
        return box_convert(numbers, old.value.lower(), new.value.lower())
    start, size = numbers[..., :2], numbers[..., 2:]
    if old == XYXY:
        size = size - start
    elif old == BoundingBoxFormat.CXCYWH:
        start = start + halved(-size)
    if new == XYXY:
        size = start + size
    elif new == BoundingBoxFormat.CXCYWH:
        start = halved(start * 2 + size)
    return functions.cat((start, size), dim=-1)


def clamped(numbers, format, canvas_size, clamping_mode):
    """Boxes cut off at the borders of the image; as they are where the mode is None."""
    if clamping_mode is None:
        return numbers
    corners = converted(numbers if numbers.is_floating_point() else numbers.float(), format, XYXY)
    corners[..., 0::2] = corners[..., 0::2].clamp(0, canvas_size[1])
    corners[..., 1::2] = corners[..., 1::2].clamp(0, canvas_size[0])
    return converted(corners, XYXY, format).to(numbers.dtype)


def flip_boxes(boxes, axis):
    """Boxes mirrored: `axis` 0 left to right, 1 upside down."""
    numbers, length = numbers_of(boxes), boxes.canvas_size[1 - axis]
    first, second = numbers[:, axis].clone(), numbers[:, axis + 2].clone()
    if boxes.format == XYXY:
        numbers[:, axis], numbers[:, axis + 2] = length - second, length - first
    elif boxes.format == BoundingBoxFormat.XYWH:
        numbers[:, axis] = length - (first + second)
    else:
        numbers[:, axis] = length - first
    return tv_tensors.wrap(numbers, like=boxes)


def shift_boxes(boxes, down, across, canvas_size):
    """Boxes moved, on a canvas of another size, and cut off there."""
    numbers = numbers_of(boxes)
    columns = (0, 2) if boxes.format == XYXY else (0,)
    for column in columns:
        numbers[:, column] += across
        numbers[:, column + 1] += down
    numbers = clamped(numbers, boxes.format, canvas_size, boxes.clamping_mode)
    return tv_tensors.wrap(numbers, like=boxes, canvas_size=canvas_size)


def resize_boxes(boxes, size):
    """Boxes on a canvas of `size` (height, width) instead of their own."""
    tall, wide = (new / old for new, old in zip(size, boxes.canvas_size))
    numbers = numbers_of(boxes)
    if tuple(size) != tuple(boxes.canvas_size):
        numbers = (numbers * functions.tensor([wide, tall, wide, tall])).to(boxes.dtype)
    return tv_tensors.wrap(numbers, like=boxes, canvas_size=tuple(size))


def as_image(mask, function):
    """`function` of a mask that has a dimension for the channel while it works."""
    return function(mask.unsqueeze(0)).squeeze(0) if mask.ndim < 3 else function(mask)


def resize_mask(mask, size, interpolation):
    """A mask in another size: its values are picked, not mixed."""
    mode = interpolation if interpolation in (NEAREST, EXACT) else NEAREST
    return as_image(mask, lambda image: functional.resize(image, size, mode))


def convert_bounding_box_format(inpt, old_format=None, new_format=None, inplace=False):
    """Boxes in another format; of a plain tensor `old_format` is asked for."""
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    formats = [BoundingBoxFormat[each.upper()] if isinstance(each, str) else each for each in (old_format, new_format)]
    if not isinstance(inpt, BoundingBoxes):
        if old_format is None:
            raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
        return converted(inpt, *formats)
    if old_format is not None:
        raise ValueError("For bounding box tv_tensor inputs, `old_format` must not be passed.")
    return tv_tensors.wrap(converted(plain(inpt), inpt.format, formats[1]), like=inpt, format=formats[1])


def clamp_bounding_boxes(inpt, format=None, canvas_size=None, clamping_mode="auto"):
    """Boxes cut off at the borders of the image; of a plain tensor all facts are asked for."""
    if clamping_mode is not None and clamping_mode not in ("soft", "hard", "auto"):
        raise ValueError(f"clamping_mode must be soft, hard, auto or None, got {clamping_mode}")
    if not isinstance(inpt, BoundingBoxes):
        if format is None or canvas_size is None or clamping_mode == "auto":
            raise ValueError("For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed.")
        format = BoundingBoxFormat[format.upper()] if isinstance(format, str) else format
        return clamped(inpt, format, canvas_size, clamping_mode)
    if format is not None or canvas_size is not None:
        raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed.")
    mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
    return tv_tensors.wrap(clamped(numbers_of(inpt), inpt.format, inpt.canvas_size, mode), like=inpt)
