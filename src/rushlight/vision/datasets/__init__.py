"""Image datasets under torchvision's names, and Digits, which comes with the package."""

from __future__ import annotations

from . import utils
from .celeba import CelebA
from .cifar import CIFAR10, CIFAR100
from .coco import CocoCaptions, CocoDetection
from .digits import Digits
from .fakedata import FakeData
from .folder import DatasetFolder, ImageFolder
from .imagenet import ImageNet
from .inaturalist import INaturalist
from .later import LATER as _LATER
from .mnist import FashionMNIST, KMNIST, MNIST, QMNIST
from .places365 import Places365
from .vision import VisionDataset
from .voc import VOCDetection, VOCSegmentation

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "CelebA",
    "CocoCaptions",
    "CocoDetection",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "INaturalist",
    "ImageFolder",
    "ImageNet",
    "KMNIST",
    "MNIST",
    "Places365",
    "QMNIST",
    "VOCDetection",
    "VOCSegmentation",
    "VisionDataset",
]

__getattr__ = _LATER.of("")
