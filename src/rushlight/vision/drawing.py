"""Boxes, masks, keypoints and flow drawn into images, as ``torchvision.utils`` has them; lines and text need Pillow."""

from __future__ import annotations

import importlib
import math
import warnings

import numpy as np

from rushlight.autograd import no_grad
from rushlight.base import dtypes
from rushlight.ops.table import functions

from .images import is_tensor, pillow
from .transforms.conversion import pil_to_tensor
from .transforms.v2.conversion import to_dtype

__all__ = ["draw_bounding_boxes", "draw_segmentation_masks", "draw_keypoints", "flow_to_image"]


def check_image(image, message, channels, refusal):
    """Refuse what is no single image of uint8 or floating numbers with so many channels."""
    if not is_tensor(image):
        raise TypeError(message.format(type(image)))
    if not (image.dtype == dtypes.uint8 or image.is_floating_point()):
        raise ValueError(f"The image dtype must be uint8 or float, got {image.dtype}")
    if image.dim() != 3:
        raise ValueError("Pass individual images, not batches")
    if image.size(0) not in channels:
        raise ValueError(refusal)


def palette(count):
    """Colours that differ, for so many objects."""
    return [tuple(index * step % 255 for step in (2**25 - 1, 2**15 - 1, 2**21 - 1)) for index in range(count)]


def colors_for(colors, count):
    """A triplet 0 ... 255 for each of `count` objects."""
    if colors is None:
        return palette(count)
    if isinstance(colors, list):
        if len(colors) < count:
            raise ValueError(
                f"Number of colors must be equal or larger than the number of objects, but got {len(colors)} < {count}."
            )
    elif not isinstance(colors, (tuple, str)):
        raise ValueError(f"colors must be a tuple or a string, or a list thereof, but got {colors}.")
    elif isinstance(colors, tuple) and len(colors) != 3:
        raise ValueError(f"If passed as tuple, colors should be an RGB triplet, but got {colors}.")
    else:
        colors = [colors] * count
    pillow("colours by name")
    names = importlib.import_module("PIL.ImageColor")
    return [names.getrgb(color) if isinstance(color, str) else color for color in colors]


def to_drawing(image):
    """A Pillow image, RGB, of a tensor image."""
    if image.is_floating_point():
        image = to_dtype(image, dtypes.uint8, scale=True)
    pixels = np.ascontiguousarray(image.detach().permute(1, 2, 0).numpy())
    return pillow("drawing into images").fromarray(pixels)


def from_drawing(drawn, dtype):
    """The tensor image of a Pillow image, in the dtype that the image had."""
    tensor = pil_to_tensor(drawn)
    return tensor if dtype == dtypes.uint8 else to_dtype(tensor, dtype, scale=True)


def dashes(start, end, length=5):
    """The dashes of a line: pairs of points."""
    distance = math.dist(start, end)
    angle = math.atan2(end[1] - start[1], end[0] - start[0])

    def along(way):
        return (start[0] + way * math.cos(angle), start[1] + way * math.sin(angle))

    return [(along(way), along(min(way + length, distance))) for way in np.arange(0.0, distance, 2 * length)]


def draw_outline(draw, box, color, fill, width):
    """A rectangle, or one of four corners, whose first side is dashed."""
    if len(box) == 4:
        draw.rectangle(box, width=width, outline=color, fill=fill)
        return
    points = list(zip(box[0::2], box[1::2]))
    for dash in dashes(points[0], points[1]):
        draw.line(dash, width=width, fill=color)
    for start, end in zip(points[1:], (*points[2:], points[0])):
        draw.line((start, end), width=width, fill=color)
    draw.polygon(box, fill=fill, outline=None, width=0)


def font_of(font, size):
    pillow("drawing text")
    fonts = importlib.import_module("PIL.ImageFont")
    if font is not None:
        return fonts.truetype(font=font, size=size or 10)
    if size is not None:
        warnings.warn("Argument 'font_size' will be ignored since 'font' is not set.", stacklevel=3)
    return fonts.load_default()


@no_grad()
def draw_bounding_boxes(
    image,
    boxes,
    labels=None,
    colors=None,
    fill=False,
    width=1,
    font=None,
    font_size=None,
    label_colors=None,
    label_background_colors=None,
    fill_labels=False,
):
    """An image, 3xHxW or 1xHxW, with boxes Nx4 (x1, y1, x2, y2) or Nx8 (four corners) and their `labels` drawn into it.

    `colors` is a colour or a list of them: names or triplets 0 ... 255. `fill` fills the boxes half transparently,
    `fill_labels` the ground of the labels. `font` is the file of a TrueType font. Needs Pillow.
    """
    check_image(image, "Tensor expected, got {}", (1, 3), "Only grayscale and RGB images are supported")
    if boxes.shape[-1] == 4 and bool((boxes[:, :2] > boxes[:, 2:]).any()):
        raise ValueError(
            "Boxes need to be in (xmin, ymin, xmax, ymax) format. Use torchvision.ops.box_convert to convert them"
        )
    count = boxes.shape[0]
    if count == 0:
        warnings.warn("boxes doesn't contain any box. No box was drawn", stacklevel=2)
        return image
    labels = [None] * count if labels is None else labels
    if len(labels) != count:
        raise ValueError(
            f"Number of boxes ({count}) and labels ({len(labels)}) mismatch. Please specify labels for each box."
        )
    colors = colors_for(colors, count)
    inks = colors_for(label_colors or "black", count) if label_colors or fill_labels else colors
    grounds = colors_for(label_background_colors, count) if fill_labels and label_background_colors else colors
    font = font_of(font, font_size)
    drawn = to_drawing(functions.cat([image] * 3) if image.size(0) == 1 else image)
    draw = importlib.import_module("PIL.ImageDraw").Draw(drawn, "RGBA" if fill else None)
    for box, color, label, ink, ground in zip(boxes.to(dtypes.int64).tolist(), colors, labels, inks, grounds):
        draw_outline(draw, box, color, (*color, 100) if fill else None, width)
        if label is None:
            continue
        place = (box[0] + width + 1, box[1] + width + 1)
        if fill_labels:
            left, top, right, bottom = draw.textbbox(place, label, font=font)
            draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=ground)
        draw.text(place, label, fill=ink, font=font)
    return from_drawing(drawn, image.dtype)


