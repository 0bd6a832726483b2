"""Image models under torchvision's names."""

from __future__ import annotations

from . import (
    alexnet as _alexnet,
    convnext as _convnext,
    densenet as _densenet,
    efficientnet as _efficientnet,
    googlenet as _googlenet,
    inception as _inception,
    mnasnet as _mnasnet,
    mobilenetv2 as _mobilenetv2,
    mobilenetv3 as _mobilenetv3,
    regnet as _regnet,
    resnet as _resnet,
    shufflenetv2 as _shufflenetv2,
    squeezenet as _squeezenet,
    swin_transformer as _swin_transformer,
    vgg as _vgg,
    vision_transformer as _vision_transformer,
)
from . import detection, segmentation
from .alexnet import *
from .convnext import *
from .densenet import *
from .efficientnet import *
from .googlenet import *
from .inception import *
from .mnasnet import *
from .mobilenetv2 import *
from .mobilenetv3 import *
from .regnet import *
from .registry import get_model, get_model_builder, list_models
from .resnet import *
from .shufflenetv2 import *
from .squeezenet import *
from .swin_transformer import *
from .vgg import *
from .vision_transformer import *
from .weights import Weights, WeightsEnum, attribute_of, catalogue, get_model_weights, get_weight

__all__ = [
    "detection",
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
    "segmentation",
    *_alexnet.__all__,
    *_convnext.__all__,
    *_densenet.__all__,
    *_efficientnet.__all__,
    *_googlenet.__all__,
    *_inception.__all__,
    *_mnasnet.__all__,
    *_mobilenetv2.__all__,
    *_mobilenetv3.__all__,
    *_regnet.__all__,
    *_resnet.__all__,
    *_shufflenetv2.__all__,
    *_squeezenet.__all__,
    *_swin_transformer.__all__,
    *_vgg.__all__,
    *_vision_transformer.__all__,
    *catalogue(),
]

__getattr__ = attribute_of(__name__)  # the enums of weights, each made when first asked for
