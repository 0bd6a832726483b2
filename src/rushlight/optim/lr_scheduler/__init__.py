"""Schedules of learning rates: ``torch.optim.lr_scheduler``."""

from .base import EPOCH_DEPRECATION_WARNING, LRScheduler, _LRScheduler
from .decay import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from .cycle import CyclicLR, OneCycleLR
from .plateau import ReduceLROnPlateau
from .combine import ChainedScheduler, SequentialLR

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
