"""Masks of objects: from what a network says for a box to the image, and from the image to what the network should have said."""

from __future__ import annotations

from rushlight.base import dtypes
from rushlight.ops.table import functions

from .... import nn
from ...ops import roi_align


def maskrcnn_inference(x, labels):
    """The masks of the classes that were found, as chances, N x 1 x H x W for each image."""
    chosen = x.sigmoid()[functions.arange(len(x)), functions.cat(labels)][:, None]
    return chosen.split([len(each) for each in labels], dim=0)


def project_masks_on_boxes(gt_masks, boxes, matched_idxs, M):
    """What lies within boxes of the masks that they belong to, as M x M numbers."""
    regions = functions.cat([matched_idxs.to(boxes)[:, None], boxes], dim=1)
    return roi_align(gt_masks[:, None].to(regions), regions, (M, M), 1.0)[:, 0]


def maskrcnn_loss(mask_logits, proposals, gt_masks, gt_labels, mask_matched_idxs):
    """Binary cross entropy of the masks of the true classes."""
    side = mask_logits.shape[-1]
    labels = functions.cat([each[places] for each, places in zip(gt_labels, mask_matched_idxs)])
    matched = zip(gt_masks, proposals, mask_matched_idxs)
    targets = functions.cat([project_masks_on_boxes(masks, boxes, places, side) for masks, boxes, places in matched])
    if targets.numel() == 0:
        return mask_logits.sum() * 0
    chosen = mask_logits[functions.arange(len(labels)), labels]
    return nn.functional.binary_cross_entropy_with_logits(chosen, targets)


def expand_boxes(boxes, scale):
    """Boxes `scale` times as large around their middles."""
    half = (boxes[:, 2:] - boxes[:, :2]) * 0.5 * scale
    middle = (boxes[:, 2:] + boxes[:, :2]) * 0.5
    return functions.cat((middle - half, middle + half), dim=1)


def expand_masks(mask, padding):
    """Masks with zeros around them, and how much larger they are."""
    side = mask.shape[-1]
    return nn.functional.pad(mask, (padding,) * 4), float(side + 2 * padding) / side


def paste_mask_in_image(mask, box, im_h, im_w):
    """A mask at the whole pixels of its box, in an image of zeros."""
    left, top, right, bottom = box.tolist()
    size = max(bottom - top + 1, 1), max(right - left + 1, 1)
    mask = nn.functional.interpolate(mask[None, None], size=size, mode="bilinear", align_corners=False)[0][0]
    image = functions.zeros((im_h, im_w), dtype=mask.dtype)
    first_x, last_x = max(left, 0), min(right + 1, im_w)
    first_y, last_y = max(top, 0), min(bottom + 1, im_h)
    image[first_y:last_y, first_x:last_x] = mask[first_y - top : last_y - top, first_x - left : last_x - left]
    return image


def paste_masks_in_image(masks, boxes, img_shape, padding=1):
    """Masks of boxes, N x 1 x M x M, as masks of the whole image."""
    masks, scale = expand_masks(masks, padding=padding)
    boxes = expand_boxes(boxes, scale).to(dtype=dtypes.int64)
    height, width = img_shape
    pasted = [paste_mask_in_image(mask[0], box, height, width) for mask, box in zip(masks, boxes)]
    return functions.stack(pasted, dim=0)[:, None] if pasted else masks.new_empty((0, 1, height, width))
