"""The three forms of an image (Pillow image, uint8 array, tensor): telling them apart, and which transforms take which.

A dataset holds its images as uint8 arrays. torchvision makes a Pillow image of each before the transform sees it; many
transforms give the same numbers when they are handed the array itself, with no Pillow and in a fraction of the time.
Such a transform says so in its class:

- ``on_arrays``: what it makes of an HxW or HxWxC uint8 array exactly as of the Pillow image with those pixels:
  ``"image"`` (an array again), ``"tensor"``, or None when only a Pillow image will do.
- ``batch(images)``: the same for many images at once, an NxHxW or NxHxWxC uint8 array or an NxCxHxW tensor; equal to
  stacking the results one by one, or NotImplemented. It may write into what it is given, which nobody else holds.

Both count only when the object's own class defines them: a subclass may override what it likes and is then called
image by image, with Pillow images, as torchvision would.
"""

from __future__ import annotations

import sys

import numpy as np

from rushlight.base.errors import missing_package
from rushlight.ops.table import functions
from rushlight.tensor import Tensor


def pillow(purpose):
    """Pillow's ``Image`` module, or the ImportError that says what needs it and how to install it."""
    try:
        from PIL import Image
    except ImportError:
        raise missing_package("pillow", purpose, "vision") from None
    return Image


def is_pillow(image):
    """Whether `image` is a Pillow image; answers without importing Pillow."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(image, module.Image)


def is_tensor(image):
    """Whether `image` is a Tensor."""
    return isinstance(image, Tensor)


def is_array(image):
    """Whether `image` is a NumPy array of an image's rank, HxW or HxWxC."""
    return isinstance(image, np.ndarray) and image.ndim in (2, 3)


def to_pillow(array, purpose="an image as a PIL image"):
    """The Pillow image of a uint8 HxW or HxWx3 array."""
    return pillow(purpose).fromarray(array)


def array_to_tensor(array):
    """The CxHxW tensor of an HxW or HxWxC array: same dtype, contiguous."""
    if array.ndim == 2:
        array = array[:, :, None]
    return functions.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def own(transform, name):
    """`transform`'s attribute `name` if its own class (or the function itself) defines it, else None.

    A module with forward hooks answers None: its hooks must see every image.
    """
    if hasattr(transform, "__code__"):
        return transform.__dict__.get(name)
    if name not in type(transform).__dict__:
        return None
    if getattr(transform, "_forward_hooks", None) or getattr(transform, "_forward_pre_hooks", None):
        return None
    return getattr(transform, name)


def result_on_arrays(transform):
    """What `transform` makes of a uint8 array just as of the Pillow image: "image", "tensor" or None (see the top)."""
    return own(transform, "on_arrays")


def apply_batch(transform, images):
    """`transform` of a whole batch in one call, or NotImplemented when it has no rule for this one."""
    rule = own(transform, "batch")
    return NotImplemented if rule is None else rule(images)


def for_transform(array, transform):
    """What `transform` is to see of a dataset's image: the array where that is the same, else a Pillow image."""
    if transform is not None and array.dtype == np.uint8 and result_on_arrays(transform) == "tensor":
        return array
    if transform is None:
        return to_pillow(
            array, "a dataset without a transform (its images are PIL images; transform=ToTensor() needs no Pillow)"
        )
    return to_pillow(array, f"the transform {transform!r} (it takes PIL images)")
