"""Transforms made of transforms: Compose, RandomApply, RandomChoice, RandomOrder, and Lambda for any function."""

from __future__ import annotations

from rushlight.nn import Module
from rushlight.ops.table import functions

from ..images import apply_batch, result_on_arrays


class Compose:
    """The transforms of a list, one after the other.

    >>> from rushlight.vision import transforms
    >>> transforms.Compose([transforms.CenterCrop(24), transforms.ToTensor()])
    Compose(
        CenterCrop(size=(24, 24))
        ToTensor()
    )
    """

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for transform in self.transforms:
            img = transform(img)
        return img

    @property
    def on_arrays(self):
        """ "tensor" when arrays pass through arrays into a tensor; see ``vision/images.py``."""
        for transform in self.transforms:
            made = result_on_arrays(transform)
            if made != "image":
                return made
        return "image"

    def batch(self, images):
        """All transforms on many images at once, or NotImplemented when one of them cannot."""
        for transform in self.transforms:
            images = apply_batch(transform, images)
            if images is NotImplemented:
                break
        return images

    def __repr__(self):
        return _listed(type(self).__name__, [str(transform) for transform in self.transforms])


def _listed(name, lines):
    """`name` and, in brackets, one indented line for each of `lines`."""
    return "".join([f"{name}(", *(f"\n    {line}" for line in lines), "\n)"])


class Lambda:
    """Any function of an image, as a transform. Raises ``TypeError`` for what cannot be called.

    >>> import rushlight as torch
    >>> from rushlight.vision import transforms
    >>> transforms.Lambda(lambda image: image + 1)(torch.zeros(2))
    tensor([1., 1.])
    """

    def __init__(self, lambd):
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img):
        return self.lambd(img)

    def __repr__(self):
        return f"{type(self).__name__}()"


class RandomTransforms:
    """Base of the transforms that choose among a list. Raises ``TypeError`` unless it is a sequence."""

    def __init__(self, transforms):
        if not isinstance(transforms, list | tuple):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __call__(self, *args):
        raise NotImplementedError

    def __repr__(self):
        return _listed(type(self).__name__, [str(transform) for transform in self.transforms])


class RandomApply(Module):
    """All transforms of a list with probability `p` (one draw of ``torch.rand(1)``), or none of them.

    >>> from rushlight.vision import transforms
    >>> transforms.RandomApply([transforms.CenterCrop(8)], p=0.3)
    RandomApply(
        p=0.3
        CenterCrop(size=(8, 8))
    )
    """

    def __init__(self, transforms, p=0.5):
        super().__init__()
        self.transforms = transforms
        self.p = p

    @property
    def on_arrays(self):
        """Arrays, where all the transforms make arrays of them."""
        return "image" if all(result_on_arrays(transform) == "image" for transform in self.transforms) else None

    def forward(self, img):
        """`img` transformed or as it is."""
        if self.p < functions.rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        return _listed(type(self).__name__, [f"p={self.p}", *(str(transform) for transform in self.transforms)])


class RandomOrder(RandomTransforms):
    """All transforms of a list in a random order, drawn from Python's ``random``."""

    def __call__(self, img):
        import random

        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for index in order:
            img = self.transforms[index](img)
        return img


class RandomChoice(RandomTransforms):
    """One transform of a list, drawn from Python's ``random`` with the weights `p` (None: equal).

    Raises ``TypeError`` unless `p` is a sequence.
    """

    def __init__(self, transforms, p=None):
        super().__init__(transforms)
        if p is not None and not isinstance(p, list | tuple):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, *args):
        import random

        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self):
        return f"{super().__repr__()}(p={self.p})"
