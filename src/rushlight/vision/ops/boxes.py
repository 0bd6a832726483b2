"""Boxes: areas, overlaps, formats, clipping, and the choice among overlapping ones."""

from __future__ import annotations

import math

import numpy as np

from rushlight.autograd import no_grad
from rushlight.base import dtypes
from rushlight.base.errors import hinted
from rushlight.ops.table import functions

from . import box_formats

__all__ = [
    "masks_to_boxes",
    "nms",
    "batched_nms",
    "remove_small_boxes",
    "clip_boxes_to_image",
    "box_convert",
    "box_area",
    "box_iou",
    "generalized_box_iou",
    "distance_box_iou",
    "complete_box_iou",
]

MANY = 4000  # numbers in the boxes from which on `batched_nms` goes class by class


def nms(boxes, scores, iou_threshold):
    """The boxes, Nx4 as x1, y1, x2, y2, that overlap no better one by more than `iou_threshold`: their indices, best first.

    >>> import rushlight as torch
    >>> from rushlight.vision.ops import nms
    >>> nms(torch.tensor([[0., 0, 2, 2], [0, 0, 2, 1.9], [5, 5, 6, 6]]), torch.tensor([0.2, 0.3, 0.1]), 0.5)
    tensor([1, 2])
    """
    check_for_nms(boxes, scores)
    left, top, right, bottom = boxes.detach().numpy().T
    areas = (right - left) * (bottom - top)
    waiting = scores.detach().sort(descending=True, stable=True)[1].numpy()
    threshold = np.float64(iou_threshold)  # which a float32 overlap is compared with as it is
    kept = []
    while len(waiting):
        best, waiting = waiting[0], waiting[1:]
        kept.append(best)
        width = np.minimum(right[best], right[waiting]) - np.maximum(left[best], left[waiting])
        height = np.minimum(bottom[best], bottom[waiting]) - np.maximum(top[best], top[waiting])
        shared = np.maximum(width, 0) * np.maximum(height, 0)
        with np.errstate(invalid="ignore", divide="ignore"):  # boxes without area overlap nothing
            overlap = shared / (areas[best] + areas[waiting] - shared)
        waiting = waiting[~(overlap > threshold)]
    return functions.tensor(np.array(kept, dtype=np.int64))


def check_for_nms(boxes, scores):
    if boxes.dim() != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {boxes.dim()}D")
    if boxes.size(1) != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {boxes.size(1)}")
    if scores.dim() != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.dim()}D")
    if boxes.size(0) != scores.size(0):
        raise RuntimeError(
            f"boxes and scores should have same number of elements in dimension 0, got {boxes.size(0)} and {scores.size(0)}"
        )


def batched_nms(boxes, scores, idxs, iou_threshold):
    """`nms` within each class: boxes of different `idxs` do not compete."""
    if boxes.numel() > MANY:
        kept = functions.zeros_like(scores, dtype=dtypes.bool_)
        for number in functions.unique(idxs):
            chosen = functions.where(idxs == number)[0]
            kept[chosen[nms(boxes[chosen], scores[chosen], iou_threshold)]] = True
        kept = functions.where(kept)[0]
        return kept[scores[kept].sort(descending=True)[1]]
    if boxes.numel() == 0:
        return functions.empty((0,), dtype=dtypes.int64)
    offsets = idxs.to(boxes) * (boxes.max() + 1)  # classes lie side by side, far enough apart
    return nms(boxes + offsets[:, None], scores, iou_threshold)


def remove_small_boxes(boxes, min_size):
    """The indices of the boxes both of whose sides are at least `min_size`."""
    width, height = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    return functions.where((width >= min_size) & (height >= min_size))[0]


def clip_boxes_to_image(boxes, size):
    """The boxes cut off at the borders of an image of `size` (height, width)."""
    height, width = size
    across, down = boxes[..., 0::2].clamp(min=0, max=width), boxes[..., 1::2].clamp(min=0, max=height)
    return functions.stack((across, down), dim=boxes.dim()).reshape(boxes.shape)


def box_convert(boxes, in_fmt, out_fmt):
    """Boxes in another format: "xyxy" (two corners), "xywh" (corner and size), "cxcywh" (centre and size).

    Rotated ones: "xywhr", "cxcywhr" (with an angle in degrees) and "xyxyxyxy" (four corners).

    >>> import rushlight as torch
    >>> from rushlight.vision.ops import box_convert
    >>> box_convert(torch.tensor([[1., 2., 5., 4.]]), "xyxy", "cxcywh")
    tensor([[3., 3., 4., 2.]])
    """
    known = (*box_formats.STRAIGHT, *box_formats.ROTATED)
    if in_fmt not in known or out_fmt not in known:
        raise ValueError(f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}")
    if in_fmt == out_fmt:
        return boxes.clone()
    path = box_formats.path(in_fmt, out_fmt)
    if path is None:
        raise NotImplementedError(
            f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}"
        )
    for step in path:
        boxes = step(boxes)
    return boxes


