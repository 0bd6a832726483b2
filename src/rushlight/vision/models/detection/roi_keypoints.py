"""Key points of objects: a map of chances for each point, from it to the point, and back."""

from __future__ import annotations

from rushlight.base import dtypes
from rushlight.ops.table import functions

from .... import nn


def keypoints_to_heatmap(keypoints, rois, heatmap_size):
    """Where points lie in a map of their box, as one number each, and which are visible and within it."""
    origin, size = rois[:, None, :2], rois[:, None, 2:] - rois[:, None, :2]
    places = ((keypoints[..., :2] - origin) * (heatmap_size / size)).floor().long()
    places[keypoints[..., :2] == rois[:, None, 2:]] = heatmap_size - 1  # on the far side of the box
    inside = ((places >= 0) & (places < heatmap_size)).all(-1)
    valid = (inside & (keypoints[..., 2] > 0)).long()
    return (places[..., 1] * heatmap_size + places[..., 0]) * valid, valid


def heatmaps_to_keypoints(maps, rois):
    """The points (x, y, 1) where maps of boxes are highest, N x points x 3, and how high."""
    sides = (rois[:, 2:] - rois[:, :2]).clamp(min=1)
    count = maps.shape[1]
    points = functions.zeros((len(rois), count, 3), dtype=dtypes.float32)
    scores = functions.zeros((len(rois), count), dtype=dtypes.float32)
    for number, (side, pixels) in enumerate(zip(sides, sides.ceil().long().tolist())):
        width, height = pixels
        options = {"size": (height, width), "mode": "bicubic", "align_corners": False}
        grown = nn.functional.interpolate(maps[number][:, None], **options)[:, 0].reshape(count, -1)
        best = grown.argmax(dim=1)
        column = best % width
        row = functions.div(best - column, width, rounding_mode="floor")
        points[number, :, 0] = (column.float() + 0.5) * (side[0] / width) + rois[number, 0]
        points[number, :, 1] = (row.float() + 0.5) * (side[1] / height) + rois[number, 1]
        points[number, :, 2] = 1
        scores[number] = grown[functions.arange(count), best]
    return points, scores


def keypointrcnn_loss(keypoint_logits, proposals, gt_keypoints, keypoint_matched_idxs):
    """Cross entropy of each visible point's place among all places of its map."""
    count, points, height, width = keypoint_logits.shape
    if height != width:
        raise ValueError(
            "keypoint_logits height and width (last two elements of shape) should be equal. Instead got "
            f"H = {height} and W = {width}"
        )
    matched = zip(proposals, gt_keypoints, keypoint_matched_idxs)
    found = [keypoints_to_heatmap(every[places], boxes, height) for boxes, every, places in matched]
    targets, valid = (functions.cat([each.view(-1) for each in parts]) for parts in zip(*found))
    valid = functions.where(valid)[0]
    if targets.numel() == 0 or len(valid) == 0:
        return keypoint_logits.sum() * 0
    logits = keypoint_logits.view(count * points, height * width)
    return nn.functional.cross_entropy(logits[valid], targets[valid])


def keypointrcnn_inference(x, boxes):
    """The points and scores of each image."""
    maps = x.split([len(each) for each in boxes], dim=0)
    found = [heatmaps_to_keypoints(*each) for each in zip(maps, boxes)]
    return [points for points, _ in found], [scores for _, scores in found]
