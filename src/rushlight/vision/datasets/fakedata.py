"""FakeData: random images, for trying out a training script without data."""

from __future__ import annotations

import numpy as np

from rushlight.ops.table import functions
from rushlight.random import get_rng_state, manual_seed, set_rng_state

from ..images import for_transform
from .vision import VisionDataset, transformed


class FakeData(VisionDataset):
    """`size` random images of `image_size` (channels, height, width), each with one of `num_classes` random classes.

    Image i is always the same: it is drawn with the seed i + `random_offset`, and the default generator is left as it
    was. Items are (PIL image or what `transform` makes of it, int or what `target_transform` makes of it).

    >>> from rushlight.vision import datasets, transforms
    >>> image, target = datasets.FakeData(8, (3, 4, 4), transform=transforms.ToTensor())[0]
    >>> image.shape
    torch.Size([3, 4, 4])
    """

    def __init__(self, size=1000, image_size=(3, 224, 224), num_classes=10, transform=None, target_transform=None,
                 random_offset=0):  # fmt: skip
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index):
        """(image, target)."""
        if index >= len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        state = get_rng_state()
        manual_seed(index + self.random_offset)
        pixels = functions.randn(*self.image_size)
        target = functions.randint(0, self.num_classes, (1,)).item()
        set_rng_state(state)
        array = np.ascontiguousarray(pixels.mul(255).byte().numpy().transpose(1, 2, 0))
        image = for_transform(array[:, :, 0] if array.shape[2] == 1 else array, self.transform)
        return transformed(image, target, self.transform, self.target_transform)

    def __len__(self):
        return self.size
