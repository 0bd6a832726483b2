"""Detectors in one stage: heads that judge every anchor of every map. What RetinaNet, FCOS and SSD share."""

from __future__ import annotations

from rushlight.base import dtypes
from rushlight.ops.table import functions

from .... import nn
from ...ops import batched_nms, clip_boxes_to_image
from ._utils import _topk_min, named_maps
from .generalized_rcnn import check_boxes, check_targets, sizes_of
from .rpn import permute_and_flatten


class DenseDetector(nn.Module):
    """A backbone, a head and anchors, between the two ends of a transform; see `GeneralizedRCNN` for its call.

    Subclasses say in `compute_loss` and `postprocess_detections` what becomes of the head's outputs.
    """

    def forward(self, images, targets=None):
        if self.training:
            check_targets(targets)
        sizes = sizes_of(images)
        images, targets = self.transform(images, targets)
        check_boxes(targets)
        maps = list(named_maps(self.backbone(images.tensors)).values())
        outputs = self.head(maps)
        anchors = self.anchor_generator(images, maps)
        if self.training:
            return self._losses(targets, outputs, anchors, maps)
        found = self._found(outputs, anchors, images.image_sizes, maps)
        return self.transform.postprocess(found, images.image_sizes, sizes)

    def _losses(self, targets, outputs, anchors, maps):
        return self.compute_loss(targets, outputs, anchors)

    def _found(self, outputs, anchors, sizes, maps):
        """The detections, from outputs that are split by maps."""
        places = [each.shape[2] * each.shape[3] for each in maps]
        each_place = outputs["cls_logits"].shape[1] // sum(places)
        lengths = [count * each_place for count in places]
        split = {name: list(value.split(lengths, dim=1)) for name, value in outputs.items()}
        return self.postprocess_detections(split, [list(each.split(lengths)) for each in anchors], sizes)

    def postprocess_detections(self, head_outputs, anchors, image_shapes):
        """For each image a dictionary of the boxes, scores and labels that are kept."""
        return [self._of_image(head_outputs, number, *each) for number, each in enumerate(zip(anchors, image_shapes))]

    def _of_image(self, outputs, number, anchors, shape):
        found = []
        for level, every in enumerate(anchors):
            own = {name: value[level][number] for name, value in outputs.items()}
            classes = own["cls_logits"].shape[-1]
            scores = self._scores(own).flatten()
            places = functions.where(scores > self.score_thresh)[0]
            scores, best = scores[places].topk(_topk_min(places, self.topk_candidates, 0))
            places = places[best]
            owners = functions.div(places, classes, rounding_mode="floor")
            boxes = self._decoded(own["bbox_regression"][owners], every[owners])
            found.append((clip_boxes_to_image(boxes, shape), scores, places % classes))
        return self._kept(*map(functions.cat, zip(*found)))

    def _kept(self, boxes, scores, labels):
        kept = batched_nms(boxes, scores, labels, self.nms_thresh)[: self.detections_per_img]
        return {"boxes": boxes[kept], "scores": scores[kept], "labels": labels[kept]}


class AnchorHead(nn.Module):
    """Layers ``conv`` whose outputs further layers judge, anchor by anchor."""

    def judged(self, layer, hidden, columns):
        """What a layer says of each anchor of the maps that ``conv`` has made: N x anchors x columns."""
        made = [layer(each) for each in hidden]
        listed = [permute_and_flatten(each, len(each), None, columns, *each.shape[-2:]) for each in made]
        return functions.cat(listed, dim=1)


def unmatched(anchors):
    """The matches of an image without objects."""
    return functions.full((len(anchors),), -1, dtype=dtypes.int64)
