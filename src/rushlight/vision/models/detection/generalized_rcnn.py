"""Detectors in two stages: proposals first, then what is in them."""

from __future__ import annotations

from rushlight.ops.table import functions

from .... import nn
from ....fx._symbolic_trace import _assert
from ....tensor import Tensor
from ._utils import named_maps


def check_targets(targets):
    """AssertionError unless targets are there, and their boxes tensors of four columns."""
    _assert(targets is not None, "targets should not be none when in training mode")
    for target in targets:
        boxes = target["boxes"]
        _assert(isinstance(boxes, Tensor), f"Expected target boxes to be of type Tensor, got {type(boxes)}.")
        fits = boxes.dim() == 2 and boxes.shape[-1] == 4
        _assert(fits, f"Expected target boxes to be a tensor of shape [N, 4], got {boxes.shape}.")


def sizes_of(images):
    """Height and width of each image."""
    return [tuple(image.shape[-2:]) for image in images]


def check_boxes(targets):
    """AssertionError where a true box has no area."""
    for place, target in enumerate(targets or ()):
        boxes = target["boxes"]
        flat = (boxes[:, 2:] <= boxes[:, :2]).any(dim=1)
        if flat.any():
            first = boxes[functions.where(flat)[0][0]].tolist()
            message = f"All bounding boxes should have positive height and width. Found invalid box {first} for target at index {place}."
            _assert(False, message)


class GeneralizedRCNN(nn.Module):
    """A backbone, a region proposal network and heads over its proposals, between the two ends of a transform.

    Its call takes a list of images and gives in evaluation mode for each a dictionary of "boxes", "labels", "scores" and what
    further heads find; in training mode it takes ``targets``, too, and gives a dictionary of losses.
    """

    def __init__(self, backbone, rpn, roi_heads, transform):
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads

    def forward(self, images, targets=None):
        if self.training:
            check_targets(targets)
        sizes = sizes_of(images)
        images, targets = self.transform(images, targets)
        check_boxes(targets)
        features = named_maps(self.backbone(images.tensors))
        proposals, proposal_losses = self.rpn(images, features, targets)
        found, losses = self.roi_heads(features, proposals, images.image_sizes, targets)
        if self.training:
            return {**losses, **proposal_losses}
        return self.transform.postprocess(found, images.image_sizes, sizes)
