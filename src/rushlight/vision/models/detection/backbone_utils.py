"""Backbones of detectors: the maps of an image model, mostly as a feature pyramid, and which of its layers are trained."""

from __future__ import annotations

import warnings

from .... import nn
from ...ops import FrozenBatchNorm2d
from ...ops.feature_pyramid_network import FeaturePyramidNetwork, LastLevelMaxPool
from .._utils import IntermediateLayerGetter
from ..registry import BUILDERS


class BackboneWithFPN(nn.Module):
    """Some layers of a model, under new names, and a `FeaturePyramidNetwork` over them."""

    def __init__(self, backbone, return_layers, in_channels_list, out_channels, extra_blocks=None, norm_layer=None):
        super().__init__()
        extra_blocks = LastLevelMaxPool() if extra_blocks is None else extra_blocks
        self.body = IntermediateLayerGetter(backbone, return_layers=return_layers)
        self.fpn = FeaturePyramidNetwork(in_channels_list, out_channels, extra_blocks, norm_layer)
        self.out_channels = out_channels

    def forward(self, x):
        return self.fpn(self.body(x))


def resnet_fpn_backbone(
    *, backbone_name, weights, norm_layer=FrozenBatchNorm2d, trainable_layers=3, returned_layers=None, extra_blocks=None
):
    """A ResNet with a feature pyramid; of its five stages the last `trainable_layers` are trained.

    >>> from rushlight.vision.models.detection.backbone_utils import resnet_fpn_backbone
    >>> resnet_fpn_backbone(backbone_name="resnet18", weights=None).out_channels
    256
    """
    backbone = BUILDERS[backbone_name](weights=weights, norm_layer=norm_layer)
    return _resnet_fpn_extractor(backbone, trainable_layers, returned_layers, extra_blocks)


def _resnet_fpn_extractor(backbone, trainable_layers, returned_layers=None, extra_blocks=None, norm_layer=None):
    if not 0 <= trainable_layers <= 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    trained = ("layer4", "layer3", "layer2", "layer1", "conv1", "bn1")[
        : 6 if trainable_layers == 5 else trainable_layers
    ]
    for name, parameter in backbone.named_parameters():
        if not name.startswith(trained):
            parameter.requires_grad_(False)
    layers = [1, 2, 3, 4] if returned_layers is None else returned_layers
    if min(layers) <= 0 or max(layers) >= 5:
        raise ValueError(f"Each returned layer should be in the range [1,4]. Got {layers}")
    names = {f"layer{layer}": str(place) for place, layer in enumerate(layers)}
    channels = [backbone.inplanes // 8 * 2 ** (layer - 1) for layer in layers]
    return BackboneWithFPN(backbone, names, channels, 256, extra_blocks, norm_layer)


def _validate_trainable_layers(is_trained, trainable_backbone_layers, max_value, default_value):
    """How many layers of a backbone are trained: all where none has been trained before."""
    if not is_trained:
        if trainable_backbone_layers is not None:
            warnings.warn(
                "Changing trainable_backbone_layers has no effect if neither pretrained nor pretrained_backbone have been set to True, "
                f"falling back to trainable_backbone_layers={max_value} so that all layers are trainable",
                stacklevel=5,
            )
        return max_value
    layers = default_value if trainable_backbone_layers is None else trainable_backbone_layers
    if not 0 <= layers <= max_value:
        raise ValueError(f"Trainable backbone layers should be in the range [0,{max_value}], got {layers} ")
    return layers


def stages_of(layers):
    """Where the stages of a MobileNet begin, its last layer included."""
    return [0, *(place for place, layer in enumerate(layers) if getattr(layer, "_is_cn", False)), len(layers) - 1]


def freeze_stages(layers, stages, trainable_layers):
    """Let all but the last `trainable_layers` stages keep their parameters."""
    first = len(layers) if trainable_layers == 0 else stages[len(stages) - trainable_layers]
    for layer in layers[:first]:
        for parameter in layer.parameters():
            parameter.requires_grad_(False)


def mobilenet_backbone(
    *,
    backbone_name,
    weights,
    fpn,
    norm_layer=FrozenBatchNorm2d,
    trainable_layers=2,
    returned_layers=None,
    extra_blocks=None,
):
    """A MobileNet, with a feature pyramid if `fpn` is true; its last `trainable_layers` stages are trained."""
    backbone = BUILDERS[backbone_name](weights=weights, norm_layer=norm_layer)
    return _mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers, extra_blocks)


def _mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers=None, extra_blocks=None, norm_layer=None):
    layers = backbone.features
    stages = stages_of(layers)
    count = len(stages)
    if not 0 <= trainable_layers <= count:
        raise ValueError(f"Trainable layers should be in the range [0,{count}], got {trainable_layers} ")
    freeze_stages(layers, stages, trainable_layers)
    if not fpn:
        model = nn.Sequential(layers, nn.Conv2d(layers[-1].out_channels, 256, 1))
        model.out_channels = 256
        return model
    returned = [count - 2, count - 1] if returned_layers is None else returned_layers
    if min(returned) < 0 or max(returned) >= count:
        raise ValueError(f"Each returned layer should be in the range [0,{count - 1}], got {returned} ")
    names = {str(stages[stage]): str(place) for place, stage in enumerate(returned)}
    channels = [layers[stages[stage]].out_channels for stage in returned]
    return BackboneWithFPN(layers, names, channels, 256, extra_blocks, norm_layer)
