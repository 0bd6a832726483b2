"""Forms and ranges of samples: ToImage, ToDtype, ToPureTensor, Identity."""

from __future__ import annotations

from rushlight.base import dtypes
from rushlight.base.errors import hinted
from rushlight.nn import Module

from ...images import array_to_tensor, is_array, is_pillow, is_tensor
from ...tv_tensors import Image, Video
from .. import functional
from ..conversion import convert_image_dtype, pil_to_tensor
from ..convert import batch_to_tensor
from .boxes import plain
from .joint import Transform, changed, is_image, is_pure_tensor, on_image, to_change


class Identity(Module):
    """Any inputs, unchanged."""

    on_arrays = "image"

    def forward(self, *inputs):
        """The input; a tuple of several."""
        return inputs if len(inputs) > 1 else inputs[0]

    def batch(self, images):
        """The images."""
        return images


def to_image(inpt):
    """A PIL image or an HxW or HxWxC array as a CxHxW ``tv_tensors.Image`` with the same values and dtype; a tensor too.

    Raises ``TypeError`` for anything else.
    """
    if is_tensor(inpt):
        return inpt if isinstance(inpt, Image) else Image(inpt)
    if is_array(inpt):
        return Image(array_to_tensor(inpt.copy()))  # the tensor must not write into a dataset
    if is_pillow(inpt):
        return Image(pil_to_tensor(inpt))
    raise TypeError(f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(inpt)} instead.")


def normalize(inpt, mean, std, inplace=False):
    """An image with each channel's mean subtracted and divided by its deviation."""
    return on_image(inpt, functional.normalize, mean, std, inplace)


def to_dtype(inpt, dtype=dtypes.float32, scale=False):
    """A tensor image as `dtype`; with `scale` its values move to that dtype's range.

    Whole numbers are multiplied by the reciprocal of their largest one, where the first version divides: the last bit differs.
    """
    if not scale or inpt.dtype == dtype:
        return inpt.to(dtype)
    if dtype.is_floating_point and not inpt.is_floating_point():
        largest = 1 if inpt.dtype == dtypes.bool_ else dtypes.iinfo(inpt.dtype).max
        return inpt.to(dtype).mul_(1.0 / largest)
    return convert_image_dtype(inpt, dtype)


def to_change_or_array(leaves):
    """As `to_change`, and an array where the sample has no other image."""
    chosen = to_change(leaves)
    return [change or (is_array(leaf) and not any(chosen)) for leaf, change in zip(leaves, chosen)]


class ToImage(Transform):
    """A PIL image, an array or a tensor as a ``tv_tensors.Image`` with the same values and dtype; see ``v2.functional.to_image``.

    >>> import numpy
    >>> from rushlight.vision.transforms import v2
    >>> v2.ToImage()(numpy.zeros((28, 28, 3), dtype=numpy.uint8)).shape
    torch.Size([3, 28, 28])
    """

    on_arrays = "tensor"

    def forward(self, *inputs):
        """A sample with its image as a tensor."""
        if len(inputs) == 1 and is_array(inputs[0]):
            return to_image(inputs[0])
        return changed(self, inputs, to_change_or_array)

    def transform(self, inpt, params):
        """An image as a tensor; boxes and masks stay as they are."""
        return to_image(inpt) if is_image(inpt) else inpt

    def batch(self, images):
        """An NxHxW or NxHxWxC uint8 array as an NxCxHxW tensor with the same values."""
        return batch_to_tensor(images)

    def __repr__(self):
        return f"{type(self).__name__}()"


class ToDtype(Transform):
    """Images of a sample in another dtype; with `scale` their values move to that dtype's range.

    `dtype` may be a dict from classes of ``tv_tensors`` to dtypes, with "others" for the rest (None: left as it is).

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import v2
    >>> v2.ToDtype(torch.float32, scale=True)(torch.tensor([[[0, 255]]], dtype=torch.uint8))
    tensor([[[0., 1.]]])
    """

    def __init__(self, dtype, scale=False):
        super().__init__()
        if not isinstance(dtype, (dict, dtypes.DType)):
            raise ValueError(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead")
        self.dtype = dtype
        self.scale = scale

    def transform(self, inpt, params):
        """An image converted; other parts where a dict says so."""
        dtype = self.dtype
        image = isinstance(inpt, (Image, Video)) or is_pure_tensor(inpt)
        if isinstance(dtype, dict):
            if type(inpt) not in dtype and "others" not in dtype:
                raise ValueError(
                    hinted(f"No dtype was specified for type {type(inpt)}.", "give it in the dict, or one for 'others'")
                )
            dtype = dtype.get(type(inpt), dtype.get("others"))
        elif not image:
            return inpt
        if dtype is None or not is_tensor(inpt):
            return inpt
        return on_image(inpt, to_dtype, dtype, self.scale and image)

    def batch(self, images):
        """An NxCxHxW tensor converted."""
        return self.forward(images) if is_tensor(images) else NotImplemented

    def __repr__(self):
        return f"{type(self).__name__}(scale={self.scale})"


class ToPureTensor(Transform):
    """Images, boxes and masks of a sample as plain tensors; anything else unchanged."""

    def transform(self, inpt, params):
        """A tensor without its class."""
        return plain(inpt) if is_tensor(inpt) else inpt

    def batch(self, images):
        """The images, when they are a tensor."""
        return images if is_tensor(images) else NotImplemented
