"""SSDlite: SSD over a MobileNet v3, with convolutions channel by channel."""

from __future__ import annotations

import functools

from .... import nn
from ...ops import Conv2dNormActivation
from ..registry import BUILDERS
from ..weights import attribute_of
from ._building import detector
from .anchor_utils import DefaultBoxGenerator
from .backbone_utils import _validate_trainable_layers, freeze_stages, stages_of
from .rpn import initialize
from .ssd import SSD, SSDScoringHead, channels_of, warn_of_size

__all__ = []

_normal_init = functools.partial(initialize, std=0.03)


def _prediction_block(in_channels, out_channels, kernel_size, norm_layer):
    options = {"groups": in_channels, "norm_layer": norm_layer, "activation_layer": nn.ReLU6}
    each_channel = Conv2dNormActivation(in_channels, in_channels, kernel_size, **options)
    return nn.Sequential(each_channel, nn.Conv2d(in_channels, out_channels, 1))


def _extra_block(in_channels, out_channels, norm_layer):
    inner, options = out_channels // 2, {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
    return nn.Sequential(
        Conv2dNormActivation(in_channels, inner, 1, **options),
        Conv2dNormActivation(inner, inner, 3, 2, groups=inner, **options),
        Conv2dNormActivation(inner, out_channels, 1, **options),
    )


class SSDLiteHead(nn.Module):
    """One head for the classes and one for the boxes of the anchors of each map."""

    def __init__(self, in_channels, num_anchors, num_classes, norm_layer):
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(in_channels, num_anchors, num_classes, norm_layer)
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x):
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


def _blocks(in_channels, num_anchors, columns, norm_layer):
    pairs = zip(in_channels, num_anchors)
    layers = nn.ModuleList([_prediction_block(channels, columns * count, 3, norm_layer) for channels, count in pairs])
    _normal_init(layers)
    return layers


class SSDLiteClassificationHead(SSDScoringHead):
    """The scores of the classes."""

    def __init__(self, in_channels, num_anchors, num_classes, norm_layer):
        super().__init__(_blocks(in_channels, num_anchors, num_classes, norm_layer), num_classes)


class SSDLiteRegressionHead(SSDScoringHead):
    """The codes of the boxes."""

    def __init__(self, in_channels, num_anchors, norm_layer):
        super().__init__(_blocks(in_channels, num_anchors, 4, norm_layer), 4)


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """The layers of a MobileNet, cut within the block `c4_pos`, and four further ones: six maps."""

    def __init__(self, backbone, c4_pos, norm_layer, width_mult=1.0, min_depth=16):
        super().__init__()
        if backbone[c4_pos].use_res_connect:
            raise ValueError("backbone[c4_pos].use_res_connect should be False")
        self.features = nn.Sequential(
            nn.Sequential(*backbone[:c4_pos], backbone[c4_pos].block[0]),
            nn.Sequential(backbone[c4_pos].block[1:], *backbone[c4_pos + 1 :]),
        )
        widths = [backbone[-1].out_channels, *(max(min_depth, int(d * width_mult)) for d in (512, 256, 256, 128))]
        extra = nn.ModuleList([_extra_block(before, after, norm_layer) for before, after in zip(widths, widths[1:])])
        _normal_init(extra)
        self.extra = extra

    def forward(self, x):
        found = {}
        for place, block in enumerate((*self.features, *self.extra)):
            x = found[str(place)] = block(x)
        return found


def _mobilenet_extractor(backbone, trainable_layers, norm_layer):
    layers = backbone.features
    stages = stages_of(layers)
    if not 0 <= trainable_layers <= len(stages):
        raise ValueError("trainable_layers should be in the range [0, {num_stages}], instead got {trainable_layers}")
    freeze_stages(layers, stages, trainable_layers)
    return SSDLiteFeatureExtractorMobileNet(layers, stages[-2], norm_layer)


def _mobilenet_v3_large(classes, weights, trained, layers, kwargs):
    warn_of_size(kwargs)
    layers = _validate_trainable_layers(trained, layers, 6, 6)
    norm_layer = kwargs.pop("norm_layer", None) or functools.partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)
    backbone = BUILDERS["mobilenet_v3_large"](
        weights=weights, norm_layer=norm_layer, reduced_tail=weights is None, **kwargs
    )
    if weights is None:
        _normal_init(backbone)
    backbone = _mobilenet_extractor(backbone, layers, norm_layer)
    anchors = DefaultBoxGenerator([[2, 3]] * 6, min_ratio=0.2, max_ratio=0.95)
    channels = channels_of(backbone, (320, 320), anchors, "{}")
    head = SSDLiteHead(channels, anchors.num_anchors_per_location(), classes, norm_layer)
    defaults = {
        "score_thresh": 0.001, "nms_thresh": 0.55, "detections_per_img": 300, "topk_candidates": 300, "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
    }  # fmt: skip
    return SSD(backbone, anchors, (320, 320), classes, head=head, **{**defaults, **kwargs})


ssdlite320_mobilenet_v3_large = detector(
    "ssdlite320_mobilenet_v3_large", _mobilenet_v3_large, "Sandler and others, 2018", __name__
)
__all__ += ["ssdlite320_mobilenet_v3_large"]

__getattr__ = attribute_of(__name__)
