"""What detectors share: boxes as offsets from other boxes, which box belongs to which anchor, samples of both kinds."""

from __future__ import annotations

import math

from rushlight.autograd import no_grad
from rushlight.base import dtypes
from rushlight.ops.table import functions

from .... import nn
from ....fx._symbolic_trace import _assert
from ...ops import FrozenBatchNorm2d, complete_box_iou_loss, distance_box_iou_loss, generalized_box_iou_loss


class BalancedPositiveNegativeSampler:
    """Draws positions of positive and negative labels: `positive_fraction` of `batch_size_per_image` are positive if there are enough."""

    def __init__(self, batch_size_per_image, positive_fraction):
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction

    def __call__(self, matched_idxs):
        """Two lists of masks for a list of labels: 1 and more is positive, 0 negative, less neither."""
        positive, negative = [], []
        for labels in matched_idxs:
            good, bad = functions.where(labels >= 1)[0], functions.where(labels == 0)[0]
            count = min(good.numel(), int(self.batch_size_per_image * self.positive_fraction))
            rest = min(bad.numel(), self.batch_size_per_image - count)
            for found, places, number in ((positive, good, count), (negative, bad, rest)):
                mask = functions.zeros_like(labels, dtype=dtypes.uint8)
                mask[places[functions.randperm(places.numel())[:number]]] = 1
                found.append(mask)
        return positive, negative


def centers_and_sizes(boxes):
    """The middles and the sides of boxes, as columns: x, y, width, height."""
    left, top, right, bottom = (boxes[:, place, None] for place in range(4))
    width, height = right - left, bottom - top
    return left + 0.5 * width, top + 0.5 * height, width, height


def encode_boxes(reference_boxes, proposals, weights):
    """How far boxes are from proposals, and how much larger, in units of the proposals' sides and with `weights`."""
    x, y, width, height = centers_and_sizes(proposals)
    goal_x, goal_y, goal_width, goal_height = centers_and_sizes(reference_boxes)
    across = weights[0] * (goal_x - x) / width
    down = weights[1] * (goal_y - y) / height
    wider = weights[2] * functions.log(goal_width / width)
    higher = weights[3] * functions.log(goal_height / height)
    return functions.cat((across, down, wider, higher), dim=1)


_LARGEST = math.log(1000.0 / 16)  # of the logarithms of sizes, so that exp stays finite


class BoxCoder:
    """Boxes as offsets and logarithms of sizes relative to others (Girshick, 2015), and back.

    >>> import rushlight as torch
    >>> coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
    >>> boxes, anchors = torch.tensor([[0.0, 0.0, 4.0, 2.0]]), torch.tensor([[0.0, 0.0, 2.0, 2.0]])
    >>> coder.encode_single(boxes, anchors)
    tensor([[0.5000, 0.0000, 0.6931, 0.0000]])
    >>> coder.decode_single(coder.encode_single(boxes, anchors), anchors)
    tensor([[0., 0., 4., 2.]])
    """

    def __init__(self, weights, bbox_xform_clip=_LARGEST):
        self.weights = weights
        self.bbox_xform_clip = bbox_xform_clip

    def encode(self, reference_boxes, proposals):
        """The codes of the boxes of several images, as a tuple."""
        counts = [len(boxes) for boxes in reference_boxes]
        return self.encode_single(functions.cat(reference_boxes), functions.cat(proposals)).split(counts, 0)

    def encode_single(self, reference_boxes, proposals):
        """The codes of boxes, Nx4."""
        return encode_boxes(reference_boxes, proposals, functions.tensor(self.weights, dtype=reference_boxes.dtype))

    def decode(self, rel_codes, boxes):
        """The boxes of several images that codes stand for: N x classes x 4."""
        _assert(isinstance(boxes, (list, tuple)), "This function expects boxes of type list or tuple.")
        count = sum(len(each) for each in boxes)
        found = self.decode_single(rel_codes.reshape(count, -1) if count else rel_codes, functions.cat(boxes))
        return found.reshape(count, -1, 4) if count else found

    def decode_single(self, rel_codes, boxes):
        """The boxes that codes stand for, four columns for each four of the codes."""
        x, y, width, height = centers_and_sizes(boxes.to(rel_codes.dtype))
        across, down, wider, higher = (rel_codes[:, place::4] / weight for place, weight in enumerate(self.weights))
        x, y = across * width + x, down * height + y
        half_width = 0.5 * (functions.exp(wider.clamp(max=self.bbox_xform_clip)) * width)
        half_height = 0.5 * (functions.exp(higher.clamp(max=self.bbox_xform_clip)) * height)
        return functions.stack((x - half_width, y - half_height, x + half_width, y + half_height), dim=2).flatten(1)


