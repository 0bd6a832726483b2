"""How boxes are written down, and the ways from one format to another."""

from __future__ import annotations

import math

from rushlight.ops.table import functions

STRAIGHT = ("xyxy", "xywh", "cxcywh")
ROTATED = ("cxcywhr", "xywhr", "xyxyxyxy")


def centre_to_corners(boxes):
    x, y, width, height = boxes.unbind(-1)
    sides = (x - 0.5 * width, y - 0.5 * height, x + 0.5 * width, y + 0.5 * height)
    return functions.stack(sides, dim=-1)


def corners_to_centre(boxes):
    left, top, right, bottom = boxes.unbind(-1)
    return functions.stack(((left + right) / 2, (top + bottom) / 2, right - left, bottom - top), dim=-1)


def size_to_corners(boxes):
    x, y, width, height = boxes.unbind(-1)
    return functions.stack((x, y, x + width, y + height), dim=-1)


def corners_to_size(boxes):
    left, top, right, bottom = boxes.unbind(-1)
    return functions.stack((left, top, right - left, bottom - top), dim=-1)


def in_dtype_of(boxes, parts):
    """The parts as the numbers of boxes; whole numbers are rounded."""
    made = functions.stack(parts, dim=-1)
    return made if boxes.is_floating_point() else made.round().to(boxes.dtype)


def turned(boxes):
    """Two numbers, width, height, angle, and half the way to the opposite corner along x and y."""
    first, second, width, height, angle = boxes.unbind(-1)
    radians = angle * math.pi / 180.0
    cosine, sine = functions.cos(radians), functions.sin(radians)
    across, down = width / 2 * cosine + height / 2 * sine, height / 2 * cosine - width / 2 * sine
    return first, second, width, height, angle, across, down


def centre_to_corner_rotated(boxes):
    x, y, width, height, angle, across, down = turned(boxes)
    return in_dtype_of(boxes, (x - across, y - down, width, height, angle))


def corner_to_centre_rotated(boxes):
    x, y, width, height, angle, across, down = turned(boxes)
    return in_dtype_of(boxes, (x + across, y + down, width, height, angle))


def rotated_to_corners(boxes):
    x, y, width, height, angle = boxes.unbind(-1)
    radians = angle * math.pi / 180.0
    cosine, sine = functions.cos(radians), functions.sin(radians)
    second = (x + width * cosine, y - width * sine)
    fourth = (x + height * sine, y + height * cosine)
    third = (second[0] + height * sine, second[1] + height * cosine)
    return in_dtype_of(boxes, (x, y, *second, *third, *fourth))


def corners_to_rotated(boxes):
    x1, y1, x2, y2, x3, y3, _x4, _y4 = boxes.unbind(-1)
    angle = functions.atan2(y1 - y2, x2 - x1) * 180 / math.pi
    width = ((x2 - x1) ** 2 + (y1 - y2) ** 2).sqrt()
    height = ((x3 - x2) ** 2 + (y3 - y2) ** 2).sqrt()
    return in_dtype_of(boxes, (x1, y1, width, height, angle))


# each group of formats has one in the middle, to and from which all others are converted
MIDDLE = {**dict.fromkeys(STRAIGHT, "xyxy"), **dict.fromkeys(ROTATED, "xywhr")}
TO_MIDDLE = {
    "cxcywh": centre_to_corners,
    "xywh": size_to_corners,
    "cxcywhr": centre_to_corner_rotated,
    "xyxyxyxy": corners_to_rotated,
}
FROM_MIDDLE = {
    "cxcywh": corners_to_centre,
    "xywh": corners_to_size,
    "cxcywhr": corner_to_centre_rotated,
    "xyxyxyxy": rotated_to_corners,
}


def path(start, end):
    """The conversions that lead from one format to another; None between straight and rotated ones."""
    if MIDDLE[start] != MIDDLE[end]:
        return None
    return [steps[name] for steps, name in ((TO_MIDDLE, start), (FROM_MIDDLE, end)) if name in steps]
