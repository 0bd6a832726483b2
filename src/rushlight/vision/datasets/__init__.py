"""Image datasets under torchvision's names, and Digits, which comes with the package."""

from __future__ import annotations

from . import utils
from .cifar import CIFAR10, CIFAR100
from .coco import CocoCaptions, CocoDetection
from .digits import Digits
from .fakedata import FakeData
from .folder import DatasetFolder, ImageFolder
from .later import LATER as _LATER
from .mnist import FashionMNIST, KMNIST, MNIST
from .vision import VisionDataset
from .voc import VOCDetection, VOCSegmentation

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "CocoCaptions",
    "CocoDetection",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "KMNIST",
    "MNIST",
    "VOCDetection",
    "VOCSegmentation",
    "VisionDataset",
]

__getattr__ = _LATER.of("")
