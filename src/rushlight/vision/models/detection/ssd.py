"""SSD."""

from __future__ import annotations

import warnings

from rushlight.ops.table import functions

from .... import nn
from ....fx._symbolic_trace import _assert
from ...ops import box_iou, clip_boxes_to_image
from ..registry import BUILDERS
from ..weights import attribute_of
from ._building import detector
from ._dense import DenseDetector, unmatched
from ._utils import BoxCoder, SSDMatcher, _topk_min, retrieve_out_channels
from .anchor_utils import DefaultBoxGenerator
from .backbone_utils import _validate_trainable_layers, freeze_stages
from .faster_rcnn import DEVIATION, MEAN
from .rpn import permute_and_flatten
from .transform import GeneralizedRCNNTransform

__all__ = []


def _xavier_init(conv):
    for layer in conv.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class SSDHead(nn.Module):
    """One head for the classes and one for the boxes of the anchors of each map."""

    def __init__(self, in_channels, num_anchors, num_classes):
        super().__init__()
        self.classification_head = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x):
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSDScoringHead(nn.Module):
    """A layer for each map that says `num_columns` numbers of each anchor."""

    def __init__(self, module_list, num_columns):
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def forward(self, x):
        made = [layer(each) for layer, each in zip(self.module_list, x)]
        listed = [permute_and_flatten(each, len(each), None, self.num_columns, *each.shape[-2:]) for each in made]
        return functions.cat(listed, dim=1)


def _convolutions(in_channels, num_anchors, columns):
    pairs = zip(in_channels, num_anchors)
    layers = nn.ModuleList(
        [nn.Conv2d(channels, columns * count, kernel_size=3, padding=1) for channels, count in pairs]
    )
    _xavier_init(layers)
    return layers


class SSDClassificationHead(SSDScoringHead):
    """The scores of the classes."""

    def __init__(self, in_channels, num_anchors, num_classes):
        super().__init__(_convolutions(in_channels, num_anchors, num_classes), num_classes)


class SSDRegressionHead(SSDScoringHead):
    """The codes of the boxes."""

    def __init__(self, in_channels, num_anchors):
        super().__init__(_convolutions(in_channels, num_anchors, 4), 4)


class SSD(DenseDetector):
    """SSD (Liu and others, 2015): a backbone whose maps get smaller and smaller, each with default boxes of its own size.

    Args:
        anchor_generator: a `DefaultBoxGenerator` for the maps.
        size: (width, height) that all images get.
        num_classes: with the background.
        image_mean, image_std: see `GeneralizedRCNNTransform`.
        head: other than convolutions.
        score_thresh, nms_thresh, detections_per_img, topk_candidates: which results are kept; the last counts for each class.
        iou_thresh: overlap from which on an anchor is an object.
        positive_fraction: how many of the anchors in the loss are objects; of the others the worst count.
    """

    def __init__(
        self, backbone, anchor_generator, size, num_classes, image_mean=None, image_std=None, head=None, score_thresh=0.01,
        nms_thresh=0.45, detections_per_img=200, iou_thresh=0.5, topk_candidates=400, positive_fraction=0.25, **kwargs,
    ):  # fmt: skip
        super().__init__()
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.box_coder = BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        if head is None:
            channels = channels_of(backbone, size, anchor_generator, "({})")
            head = SSDHead(channels, anchor_generator.num_anchors_per_location(), num_classes)
        self.head = head
        self.proposal_matcher = SSDMatcher(iou_thresh)
        mean, deviation = image_mean or MEAN, image_std or DEVIATION
        self.transform = GeneralizedRCNNTransform(
            min(size), max(size), mean, deviation, size_divisible=1, fixed_size=size, **kwargs
        )
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction

    def _losses(self, targets, outputs, anchors, maps):
        matched = [
            self.proposal_matcher(box_iou(target["boxes"], every)) if target["boxes"].numel() else unmatched(every)
            for every, target in zip(anchors, targets)
        ]
        return self.compute_loss(targets, outputs, anchors, matched)

    def compute_loss(self, targets, head_outputs, anchors, matched_idxs):
        """The losses of boxes and of classes, per object."""
        boxes, classes, count = 0, [], 0
        for target, codes, every, matched in zip(targets, head_outputs["bbox_regression"], anchors, matched_idxs):
            objects = functions.where(matched >= 0)[0]
            owners = matched[objects]
            goals = self.box_coder.encode_single(target["boxes"][owners], every[objects])
            boxes = boxes + nn.functional.smooth_l1_loss(codes[objects], goals, reduction="sum")
            label = target["labels"].new_zeros((len(every),))
            label[objects] = target["labels"][owners]
            classes.append(label)
            count += owners.numel()
        classes, logits = functions.stack(classes), head_outputs["cls_logits"]
        width = logits.shape[-1]
        loss = nn.functional.cross_entropy(logits.view(-1, width), classes.view(-1), reduction="none")
        loss = loss.view(classes.shape)
        chosen = self._worst(loss, classes > 0)
        total = loss[classes > 0].sum() + loss[chosen].sum()
        return {"bbox_regression": boxes / max(1, count), "classification": total / max(1, count)}

    def _worst(self, loss, objects):
        """A mask of the anchors without objects whose loss is largest, some for each object of the image."""
        background = loss.clone()
        background[objects] = -float("inf")
        ranks = background.sort(1, descending=True)[1].sort(1)[1]
        return ranks < self.neg_to_pos_ratio * objects.sum(1, keepdim=True)

    def _found(self, outputs, anchors, sizes, maps):
        return self.postprocess_detections(outputs, anchors, sizes)

    def postprocess_detections(self, head_outputs, image_anchors, image_shapes):
        """For each image a dictionary of the boxes, scores and labels that are kept."""
        scores = nn.functional.softmax(head_outputs["cls_logits"], dim=-1)
        images = zip(head_outputs["bbox_regression"], scores, image_anchors, image_shapes)
        return [self._of_one(*each) for each in images]

    def _of_one(self, codes, scores, anchors, shape):
        boxes = clip_boxes_to_image(self.box_coder.decode_single(codes, anchors), shape)
        found = []
        for label in range(1, scores.shape[-1]):
            places = functions.where(scores[:, label] > self.score_thresh)[0]
            best, order = scores[places, label].topk(_topk_min(places, self.topk_candidates, 0))
            found.append((boxes[places[order]], best, functions.full_like(order, label)))
        return self._kept(*map(functions.cat, zip(*found)))


