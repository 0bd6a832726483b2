"""What is in each proposal: its class, its exact box, its mask and key points where a model has heads for them."""

from __future__ import annotations

from rushlight.base import dtypes
from rushlight.ops.table import functions

from .... import nn
from ...ops import batched_nms, box_iou, clip_boxes_to_image, remove_small_boxes
from ._utils import BalancedPositiveNegativeSampler, BoxCoder, Matcher
from .roi_keypoints import heatmaps_to_keypoints, keypointrcnn_inference, keypointrcnn_loss, keypoints_to_heatmap  # noqa: F401
from .roi_masks import (  # noqa: F401  # programs import them from here
    expand_boxes,
    expand_masks,
    maskrcnn_inference,
    maskrcnn_loss,
    paste_mask_in_image,
    paste_masks_in_image,
    project_masks_on_boxes,
)

_FLOATS = (dtypes.float32, dtypes.float64, dtypes.float16)


def fastrcnn_loss(class_logits, box_regression, labels, regression_targets):
    """The losses of classes, and of the boxes of those proposals that are objects."""
    labels, goals = functions.cat(labels), functions.cat(regression_targets)
    classes = nn.functional.cross_entropy(class_logits, labels)
    objects = functions.where(labels > 0)[0]
    codes = box_regression.reshape(len(class_logits), -1, 4)[objects, labels[objects]]
    boxes = nn.functional.smooth_l1_loss(codes, goals[objects], beta=1 / 9, reduction="sum")
    return classes, boxes / labels.numel()


