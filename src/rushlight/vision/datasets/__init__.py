"""Image datasets under torchvision's names, and Digits, which comes with the package."""

from __future__ import annotations

from . import utils
from .cifar import CIFAR10, CIFAR100
from .digits import Digits
from .fakedata import FakeData
from .folder import DatasetFolder, ImageFolder
from .mnist import FashionMNIST, KMNIST, MNIST
from .vision import VisionDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "DatasetFolder",
    "Digits",
    "FakeData",
    "FashionMNIST",
    "ImageFolder",
    "KMNIST",
    "MNIST",
    "VisionDataset",
]
