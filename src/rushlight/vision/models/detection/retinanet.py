"""RetinaNet."""

from __future__ import annotations

import math

from rushlight.ops.table import functions

from .... import nn
from ...ops import Conv2dNormActivation, box_iou, sigmoid_focal_loss
from ..weights import attribute_of
from ._building import detector, group_norm, resnet50_pyramid
from ._dense import AnchorHead, DenseDetector, unmatched
from ._utils import BoxCoder, Matcher, _box_loss
from .anchor_utils import AnchorGenerator
from .faster_rcnn import DEVIATION, MEAN, check_backbone, checked_kind
from .rpn import initialize, renamed
from .transform import GeneralizedRCNNTransform

__all__ = ["RetinaNet"]


def _default_anchorgen():
    sizes = tuple((x, int(x * 2 ** (1.0 / 3)), int(x * 2 ** (2.0 / 3))) for x in (32, 64, 128, 256, 512))
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))


class RetinaNetHead(nn.Module):
    """One head for the classes and one for the boxes of the anchors."""

    def __init__(self, in_channels, num_anchors, num_classes, norm_layer=None):
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors, norm_layer=norm_layer)

    def compute_loss(self, targets, head_outputs, anchors, matched_idxs):
        """The two losses."""
        classes = self.classification_head.compute_loss(targets, head_outputs, matched_idxs)
        boxes = self.regression_head.compute_loss(targets, head_outputs, anchors, matched_idxs)
        return {"classification": classes, "bbox_regression": boxes}

    def forward(self, x):
        return {"cls_logits": self.classification_head(x), "bbox_regression": self.regression_head(x)}


class _FourConvolutions(AnchorHead):
    _version = 2

    def __init__(self, in_channels, norm_layer):
        super().__init__()
        self.conv = nn.Sequential(
            *(Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer) for _ in range(4))
        )

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        if (local_metadata.get("version") or 1) < 2:
            renamed(state_dict, prefix, {f"conv.{2 * place}": f"conv.{place}.0" for place in range(4)})
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


class RetinaNetClassificationHead(_FourConvolutions):
    """The scores of the classes of each anchor; at first all have the chance `prior_probability`."""

    def __init__(self, in_channels, num_anchors, num_classes, prior_probability=0.01, norm_layer=None):
        super().__init__(in_channels, norm_layer)
        initialize(self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, kernel_size=3, stride=1, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.BETWEEN_THRESHOLDS = Matcher.BETWEEN_THRESHOLDS

    def compute_loss(self, targets, head_outputs, matched_idxs):
        """The focal loss, per object, of the mean image."""
        total = 0
        for target, logits, matched in zip(targets, head_outputs["cls_logits"], matched_idxs):
            objects = matched >= 0
            truth = functions.zeros_like(logits)
            truth[objects, target["labels"][matched[objects]]] = 1.0
            valid = matched != self.BETWEEN_THRESHOLDS
            loss = sigmoid_focal_loss(logits[valid], truth[valid], reduction="sum")
            total = total + loss / max(1, objects.sum())
        return total / len(targets)

    def forward(self, x):
        return self.judged(self.cls_logits, [self.conv(each) for each in x], self.num_classes)


class RetinaNetRegressionHead(_FourConvolutions):
    """The codes of the box of each anchor."""

    def __init__(self, in_channels, num_anchors, norm_layer=None):
        super().__init__(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, kernel_size=3, stride=1, padding=1)
        nn.init.normal_(self.bbox_reg.weight, std=0.01)
        nn.init.zeros_(self.bbox_reg.bias)
        initialize(self.conv)
        self.box_coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self._loss_type = "l1"

    def compute_loss(self, targets, head_outputs, anchors, matched_idxs):
        """The loss of the boxes of objects, per object, of the mean image."""
        total = 0
        for target, codes, every, matched in zip(targets, head_outputs["bbox_regression"], anchors, matched_idxs):
            objects = functions.where(matched >= 0)[0]
            boxes = target["boxes"][matched[objects]]
            loss = _box_loss(self._loss_type, self.box_coder, every[objects], boxes, codes[objects])
            total = total + loss / max(1, objects.numel())
        return total / max(1, len(targets))

    def forward(self, x):
        return self.judged(self.bbox_reg, [self.conv(each) for each in x], 4)


class RetinaNet(DenseDetector):
    """RetinaNet (Lin and others, "Focal Loss for Dense Object Detection", 2017) over a `backbone` with ``out_channels``.

    Args:
        num_classes: with the background.
        min_size, max_size, image_mean, image_std: see `GeneralizedRCNNTransform`.
        anchor_generator, head, proposal_matcher: other ones than the paper's.
        score_thresh, nms_thresh, detections_per_img, topk_candidates: which results are kept; the last counts for each map.
        fg_iou_thresh, bg_iou_thresh: overlap from which on an anchor is an object, and below which it is none.
    """

    def __init__(
        self, backbone, num_classes, min_size=800, max_size=1333, image_mean=None, image_std=None, anchor_generator=None, head=None,
        proposal_matcher=None, score_thresh=0.05, nms_thresh=0.5, detections_per_img=300, fg_iou_thresh=0.5, bg_iou_thresh=0.4,
        topk_candidates=1000, **kwargs,
    ):  # fmt: skip
        super().__init__()
        check_backbone(backbone)
        checked_kind(anchor_generator, "anchor_generator", AnchorGenerator)
        self.backbone = backbone
        self.anchor_generator = _default_anchorgen() if anchor_generator is None else anchor_generator
        if head is None:
            count = self.anchor_generator.num_anchors_per_location()[0]
            head = RetinaNetHead(backbone.out_channels, count, num_classes)
        self.head = head
        if proposal_matcher is None:
            proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True)
        self.proposal_matcher = proposal_matcher
        self.box_coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        mean, deviation = image_mean or MEAN, image_std or DEVIATION
        self.transform = GeneralizedRCNNTransform(min_size, max_size, mean, deviation, **kwargs)
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    def compute_loss(self, targets, head_outputs, anchors):
        """The head's losses, once anchors and objects belong together."""
        matched = [
            self.proposal_matcher(box_iou(target["boxes"], every)) if target["boxes"].numel() else unmatched(every)
            for every, target in zip(anchors, targets)
        ]
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def _scores(self, outputs):
        return functions.sigmoid(outputs["cls_logits"])

    def _decoded(self, codes, anchors):
        return self.box_coder.decode_single(codes, anchors)


def _resnet50(classes, weights, trained, layers, kwargs):
    return RetinaNet(resnet50_pyramid(weights, trained, layers, further=256), classes, **kwargs)


def _resnet50_v2(classes, weights, trained, layers, kwargs):
    backbone = resnet50_pyramid(weights, trained, layers, frozen=False, further=2048)
    anchors = _default_anchorgen()
    head = RetinaNetHead(backbone.out_channels, anchors.num_anchors_per_location()[0], classes, norm_layer=group_norm)
    head.regression_head._loss_type = "giou"
    return RetinaNet(backbone, classes, anchor_generator=anchors, head=head, **kwargs)


retinanet_resnet50_fpn = detector("retinanet_resnet50_fpn", _resnet50, "Lin and others, 2017", __name__, old_eps=True)
retinanet_resnet50_fpn_v2 = detector(
    "retinanet_resnet50_fpn_v2", _resnet50_v2, "Zhang and others, 2019", __name__, None
)
__all__ += ["retinanet_resnet50_fpn", "retinanet_resnet50_fpn_v2"]

__getattr__ = attribute_of(__name__)
