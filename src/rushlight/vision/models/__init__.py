"""Image models under torchvision's names."""

from __future__ import annotations

from . import alexnet as _alexnet
from . import mobilenetv2 as _mobilenetv2
from . import resnet as _resnet
from . import squeezenet as _squeezenet
from . import vgg as _vgg
from .alexnet import *
from .mobilenetv2 import *
from .registry import get_model, get_model_builder, list_models
from .resnet import *
from .squeezenet import *
from .vgg import *

__all__ = [
    "get_model",
    "get_model_builder",
    "list_models",
    *_alexnet.__all__,
    *_mobilenetv2.__all__,
    *_resnet.__all__,
    *_squeezenet.__all__,
    *_vgg.__all__,
]
