"""Lite R-ASPP, a head for MobileNet v3."""

from __future__ import annotations

from collections import OrderedDict

from .... import nn
from .._utils import IntermediateLayerGetter
from ..registry import define
from ..weights import attribute_of
from ._shared import BACKBONE_WEIGHTS, enlarged, mobilenet_stages

__all__ = ["LRASPP", "lraspp_mobilenet_v3_large"]


class LRASPPHead(nn.Module):
    """Coarse scores weighted by the mean of the map, plus fine ones."""

    def __init__(self, low_channels, high_channels, num_classes, inter_channels):
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid()
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input):
        low, high = input["low"], input["high"]
        weighted = enlarged(self.cbr(high) * self.scale(high), low.shape[-2:])
        return self.low_classifier(low) + self.high_classifier(weighted)


class LRASPP(nn.Module):
    """Segmentation with few operations (Howard and others, "Searching for MobileNetV3", 2019)."""

    def __init__(self, backbone, low_channels, high_channels, num_classes, inter_channels=128):
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input):
        return OrderedDict(out=enlarged(self.classifier(self.backbone(input)), input.shape[-2:]))


def construct(num_classes=None, weights_backbone=BACKBONE_WEIGHTS, aux_loss=False, **kwargs):
    if aux_loss:
        raise NotImplementedError("This model does not use auxiliary loss")
    layers, last, early = mobilenet_stages(weights_backbone)
    backbone = IntermediateLayerGetter(layers, {str(early): "low", str(last): "high"})
    classes = 21 if num_classes is None else num_classes
    return LRASPP(backbone, layers[early].out_channels, layers[last].out_channels, classes)


def whole_model_is_trained(kwargs, weights):
    kwargs["weights_backbone"] = None


lraspp_mobilenet_v3_large = define(
    "lraspp_mobilenet_v3_large", construct, "Howard and others, 2019", __name__, adjust=whole_model_is_trained
)

__getattr__ = attribute_of(__name__)