class RoIHeads(nn.Module):
    """Heads over the proposals of a region proposal network; further ones for masks and key points may be None.

    Args:
        box_roi_pool, box_head, box_predictor: features of a proposal, what is made of them, and its classes and boxes.
        fg_iou_thresh, bg_iou_thresh: overlap with a true box from which on a proposal is one, and below which it is none.
        batch_size_per_image, positive_fraction: how many proposals count in the loss, and how many of those are objects.
        bbox_reg_weights: of the codes of boxes; (10, 10, 5, 5) unless given.
        score_thresh, nms_thresh, detections_per_img: which results are kept.
    """

    def __init__(
        self, box_roi_pool, box_head, box_predictor, fg_iou_thresh, bg_iou_thresh, batch_size_per_image, positive_fraction,
        bbox_reg_weights, score_thresh, nms_thresh, detections_per_img, mask_roi_pool=None, mask_head=None, mask_predictor=None,
        keypoint_roi_pool=None, keypoint_head=None, keypoint_predictor=None,
    ):  # fmt: skip
        super().__init__()
        self.box_similarity = box_iou
        self.proposal_matcher = Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=False)
        self.fg_bg_sampler = BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self.box_coder = BoxCoder((10.0, 10.0, 5.0, 5.0) if bbox_reg_weights is None else bbox_reg_weights)
        self.box_roi_pool = box_roi_pool
        self.box_head = box_head
        self.box_predictor = box_predictor
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool = mask_roi_pool
        self.mask_head = mask_head
        self.mask_predictor = mask_predictor
        self.keypoint_roi_pool = keypoint_roi_pool
        self.keypoint_head = keypoint_head
        self.keypoint_predictor = keypoint_predictor

    def has_mask(self):
        """Whether there are heads for masks."""
        return None not in (self.mask_roi_pool, self.mask_head, self.mask_predictor)

    def has_keypoint(self):
        """Whether there are heads for key points."""
        return None not in (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)

    def assign_targets_to_proposals(self, proposals, gt_boxes, gt_labels):
        """For each image which true box a proposal belongs to, and its class: 0 for none, -1 for those in between."""
        matched, labels = [], []
        for boxes, truth, classes in zip(proposals, gt_boxes, gt_labels):
            if truth.numel() == 0:
                matched.append(functions.zeros((len(boxes),), dtype=dtypes.int64))
                labels.append(functions.zeros((len(boxes),), dtype=dtypes.int64))
                continue
            places = self.proposal_matcher(box_iou(truth, boxes))
            label = classes[places.clamp(min=0)].to(dtype=dtypes.int64)
            label[places == self.proposal_matcher.BELOW_LOW_THRESHOLD] = 0
            label[places == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1
            matched.append(places.clamp(min=0))
            labels.append(label)
        return matched, labels

    def subsample(self, labels):
        """The places of the proposals that count in the loss, for each image."""
        return [functions.where(good | bad)[0] for good, bad in zip(*self.fg_bg_sampler(labels))]

    def add_gt_proposals(self, proposals, gt_boxes):
        """The proposals of each image, and its true boxes behind them."""
        return [functions.cat(each) for each in zip(proposals, gt_boxes)]

    def check_targets(self, targets):
        """ValueError where targets lack something."""
        if targets is None:
            raise ValueError("targets should not be None")
        for key in ("boxes", "labels", "masks")[: 3 if self.has_mask() else 2]:
            if not all(key in target for target in targets):
                raise ValueError(f"Every element of targets should have a {key} key")

    def select_training_samples(self, proposals, targets):
        """A sample of proposals, the true boxes that they belong to, their classes, and the codes that they should get."""
        self.check_targets(targets)
        boxes = [target["boxes"].to(proposals[0].dtype) for target in targets]
        proposals = self.add_gt_proposals(proposals, boxes)
        matched, labels = self.assign_targets_to_proposals(proposals, boxes, [target["labels"] for target in targets])
        sample = self.subsample(labels)
        proposals, matched, labels = (
            [each[places] for each, places in zip(every, sample)] for every in (proposals, matched, labels)
        )
        truth = [each if each.numel() else functions.zeros((1, 4), dtype=each.dtype) for each in boxes]
        goals = self.box_coder.encode([each[places] for each, places in zip(truth, matched)], proposals)
        return proposals, matched, labels, goals

    def postprocess_detections(self, class_logits, box_regression, proposals, image_shapes):
        """Boxes, scores and labels that are kept, of each image."""
        counts = [len(each) for each in proposals]
        boxes = self.box_coder.decode(box_regression, proposals).split(counts, 0)
        scores = nn.functional.softmax(class_logits, -1).split(counts, 0)
        found = [self._of_image(*each) for each in zip(boxes, scores, image_shapes)]
        return tuple([each[place] for each in found] for place in range(3))

    def _of_image(self, boxes, scores, shape):
        labels = functions.arange(scores.shape[-1]).expand_as(scores)[:, 1:].reshape(-1)
        boxes = clip_boxes_to_image(boxes, shape)[:, 1:].reshape(-1, 4)
        scores = scores[:, 1:].reshape(-1)
        kept = functions.where(scores > self.score_thresh)[0]
        kept = kept[remove_small_boxes(boxes[kept], min_size=1e-2)]
        boxes, scores, labels = boxes[kept], scores[kept], labels[kept]
        kept = batched_nms(boxes, scores, labels, self.nms_thresh)[: self.detections_per_img]
        return boxes[kept], scores[kept], labels[kept]

    def _check_dtypes(self, targets):
        for target in targets:
            boxes, labels = target["boxes"].dtype, target["labels"].dtype
            if boxes not in _FLOATS:
                raise TypeError(f"target boxes must of float type, instead got {boxes}")
            if labels != dtypes.int64:
                raise TypeError(f"target labels must of int64 type, instead got {labels}")
            if self.has_keypoint() and target["keypoints"].dtype != dtypes.float32:
                raise TypeError(f"target keypoints must of float type, instead got {target['keypoints'].dtype}")

    def forward(self, features, proposals, image_shapes, targets=None):
        if targets is not None:
            self._check_dtypes(targets)
        matched = labels = goals = None
        if self.training:
            proposals, matched, labels, goals = self.select_training_samples(proposals, targets)
        pooled = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        class_logits, box_regression = self.box_predictor(pooled)
        result, losses = [], {}
        if self.training:
            found = fastrcnn_loss(class_logits, box_regression, labels, goals)
            losses = dict(zip(("loss_classifier", "loss_box_reg"), found))
        else:
            found = self.postprocess_detections(class_logits, box_regression, proposals, image_shapes)
            result = [{"boxes": b, "labels": n, "scores": s} for b, s, n in zip(*found)]
        if self.training:  # masks and key points of what is an object
            objects = [functions.where(each > 0)[0] for each in labels]
            boxes, matched = ([each[places] for each, places in zip(every, objects)] for every in (proposals, matched))
        else:
            boxes = [each["boxes"] for each in result]
        if self.has_mask():
            self._add_masks(
                result, losses, self._logits("mask", features, boxes, image_shapes), boxes, matched, targets
            )
        if self.has_keypoint():
            logits = self._logits("keypoint", features, boxes, image_shapes)
            self._add_keypoints(result, losses, logits, boxes, matched, targets)
        return result, losses

    def _logits(self, kind, features, boxes, image_shapes):
        pool, head, predictor = (getattr(self, f"{kind}_{part}") for part in ("roi_pool", "head", "predictor"))
        return predictor(head(pool(features, boxes, image_shapes)))

    def _add_masks(self, result, losses, logits, boxes, matched, targets):
        if self.training:
            truth, labels = ([target[key] for target in targets] for key in ("masks", "labels"))
            losses["loss_mask"] = maskrcnn_loss(logits, boxes, truth, labels, matched)
            return
        for masks, found in zip(maskrcnn_inference(logits, [each["labels"] for each in result]), result):
            found["masks"] = masks

    def _add_keypoints(self, result, losses, logits, boxes, matched, targets):
        if self.training:
            truth = [target["keypoints"] for target in targets]
            losses["loss_keypoint"] = keypointrcnn_loss(logits, boxes, truth, matched)
            return
        for points, scores, found in zip(*keypointrcnn_inference(logits, boxes), result):
            found["keypoints"], found["keypoints_scores"] = points, scores
