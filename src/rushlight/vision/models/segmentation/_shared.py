"""What models of segmentation share: a backbone's features, a classifier of positions, its answer in the image's size."""

from __future__ import annotations

from collections import OrderedDict

from .... import nn
from .._utils import IntermediateLayerGetter
from ..mobilenetv3 import mobilenet_v3_large
from ..registry import BUILDERS, define

BACKBONE_WEIGHTS = "IMAGENET1K_V1"


def enlarged(x, size):
    return nn.functional.interpolate(x, size=size, mode="bilinear", align_corners=False)


class _SimpleSegmentationModel(nn.Module):
    """Scores of each position, "out", and those of an auxiliary classifier where there is one, "aux"."""

    __constants__ = ["aux_classifier"]

    def __init__(self, backbone, classifier, aux_classifier=None):
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x):
        size, features = x.shape[-2:], self.backbone(x)
        result = OrderedDict(out=enlarged(self.classifier(features["out"]), size))
        if self.aux_classifier is not None:
            result["aux"] = enlarged(self.aux_classifier(features["aux"]), size)
        return result


class FCNHead(nn.Sequential):
    """A 3x3 convolution to a quarter of the channels and a 1x1 one to the classes."""

    def __init__(self, in_channels, channels):
        inner = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, inner, 3, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(inner, channels, 1),
        )


def resnet_backbone(name, weights, aux_loss):
    """A dilated ResNet's features; and their channels, of "out" and of "aux"."""
    resnet = BUILDERS[name](weights=weights, replace_stride_with_dilation=[False, True, True])
    layers = {"layer4": "out", "layer3": "aux"} if aux_loss else {"layer4": "out"}
    return IntermediateLayerGetter(resnet, layers), 2048, 1024


def mobilenet_stages(weights):
    """The layers of a dilated MobileNet v3, and where those lie that make the last and the fourth last size."""
    layers = mobilenet_v3_large(weights=weights, dilated=True).features
    shrinking = [index for index, layer in enumerate(layers) if getattr(layer, "_is_cn", False)]
    stages = [0, *shrinking, len(layers) - 1]
    return layers, stages[-1], stages[-4]


def mobilenet_backbone(weights, aux_loss):
    """A dilated MobileNet v3's features; and their channels, of "out" and of "aux"."""
    layers, last, early = mobilenet_stages(weights)
    wanted = {str(last): "out", str(early): "aux"} if aux_loss else {str(last): "out"}
    return IntermediateLayerGetter(layers, wanted), layers[last].out_channels, layers[early].out_channels


def whole_model_is_trained(kwargs, weights):
    """What weights of the whole model decide: no weights of the backbone, and an auxiliary classifier."""
    kwargs["weights_backbone"] = None
    if kwargs.get("num_classes", 0) is None:
        del kwargs["num_classes"]
    if kwargs.get("aux_loss") is None:
        kwargs["aux_loss"] = True
    elif not kwargs["aux_loss"]:
        raise ValueError(f"The parameter 'aux_loss' expected value True but got {kwargs['aux_loss']} instead.")


def segmenter(name, kind, head, paper, module):
    """The constructor of a model: `kind` of the backbone that its name ends in, with a `head` and an auxiliary one."""
    base = name.partition("_")[2]

    def construct(num_classes=None, aux_loss=None, weights_backbone=BACKBONE_WEIGHTS, **kwargs):
        classes = 21 if num_classes is None else num_classes
        if base.startswith("resnet"):
            backbone, width, early = resnet_backbone(base, weights_backbone, aux_loss)
        else:
            backbone, width, early = mobilenet_backbone(weights_backbone, aux_loss)
        auxiliary = FCNHead(early, classes) if aux_loss else None  # made first, as in torchvision: the draws follow
        return kind(backbone, head(width, classes), auxiliary)

    return define(name, construct, paper, module, adjust=whole_model_is_trained)
