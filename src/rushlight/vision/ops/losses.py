"""Losses of detectors: focal loss, and those made of the overlap of boxes."""

from __future__ import annotations

import math

from rushlight.autograd import no_grad
from rushlight.base import dtypes
from rushlight.ops.table import functions

from ... import nn

__all__ = ["sigmoid_focal_loss", "generalized_box_iou_loss", "distance_box_iou_loss", "complete_box_iou_loss"]


def reduced(loss, reduction, of_boxes=True):
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean() if loss.numel() > 0 or not of_boxes else 0.0 * loss.sum()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(
        f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
    )


def sigmoid_focal_loss(inputs, targets, alpha=0.25, gamma=2, reduction="none"):
    """Binary cross entropy in which what is right already counts less (Lin and others, 2017).

    `alpha` weighs the positive examples; -1 leaves the weights out.
    """
    if not 0 <= alpha <= 1 and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    chance = functions.sigmoid(inputs)
    entropy = nn.functional.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = chance * targets + (1 - chance) * (1 - targets)
    loss = entropy * ((1 - right) ** gamma)
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return reduced(loss, reduction, of_boxes=False)


def as_float(boxes):
    return boxes if boxes.dtype in (dtypes.float32, dtypes.float64) else boxes.float()


def overlap(boxes1, boxes2):
    """The areas of intersection and union of boxes one by one, and the corners of the least box around both."""
    left1, top1, right1, bottom1 = boxes1.unbind(dim=-1)
    left2, top2, right2, bottom2 = boxes2.unbind(dim=-1)
    width = functions.min(right1, right2) - functions.max(left1, left2)
    height = functions.min(bottom1, bottom2) - functions.max(top1, top2)
    meet = (width > 0) & (height > 0)
    shared = functions.where(meet, width * height, functions.zeros_like(left1))
    joint = (right1 - left1) * (bottom1 - top1) + (right2 - left2) * (bottom2 - top2) - shared
    sides = (
        functions.max(right1, right2) - functions.min(left1, left2),
        functions.max(bottom1, bottom2) - functions.min(top1, top2),
    )
    return shared, joint, sides


def generalized_box_iou_loss(boxes1, boxes2, reduction="none", eps=1e-7):
    """One less the generalized IoU of each box with its counterpart (Rezatofighi and others, 2019)."""
    shared, joint, (width, height) = overlap(as_float(boxes1), as_float(boxes2))
    around = width * height
    return reduced(1 - (shared / (joint + eps) - (around - joint) / (around + eps)), reduction)


def distance_loss_and_iou(boxes1, boxes2, eps=1e-7):
    shared, joint, (width, height) = overlap(boxes1, boxes2)
    iou = shared / (joint + eps)
    left1, top1, right1, bottom1 = boxes1.unbind(dim=-1)
    left2, top2, right2, bottom2 = boxes2.unbind(dim=-1)
    across = (right1 + left1) / 2 - (left2 + right2) / 2
    down = (bottom1 + top1) / 2 - (top2 + bottom2) / 2
    return 1 - iou + (across**2 + down**2) / (width**2 + height**2 + eps), iou


def distance_box_iou_loss(boxes1, boxes2, reduction="none", eps=1e-7):
    """One less the distance IoU of each box with its counterpart (Zheng and others, 2019)."""
    return reduced(distance_loss_and_iou(as_float(boxes1), as_float(boxes2), eps)[0], reduction)


def complete_box_iou_loss(boxes1, boxes2, reduction="none", eps=1e-7):
    """One less the complete IoU of each box with its counterpart (Zheng and others, 2019)."""
    boxes1, boxes2 = as_float(boxes1), as_float(boxes2)
    loss, iou = distance_loss_and_iou(boxes1, boxes2)
    angles = []
    for boxes in (boxes2, boxes1):
        left, top, right, bottom = boxes.unbind(dim=-1)
        angles.append(functions.atan((right - left) / (bottom - top)))
    difference = (4 / math.pi**2) * functions.pow(angles[0] - angles[1], 2)
    with no_grad():
        share = difference / (1 - iou + difference + eps)
    return reduced(loss + share * difference, reduction)