class BoxLinearCoder:
    """Boxes as distances of their sides from the middle of others, in units of those others' sides if `normalize_by_size`."""

    def __init__(self, normalize_by_size=True):
        self.normalize_by_size = normalize_by_size

    def encode(self, reference_boxes, proposals):
        """The distances left, up, right and down from the middles of the reference boxes to the sides of the proposals."""
        middle = self._middle(reference_boxes)
        found = functions.cat((middle - proposals[..., :2], proposals[..., 2:] - middle), dim=-1)
        return found / self._sides(reference_boxes) if self.normalize_by_size else found

    def decode(self, rel_codes, boxes):
        """The boxes whose sides are that far from the middles of `boxes`."""
        boxes = boxes.to(rel_codes.dtype)
        middle = self._middle(boxes)
        if self.normalize_by_size:
            rel_codes = rel_codes * self._sides(boxes)
        return functions.cat((middle - rel_codes[..., :2], middle + rel_codes[..., 2:]), dim=-1)

    @staticmethod
    def _middle(boxes):
        return 0.5 * (boxes[..., :2] + boxes[..., 2:])

    @staticmethod
    def _sides(boxes):
        sides = boxes[..., 2:] - boxes[..., :2]
        return functions.cat((sides, sides), dim=-1)


class Matcher:
    """Which row of a matrix of overlaps (true boxes x anchors) each column belongs to.

    An anchor belongs to the box that it overlaps best, if by `high_threshold` or more; below `low_threshold` it is -1, between
    the two -2. With `allow_low_quality_matches` each box also keeps the anchors that overlap it best of all, however little.
    """

    BELOW_LOW_THRESHOLD = -1
    BETWEEN_THRESHOLDS = -2

    def __init__(self, high_threshold, low_threshold, allow_low_quality_matches=False):
        _assert(low_threshold <= high_threshold, "low_threshold should be <= high_threshold")
        self.high_threshold = high_threshold
        self.low_threshold = low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix):
        if match_quality_matrix.numel() == 0:
            missing = "proposal" if match_quality_matrix.shape[0] else "ground-truth"
            raise ValueError(f"No {missing} boxes available for one of the images during training")
        quality, best = match_quality_matrix.max(dim=0)
        matches = best.clone()
        matches[quality < self.low_threshold] = self.BELOW_LOW_THRESHOLD
        matches[(quality >= self.low_threshold) & (quality < self.high_threshold)] = self.BETWEEN_THRESHOLDS
        if self.allow_low_quality_matches:
            self.set_low_quality_matches_(matches, best, match_quality_matrix)
        return matches

    def set_low_quality_matches_(self, matches, all_matches, match_quality_matrix):
        """Give back their box to the anchors that no other overlaps a box better than."""
        highest = match_quality_matrix.max(dim=1)[0]
        anchors = functions.where(match_quality_matrix == highest[:, None])[1]
        matches[anchors] = all_matches[anchors]


class SSDMatcher(Matcher):
    """`Matcher` with one threshold that gives each box the anchor that overlaps it best (Liu and others, 2015)."""

    def __init__(self, threshold):
        super().__init__(threshold, threshold, allow_low_quality_matches=False)

    def __call__(self, match_quality_matrix):
        matches = super().__call__(match_quality_matrix)
        anchors = match_quality_matrix.max(dim=1)[1]
        matches[anchors] = functions.arange(len(anchors))
        return matches


def overwrite_eps(model, eps):
    """Set ``eps`` of every frozen batch norm: the first checkpoints were trained with 0."""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def retrieve_out_channels(model, size):
    """The channels of each map that a backbone makes of an image of `size` (width, height)."""
    training = model.training
    model.eval()
    with no_grad():
        maps = named_maps(model(functions.zeros((1, 3, size[1], size[0]))))
    model.train(training)
    return [each.shape[1] for each in maps.values()]


def named_maps(features):
    """What a backbone has made, as a dictionary: one map alone is called "0"."""
    return features if isinstance(features, dict) else {"0": features}


def _topk_min(input, orig_kval, axis):
    """`orig_kval`, or the length of a dimension where that is less."""
    return min(orig_kval, input.shape[axis])


_OVERLAPS = {"ciou": complete_box_iou_loss, "diou": distance_box_iou_loss, "giou": generalized_box_iou_loss}


def _box_loss(type, box_coder, anchors_per_image, matched_gt_boxes_per_image, bbox_regression_per_image, cnf=None):
    """The loss of one image's boxes, summed: of their codes ("l1", "smooth_l1") or of the boxes ("ciou", "diou", "giou")."""
    _assert(type in ("l1", "smooth_l1", *_OVERLAPS), f"Unsupported loss: {type}")
    options = cnf or {}
    if type in _OVERLAPS:
        boxes = box_coder.decode_single(bbox_regression_per_image, anchors_per_image)
        return _OVERLAPS[type](boxes, matched_gt_boxes_per_image, reduction="sum", eps=options.get("eps", 1e-7))
    target = box_coder.encode_single(matched_gt_boxes_per_image, anchors_per_image)
    if type == "l1":
        return nn.functional.l1_loss(bbox_regression_per_image, target, reduction="sum")
    beta = options.get("beta", 1.0)
    return nn.functional.smooth_l1_loss(bbox_regression_per_image, target, reduction="sum", beta=beta)