def channels_of(backbone, size, anchors, form):
    """The channels of a backbone's maps; ValueError unless there are anchors for as many."""
    channels = backbone.out_channels if hasattr(backbone, "out_channels") else retrieve_out_channels(backbone, size)
    if len(channels) != len(anchors.aspect_ratios):
        made, wanted = form.format(len(channels)), form.format(len(anchors.aspect_ratios))
        raise ValueError(
            f"The length of the output channels from the backbone {made} do not match the length of the anchor generator aspect "
            f"ratios {wanted}"
        )
    return channels


def _smaller(inputs, inner, outputs, **options):
    """A 1x1 convolution and one of 3x3, or as `options` say."""
    options = {"kernel_size": 3, **options}
    return nn.Sequential(
        nn.Conv2d(inputs, inner, kernel_size=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(inner, outputs, **options),
        nn.ReLU(inplace=True),
    )


class SSDFeatureExtractorVGG(nn.Module):
    """The layers of a VGG, and further ones behind it: six maps, or seven for images of 512 pixels (`highres`)."""

    def __init__(self, backbone, highres):
        super().__init__()
        _, _, third, fourth, _ = (place for place, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d))
        backbone[third].ceil_mode = True  # 75 places become 38
        self.scale_weight = nn.Parameter(functions.ones(512) * 20)
        self.features = nn.Sequential(*backbone[:fourth])
        extra = nn.ModuleList(
            [
                _smaller(1024, 256, 512, padding=1, stride=2),
                _smaller(512, 128, 256, padding=1, stride=2),
                _smaller(256, 128, 256),
                _smaller(256, 128, 256),
            ]
        )
        if highres:
            extra.append(_smaller(256, 128, 256, kernel_size=4))
        _xavier_init(extra)
        fc = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=False),
            nn.Conv2d(512, 1024, kernel_size=3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, kernel_size=1),
            nn.ReLU(inplace=True),
        )
        _xavier_init(fc)
        extra.insert(0, nn.Sequential(*backbone[fourth:-1], fc))
        self.extra = extra

    def forward(self, x):
        x = self.features(x)
        found = {"0": self.scale_weight.view(1, -1, 1, 1) * nn.functional.normalize(x)}
        for place, block in enumerate(self.extra, 1):
            x = found[str(place)] = block(x)
        return found


def _vgg_extractor(backbone, highres, trainable_layers):
    layers = backbone.features
    stages = [0, *(place for place, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d))][:-1]
    fits = 0 <= trainable_layers <= len(stages)
    message = f"trainable_layers should be in the range [0, {len(stages)}]. Instead got {trainable_layers}"
    _assert(fits, message)
    freeze_stages(layers, stages, trainable_layers)
    return SSDFeatureExtractorVGG(layers, highres)


def warn_of_size(kwargs):
    """The models here have one size of images each."""
    if "size" in kwargs:
        warnings.warn("The size of the model is already fixed; ignoring the parameter.", stacklevel=5)


def _vgg16(classes, weights, trained, layers, kwargs):
    warn_of_size(kwargs)
    layers = _validate_trainable_layers(trained, layers, 5, 4)
    backbone = _vgg_extractor(BUILDERS["vgg16"](weights=weights), False, layers)
    scales = [0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05]
    anchors = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]], scales=scales, steps=[8, 16, 32, 64, 100, 300]
    )
    defaults = {"image_mean": [0.48235, 0.45882, 0.40784], "image_std": [1.0 / 255.0] * 3}
    return SSD(backbone, anchors, (300, 300), classes, **{**defaults, **kwargs})


ssd300_vgg16 = detector("ssd300_vgg16", _vgg16, "Liu and others, 2015", __name__, "IMAGENET1K_FEATURES")
__all__ += ["ssd300_vgg16"]

__getattr__ = attribute_of(__name__)
