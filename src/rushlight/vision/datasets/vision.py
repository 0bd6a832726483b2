"""VisionDataset: the base of the datasets, and what it prints."""

from __future__ import annotations

import os

from rushlight.utils.data import Dataset


class VisionDataset(Dataset):
    """Base of the image datasets: a root folder, and a transform for images and one for targets.

    Give either `transforms` (called with image and target) or `transform` and `target_transform`; both raise
    ``ValueError``. Subclasses define ``__getitem__`` and ``__len__``, and may define ``extra_repr``.

    >>> from rushlight.vision import datasets
    >>> class Squares(datasets.VisionDataset):
    ...     def __len__(self):
    ...         return 3
    >>> Squares("data")
    Dataset Squares
        Number of datapoints: 3
        Root location: data
    """

    _repr_indent = 4

    def __init__(self, root=None, transforms=None, transform=None, target_transform=None):
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        separate = transform is not None or target_transform is not None
        if transforms is not None and separate:
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.transform = transform
        self.target_transform = target_transform
        self.transforms = StandardTransform(transform, target_transform) if separate else transforms

    def __getitem__(self, index):
        raise NotImplementedError

    def __len__(self):
        raise NotImplementedError

    def __repr__(self):
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if getattr(self, "transforms", None) is not None:
            body.append(repr(self.transforms))
        return "\n".join([f"Dataset {type(self).__name__}", *(" " * self._repr_indent + line for line in body)])

    def extra_repr(self):
        """Further lines for the printed form."""
        return ""


def transformed(input, target, transform, target_transform):
    """A sample and its target, each by its transform where that is not None."""
    if transform is not None:
        input = transform(input)
    if target_transform is not None:
        target = target_transform(target)
    return input, target


class StandardTransform:
    """A transform for the image and one for the target, as one call; either may be None."""

    def __init__(self, transform=None, target_transform=None):
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input, target):
        return transformed(input, target, self.transform, self.target_transform)

    def __repr__(self):
        lines = [type(self).__name__]
        for head, transform in (("Transform: ", self.transform), ("Target transform: ", self.target_transform)):
            if transform is not None:
                first, *rest = repr(transform).splitlines()
                lines += [head + first, *(" " * len(head) + line for line in rest)]
        return "\n".join(lines)
