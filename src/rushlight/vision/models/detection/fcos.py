"""FCOS."""

from __future__ import annotations

import math

from rushlight.base import dtypes
from rushlight.ops.table import functions

from .... import nn
from ...ops import generalized_box_iou_loss, sigmoid_focal_loss
from ..weights import attribute_of
from ._building import detector, group_norm, resnet50_pyramid
from ._dense import AnchorHead, DenseDetector, unmatched
from ._utils import BoxLinearCoder
from .anchor_utils import AnchorGenerator
from .faster_rcnn import DEVIATION, MEAN, check_backbone
from .rpn import initialize
from .transform import GeneralizedRCNNTransform

__all__ = ["FCOS"]


class FCOSHead(nn.Module):
    """One head for the classes of the places of the maps, one for their boxes and how near to the middle they are."""

    def __init__(self, in_channels, num_anchors, num_classes, num_convs=4):
        super().__init__()
        self.box_coder = BoxLinearCoder(normalize_by_size=True)
        self.classification_head = FCOSClassificationHead(in_channels, num_anchors, num_classes, num_convs)
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, num_convs)

    def compute_loss(self, targets, head_outputs, anchors, matched_idxs):
        """The losses of classes, boxes and nearness to the middle, per object."""
        labels, boxes = (functions.stack(each) for each in zip(*map(_truth, targets, matched_idxs)))
        anchors = functions.stack(anchors)
        objects = labels >= 0
        logits = head_outputs["cls_logits"]
        classes = functions.zeros_like(logits)
        classes[objects, labels[objects]] = 1.0
        found = self.box_coder.decode(head_outputs["bbox_regression"], anchors)
        nearness = head_outputs["bbox_ctrness"].squeeze(dim=2)[objects]
        truth = self._nearness(self.box_coder.encode(anchors, boxes))[objects]
        losses = {
            "classification": sigmoid_focal_loss(logits, classes, reduction="sum"),
            "bbox_regression": generalized_box_iou_loss(found[objects], boxes[objects], reduction="sum"),
            "bbox_ctrness": nn.functional.binary_cross_entropy_with_logits(nearness, truth, reduction="sum"),
        }
        count = max(1, objects.sum().item())
        return {name: loss / count for name, loss in losses.items()}

    @staticmethod
    def _nearness(codes):
        """1 in the middle of a box, 0 at its sides."""
        pairs = functions.stack((codes[..., 0::2], codes[..., 1::2]), dim=-2)  # left and right; above and below
        share = pairs.min(dim=-1)[0] / pairs.max(dim=-1)[0]
        return functions.sqrt(share[..., 0] * share[..., 1])

    def forward(self, x):
        boxes, nearness = self.regression_head(x)
        return {"cls_logits": self.classification_head(x), "bbox_regression": boxes, "bbox_ctrness": nearness}


def _truth(target, matched):
    """The labels of an image's places, -1 for those of no object, and their boxes."""
    if len(target["labels"]):
        places = matched.clamp(min=0)
        labels, boxes = target["labels"][places], target["boxes"][places]
    else:
        labels, boxes = target["labels"].new_zeros((len(matched),)), target["boxes"].new_zeros((len(matched), 4))
    labels[matched < 0] = -1
    return labels, boxes


class _Convolutions(AnchorHead):
    def __init__(self, in_channels, num_convs, norm_layer):
        super().__init__()
        norm = group_norm if norm_layer is None else norm_layer
        layers = []
        for _ in range(num_convs):
            layers += [nn.Conv2d(in_channels, in_channels, 3, stride=1, padding=1), norm(in_channels), nn.ReLU()]
        self.conv = nn.Sequential(*layers)


class FCOSClassificationHead(_Convolutions):
    """The scores of the classes of each place; at first all have the chance `prior_probability`."""

    def __init__(self, in_channels, num_anchors, num_classes, num_convs=4, prior_probability=0.01, norm_layer=None):
        super().__init__(in_channels, num_convs, norm_layer)
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        initialize(self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, kernel_size=3, stride=1, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))

    def forward(self, x):
        return self.judged(self.cls_logits, [self.conv(each) for each in x], self.num_classes)


