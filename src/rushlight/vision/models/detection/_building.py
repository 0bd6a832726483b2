"""How the constructors of detectors are made: their backbones, numbers of classes, and what trained weights decide."""

from __future__ import annotations

import functools

from .... import nn
from ...ops import FrozenBatchNorm2d
from ...ops.feature_pyramid_network import LastLevelP6P7
from ..registry import BUILDERS, define
from ..weights import enum_of_model
from ._utils import overwrite_eps
from .backbone_utils import _resnet_fpn_extractor, _validate_trainable_layers

BACKBONE_WEIGHTS = "IMAGENET1K_V1"
CLASSES = 91  # of COCO, the background included


def detector(name, construct, paper, module, backbone_weights=BACKBONE_WEIGHTS, old_eps=False, classes=CLASSES):
    """The public constructor of a detector.

    ``construct(classes, weights_backbone, trained, layers, kwargs)`` makes the model: `trained` says whether any part of it has
    been trained, `layers` how many of the backbone's the caller wants to train. ``old_eps``: the weights were trained with
    frozen batch norms of eps 0.
    """

    def build(
        num_classes=None,
        weights_backbone=backbone_weights,
        trainable_backbone_layers=None,
        _whole_is_trained=False,
        **kwargs,
    ):
        count = classes if num_classes is None else num_classes
        trained = _whole_is_trained or weights_backbone is not None
        return construct(count, weights_backbone, trained, trainable_backbone_layers, kwargs)

    def decided(kwargs, weights):
        kwargs.update(weights_backbone=None, _whole_is_trained=True)
        if kwargs.get("num_classes", 0) is None:
            del kwargs["num_classes"]
        names = weights.meta.get("keypoint_names")
        if names is not None and kwargs.setdefault("num_keypoints", len(names)) != len(names):
            raise ValueError(
                f"The parameter 'num_keypoints' expected value {len(names)} but got {kwargs['num_keypoints']} instead."
            )

    def finished(model, kwargs):
        if enum_of_model(name).verify(kwargs["weights"]).name == "COCO_V1":
            overwrite_eps(model, 0.0)

    return define(name, build, paper, module, adjust=decided, finish=finished if old_eps else None)


def frozen_if(trained):
    """The batch norm of a backbone: frozen where it has been trained before."""
    return FrozenBatchNorm2d if trained else nn.BatchNorm2d


def resnet50_pyramid(weights, trained, layers, norm_layer=None, frozen=True, further=None):
    """A ResNet-50 with a feature pyramid; with two `further` levels, made from so many channels, in place of the largest map."""
    layers = _validate_trainable_layers(trained, layers, 5, 3)
    norms = {"norm_layer": frozen_if(trained)} if frozen else {}
    resnet = BUILDERS["resnet50"](weights=weights, **norms)  # before the further levels: the draws follow
    options = {} if further is None else {"returned_layers": [2, 3, 4], "extra_blocks": LastLevelP6P7(further, 256)}
    return _resnet_fpn_extractor(resnet, layers, norm_layer=norm_layer, **options)


group_norm = functools.partial(nn.GroupNorm, 32)
