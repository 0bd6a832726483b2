"""The registry and the weights under the name that programs import them by (``torchvision.models._api``)."""

from __future__ import annotations

from .registry import BUILDERS as BUILTIN_MODELS
from .registry import get_model, get_model_builder, list_models, register_model
from .weights import Weights, WeightsEnum, get_model_weights, get_weight

__all__ = [
    "BUILTIN_MODELS",
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
    "register_model",
]