@no_grad()
def draw_segmentation_masks(image, masks, alpha=0.8, colors=None):
    """An image, 3xHxW, with boolean masks, HxW or NxHxW, coloured with opacity `alpha`; black where masks overlap."""
    refusal = "Pass an RGB image. Other Image formats are not supported"
    check_image(image, "The image must be a tensor, got {}", (3,), refusal)
    if masks.ndim == 2:
        masks = masks[None, :, :]
    if masks.ndim != 3:
        raise ValueError("masks must be of shape (H, W) or (batch_size, H, W)")
    if masks.dtype != dtypes.bool_:
        raise ValueError(f"The masks must be of dtype bool. Got {masks.dtype}")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError("The image and the masks must have the same height and width")
    if masks.size(0) == 0:
        warnings.warn("masks doesn't contain any mask. No mask was drawn", stacklevel=2)
        return image
    colored = image.detach().clone()
    for mask, color in zip(masks, colors_for(colors, masks.size(0))):
        ink = functions.tensor(
            [value / 255 if image.is_floating_point() else value for value in color], dtype=image.dtype
        )
        colored[:, mask] = ink[:, None]
    colored[:, masks.sum(dim=0) > 1] = 0
    return (image * (1 - alpha) + colored * alpha).to(image.dtype)


def check_keypoints(keypoints, visibility):
    if keypoints.ndim != 3:
        raise ValueError("keypoints must be of shape (num_instances, K, 2)")
    if visibility is None:
        return functions.ones(keypoints.shape[:-1], dtype=dtypes.bool_)
    if visibility.ndim == 3:
        visibility = visibility.squeeze(-1)
    if visibility.ndim != 2:
        raise ValueError(f"visibility must be of shape (num_instances, K). Got ndim={visibility.ndim}")
    if visibility.shape != keypoints.shape[:-1]:
        raise ValueError(
            "keypoints and visibility must have the same dimensionality for num_instances and K. Got "
            f"visibility.shape={visibility.shape!r} and keypoints.shape={keypoints.shape!r}"
        )
    return visibility


@no_grad()
def draw_keypoints(image, keypoints, connectivity=None, colors=None, radius=2, width=3, visibility=None):
    """An image, 3xHxW, with the keypoints NxKx2 of N instances as dots, and lines between those that `connectivity` pairs."""
    refusal = "Pass an RGB image. Other Image formats are not supported"
    check_image(image, "The image must be a tensor, got {}", (3,), refusal)
    visibility = check_keypoints(keypoints, visibility)
    drawn = to_drawing(image)
    draw = importlib.import_module("PIL.ImageDraw").Draw(drawn)
    for points, seen in zip(keypoints.to(dtypes.int64).tolist(), visibility.bool().tolist()):
        for (x, y), visible in zip(points, seen):
            if visible:
                around = [x - radius, y - radius, x + radius, y + radius]
                draw.ellipse(around, fill=colors, outline=None, width=0)
        for first, second in connectivity or ():
            if seen[first] and seen[second]:
                draw.line((*points[first][:2], *points[second][:2]), width=width)
    return from_drawing(drawn, image.dtype)


# the sectors of the colour wheel: how many colours, the channel that is full, the one that changes, whether it rises
SECTORS = [(15, 0, 1, True), (6, 1, 0, False), (4, 1, 2, True), (11, 2, 1, False), (13, 2, 0, True), (6, 0, 2, False)]


def color_wheel():
    """The 55 colours of directions (Baker and others, "A Database and Evaluation Methodology for Optical Flow", 2011)."""
    colors = []
    for count, full, changing, rising in SECTORS:
        for index in range(count):
            color = [0.0, 0.0, 0.0]
            step = math.floor(255 * index / count)
            color[full], color[changing] = 255.0, float(step if rising else 255 - step)
            colors.append(color)
    return functions.tensor(colors)


@no_grad()
def flow_to_image(flow):
    """Optical flow, 2xHxW or Nx2xHxW, as an RGB image: the hue says where to, the saturation how far."""
    if flow.dtype != dtypes.float32:
        raise ValueError(f"Flow should be of dtype torch.float, got {flow.dtype}.")
    flows = flow[None] if flow.ndim == 3 else flow
    if flows.ndim != 4 or flows.shape[1] != 2:
        raise ValueError(f"Input flow should have shape (2, H, W) or (N, 2, H, W), got {flow.shape}.")
    largest = flows.pow(2).sum(dim=1).sqrt().max()
    flows = flows / (largest + np.finfo(np.float32).eps.item())
    length = flows.pow(2).sum(dim=1).sqrt()
    wheel = color_wheel()
    place = (functions.atan2(-flows[:, 1], -flows[:, 0]) / math.pi + 1) / 2 * (len(wheel) - 1)
    low = functions.floor(place).to(dtypes.int64)
    share = (place - low)[..., None]
    color = (1 - share) * (wheel[low] / 255.0) + share * (wheel[(low + 1) % len(wheel)] / 255.0)
    color = 1 - length[..., None] * (1 - color)
    image = functions.floor(255 * color).to(dtypes.uint8).permute(0, 3, 1, 2).contiguous()
    return image[0] if flow.ndim == 3 else image
