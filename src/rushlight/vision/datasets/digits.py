"""Digits: the 1,797 handwritten digits of 8x8 pixels that come with the package."""

from __future__ import annotations

import bz2
import os

import numpy as np

from rushlight.ops.table import functions

from .arrays import ArrayDataset

FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "data", "digits.bz2")
COUNT, SIDE = 1797, 8
LEVELS = 16  # the published images have values 0 to 16


def load_digits():
    """(images, labels) as published: uint8 arrays of shape (1797, 8, 8) with values 0 to 16, and (1797,)."""
    with bz2.open(FILE) as file:
        content = np.frombuffer(file.read(), np.uint8)
    labels, pixels = content[:COUNT].copy(), content[COUNT:].reshape(SIDE * SIDE, COUNT)
    images = np.empty((COUNT, SIDE, SIDE), np.uint8)
    images[np.argsort(labels, kind="stable")] = pixels.T.reshape(COUNT, SIDE, SIDE)
    return images, labels


def is_test_image(labels):
    """Which images are for the test: of each digit the fifth, tenth, fifteenth, ... in the published order."""
    chosen = np.zeros(len(labels), bool)
    for digit in range(10):
        chosen[np.flatnonzero(labels == digit)[4::5]] = True
    return chosen


class Digits(ArrayDataset):
    """Optical Recognition of Handwritten Digits (Alpaydin and Kaynak, UCI, CC BY 4.0): 8x8 gray images, ten classes.

    Comes with the package: nothing is downloaded, and no Pillow is needed with ``ToTensor()``. Of each digit, every
    fifth image is a test image: 1,442 for training, 355 for the test, always the same. The published gray levels 0 to
    16 are spread over 0 to 255, so that ``ToTensor()`` gives 0 to 1. ``data`` is a uint8 tensor (N, 8, 8), ``targets``
    an int64 tensor (N).

    >>> from rushlight.vision import datasets
    >>> datasets.Digits()
    Dataset Digits
        Number of datapoints: 1442
        Split: Train
    """

    classes = [str(digit) for digit in range(10)]

    def __init__(self, train=True, transform=None, target_transform=None):
        super().__init__(transform=transform, target_transform=target_transform)
        self.train = train
        images, labels = load_digits()
        chosen = is_test_image(labels) != train
        spread = np.rint(np.arange(LEVELS + 1) * (255 / LEVELS)).astype(np.uint8)
        self.data = functions.from_numpy(spread[images[chosen]])
        self.targets = functions.from_numpy(labels[chosen].astype(np.int64))

    @property
    def class_to_idx(self):
        """The number of each class name."""
        return {name: number for number, name in enumerate(self.classes)}

    def extra_repr(self):
        """Which part it is."""
        return f"Split: {'Train' if self.train is True else 'Test'}"