def upcast(tensor):
    """Products need room: float32 or float64, int32 or int64."""
    wide = (dtypes.float32, dtypes.float64) if tensor.is_floating_point() else (dtypes.int32, dtypes.int64)
    return tensor if tensor.dtype in wide else tensor.to(wide[0])


def box_area(boxes, fmt="xyxy"):
    """The area of each box; `fmt` as in `box_convert`, not rotated."""
    if fmt not in box_formats.STRAIGHT:
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    boxes = upcast(boxes)
    if fmt == "xyxy":
        return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
    return boxes[..., 2] * boxes[..., 3]


def corners(boxes, fmt):
    """The upper left and lower right corners of boxes."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if fmt == "xyxy":
        return first, second
    return (first, first + second) if fmt == "xywh" else (first - second / 2, first + second / 2)


def shared_and_joint(boxes1, boxes2, fmt="xyxy"):
    """The areas of intersection and union of each box with each."""
    area1, area2 = box_area(boxes1, fmt), box_area(boxes2, fmt)
    (start1, end1), (start2, end2) = corners(boxes1, fmt), corners(boxes2, fmt)
    start = functions.max(start1[..., None, :], start2[..., None, :, :])
    end = functions.min(end1[..., None, :], end2[..., None, :, :])
    sides = upcast(end - start).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    return shared, area1[..., None] + area2[..., None, :] - shared


def box_iou(boxes1, boxes2, fmt="xyxy"):
    """Intersection over union of each box of `boxes1` with each of `boxes2`, NxM."""
    if fmt in box_formats.ROTATED:
        raise NotImplementedError(
            hinted(f"box_iou of rotated boxes ({fmt}) does not exist here", f"it takes {box_formats.STRAIGHT}")
        )
    if fmt not in box_formats.STRAIGHT:
        raise ValueError(
            f"Unsupported format '{fmt}'. Supported axis-aligned formats: {box_formats.STRAIGHT}. Supported rotated formats: "
            f"{box_formats.ROTATED}."
        )
    shared, joint = shared_and_joint(boxes1, boxes2, fmt)
    return shared / joint


def hull(boxes1, boxes2):
    """The sides of the least box around both, of each with each."""
    start = functions.min(boxes1[..., None, :2], boxes2[..., None, :, :2])
    end = functions.max(boxes1[..., None, 2:], boxes2[..., None, :, 2:])
    return upcast(end - start).clamp(min=0)


def generalized_box_iou(boxes1, boxes2):
    """IoU less the part of the least box around both that neither covers (Rezatofighi and others, 2019)."""
    shared, joint = shared_and_joint(boxes1, boxes2)
    sides = hull(boxes1, boxes2)
    around = sides[..., 0] * sides[..., 1]
    return shared / joint - (around - joint) / around


def distance_and_iou(boxes1, boxes2, eps):
    iou = box_iou(boxes1, boxes2)
    sides = hull(boxes1, boxes2)
    diagonal = sides[..., 0] ** 2 + sides[..., 1] ** 2 + eps
    across, down = (
        (boxes1[..., i] + boxes1[..., i + 2])[..., None] / 2 - (boxes2[..., i] + boxes2[..., i + 2])[..., None, :] / 2
        for i in (0, 1)
    )
    return iou - (upcast(across) ** 2 + upcast(down) ** 2) / diagonal, iou


def distance_box_iou(boxes1, boxes2, eps=1e-7):
    """IoU less the squared distance of the centres by that of the outer corners (Zheng and others, 2019)."""
    return distance_and_iou(upcast(boxes1), upcast(boxes2), eps)[0]


def complete_box_iou(boxes1, boxes2, eps=1e-7):
    """`distance_box_iou` less a term for different proportions (Zheng and others, 2019)."""
    boxes1, boxes2 = upcast(boxes1), upcast(boxes2)
    distance, iou = distance_and_iou(boxes1, boxes2, eps)
    first = (boxes1[..., None, 2] - boxes1[..., None, 0]) / (boxes1[..., None, 3] - boxes1[..., None, 1])
    second = (boxes2[..., None, :, 2] - boxes2[..., None, :, 0]) / (boxes2[..., None, :, 3] - boxes2[..., None, :, 1])
    difference = (4 / math.pi**2) * functions.pow(functions.atan(first) - functions.atan(second), 2)
    with no_grad():
        share = difference / (1 - iou + difference + eps)
    return distance - share * difference


def masks_to_boxes(masks):
    """The box around the true pixels of each mask, NxHxW to Nx4; zeros where there are none."""
    if masks.numel() == 0:
        return functions.zeros((0, 4), dtype=dtypes.float32)
    _count, height, width = masks.shape
    masks = masks.bool()
    rows, columns = masks.any(dim=2).float(), masks.any(dim=1).float()
    left, top = columns.argmax(dim=1), rows.argmax(dim=1)
    right, bottom = width - 1 - columns.flip(dims=[1]).argmax(dim=1), height - 1 - rows.flip(dims=[1]).argmax(dim=1)
    boxes = functions.stack([left, top, right, bottom], dim=1).float()
    boxes[~rows.bool().any(dim=1)] = 0
    return boxes
