"""ArrayDataset: the base of the datasets that hold all their images in one uint8 array, and read batches in one go."""

from __future__ import annotations

import numpy as np

from rushlight.ops.table import functions
from rushlight.utils.data import default_collate

from ..images import apply_batch, for_transform, is_tensor
from .vision import VisionDataset, transformed


def item(values, index):
    """``values[index]`` as NumPy has it: reading one number or image from a tensor that way is a few times faster."""
    if is_tensor(values):
        if type(index) is int and -len(values) <= index < len(values):
            return values.numpy()[index]
        return values[index].numpy()
    return values[index]


class ArrayDataset(VisionDataset):
    """Base of MNIST, CIFAR10 and Digits: images in ``data`` (NxHxW or NxHxWxC, uint8), classes in ``targets``.

    ``data`` and ``targets`` may be replaced by other tensors, arrays or lists; they are looked at anew for each read.
    """

    def __getitem__(self, index):
        """(image, target): the image transformed, or as a PIL image; the target as an int, transformed."""
        image, target = for_transform(item(self.data, index), self.transform), int(item(self.targets, index))
        return transformed(image, target, self.transform, self.target_transform)

    def __len__(self):
        return len(self.data)

    def __getbatch__(self, indices):
        """``default_collate([self[i] for i in indices])`` in one read, or NotImplemented.

        NotImplemented when the transform works image by image (one with chance in it, or one of the user's), and for
        indices out of range, which reading one by one reports.
        """
        data = self.data.numpy() if is_tensor(self.data) else self.data
        if self.transform is None or not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim < 3:
            return NotImplemented
        indices = np.asarray(indices)
        if not indices.size or indices.min() < 0 or indices.max() >= len(data):
            return NotImplemented
        images = apply_batch(self.transform, data[indices])
        return [images, self.target_batch(indices)] if is_tensor(images) else NotImplemented

    def target_batch(self, indices):
        """The targets at `indices`, collated."""
        if self.target_transform is not None:
            return default_collate([self.target_transform(int(self.targets[index])) for index in indices.tolist()])
        if is_tensor(self.targets):
            return functions.from_numpy(self.targets.numpy()[indices].astype(np.int64))
        return functions.from_numpy(np.array([int(self.targets[index]) for index in indices.tolist()], np.int64))