class FCOSRegressionHead(_Convolutions):
    """The distances of the sides of each place's box, and how near the place is to the middle."""

    def __init__(self, in_channels, num_anchors, num_convs=4, norm_layer=None):
        super().__init__(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=3, stride=1, padding=1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors * 1, kernel_size=3, stride=1, padding=1)
        for each in (self.bbox_reg, self.bbox_ctrness, self.conv):
            initialize(each)

    def forward(self, x):
        hidden = [self.conv(each) for each in x]
        boxes = self.judged(lambda each: functions.relu(self.bbox_reg(each)), hidden, 4)
        return boxes, self.judged(self.bbox_ctrness, hidden, 1)


class FCOS(DenseDetector):
    """FCOS (Tian and others, 2019) over a `backbone` with ``out_channels``: places of maps judge the box that they lie in.

    Args:
        num_classes: with the background.
        min_size, max_size, image_mean, image_std: see `GeneralizedRCNNTransform`.
        anchor_generator, head: other ones than the paper's; each place has one anchor.
        center_sampling_radius: how far from an object's middle, in anchors, a place still belongs to it.
        score_thresh, nms_thresh, detections_per_img, topk_candidates: which results are kept; the last counts for each map.
    """

    def __init__(
        self, backbone, num_classes, min_size=800, max_size=1333, image_mean=None, image_std=None, anchor_generator=None, head=None,
        center_sampling_radius=1.5, score_thresh=0.2, nms_thresh=0.6, detections_per_img=100, topk_candidates=1000, **kwargs,
    ):  # fmt: skip
        super().__init__()
        check_backbone(backbone)
        if not isinstance(anchor_generator, (AnchorGenerator, type(None))):
            raise TypeError(
                f"anchor_generator should be of type AnchorGenerator or None, instead  got {type(anchor_generator)}"
            )
        self.backbone = backbone
        if anchor_generator is None:
            anchor_generator = AnchorGenerator(((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5)
        self.anchor_generator = anchor_generator
        count = anchor_generator.num_anchors_per_location()[0]
        if count != 1:
            raise ValueError(f"anchor_generator.num_anchors_per_location()[0] should be 1 instead of {count}")
        self.head = FCOSHead(backbone.out_channels, count, num_classes) if head is None else head
        self.box_coder = BoxLinearCoder(normalize_by_size=True)
        mean, deviation = image_mean or MEAN, image_std or DEVIATION
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, deviation, **kwargs)
        self.center_sampling_radius = center_sampling_radius
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    def compute_loss(self, targets, head_outputs, anchors, num_anchors_per_level):
        """The head's losses, once places and objects belong together."""
        matched = [
            self._matched(every, target["boxes"], num_anchors_per_level)
            if target["boxes"].numel()
            else unmatched(every)
            for every, target in zip(anchors, targets)
        ]
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def _matched(self, anchors, boxes, lengths):
        """For each place the smallest box that it lies in, near the middle, of a size that its map is for; -1 for none."""
        sizes = anchors[:, 2] - anchors[:, 0]
        places, middles = (anchors[:, :2] + anchors[:, 2:]) / 2, (boxes[:, :2] + boxes[:, 2:]) / 2
        away = (places[:, None] - middles[None]).abs().max(dim=2).values
        sides = functions.cat([places[:, None] - boxes[None, :, :2], boxes[None, :, 2:] - places[:, None]], dim=2)
        least, most = sizes * 4, sizes * 8
        least[: lengths[0]] = 0
        most[-lengths[-1] :] = float("inf")
        farthest = sides.max(dim=2).values
        fits = (away < self.center_sampling_radius * sizes[:, None]) & (sides.min(dim=2).values > 0)
        fits = fits & (farthest > least[:, None]) & (farthest < most[:, None])
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        quality, matched = (fits.to(dtypes.float32) * (1e8 - areas[None])).max(dim=1)
        matched[quality < 1e-5] = -1
        return matched

    def _losses(self, targets, outputs, anchors, maps):
        return self.compute_loss(targets, outputs, anchors, [each.shape[2] * each.shape[3] for each in maps])

    def _scores(self, outputs):
        return functions.sqrt(functions.sigmoid(outputs["cls_logits"]) * functions.sigmoid(outputs["bbox_ctrness"]))

    def _decoded(self, codes, anchors):
        return self.box_coder.decode(codes, anchors)


def _resnet50(classes, weights, trained, layers, kwargs):
    return FCOS(resnet50_pyramid(weights, trained, layers, further=256), classes, **kwargs)


fcos_resnet50_fpn = detector("fcos_resnet50_fpn", _resnet50, "Tian and others, 2019", __name__)
__all__ += ["fcos_resnet50_fpn"]

__getattr__ = attribute_of(__name__)
