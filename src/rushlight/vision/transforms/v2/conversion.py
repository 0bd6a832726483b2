"""The transforms that the second version adds for plain images: ToImage, ToDtype, ToPureTensor, Identity."""

from __future__ import annotations

from rushlight.base import dtypes
from rushlight.base.errors import hinted
from rushlight.nn import Module

from ...images import array_to_tensor, is_array, is_pillow, is_tensor
from ..conversion import convert_image_dtype, pil_to_tensor
from ..convert import batch_to_tensor


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
    """A PIL image or an HxW or HxWxC array as a CxHxW tensor with the same values and dtype; a tensor as it is.

    Raises ``TypeError`` for anything else.
    """
    if is_tensor(inpt):
        return inpt
    if is_array(inpt):
        return array_to_tensor(inpt.copy())  # the tensor must not write into a dataset
    if is_pillow(inpt):
        return pil_to_tensor(inpt)
    raise TypeError(f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(inpt)} instead.")


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


class ToImage(Module):
    """A PIL image or an array as a tensor with the same values and dtype; see ``v2.functional.to_image``.

    torchvision returns its own subclass of Tensor here, this a plain Tensor.

    >>> import numpy
    >>> from rushlight.vision.transforms import v2
    >>> v2.ToImage()(numpy.zeros((28, 28, 3), dtype=numpy.uint8)).shape
    torch.Size([3, 28, 28])
    """

    on_arrays = "tensor"

    def forward(self, image):
        """`image` as a tensor."""
        return to_image(image)

    def batch(self, images):
        """An NxHxW or NxHxWxC uint8 array as an NxCxHxW tensor with the same values."""
        return batch_to_tensor(images)

    def __repr__(self):
        return f"{type(self).__name__}()"


class ToDtype(Module):
    """A tensor image in another dtype; with `scale` its values move to that dtype's range, as in ConvertImageDtype.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import v2
    >>> v2.ToDtype(torch.float32, scale=True)(torch.tensor([[[0, 255]]], dtype=torch.uint8))
    tensor([[[0., 1.]]])
    """

    def __init__(self, dtype, scale=False):
        super().__init__()
        if not isinstance(dtype, dtypes.DType):
            raise ValueError(
                hinted(f"dtype must be a dict or a torch.dtype, got {type(dtype)} instead", "a dict is not taken here")
            )
        self.dtype = dtype
        self.scale = scale

    def forward(self, image):
        """`image` converted; whatever is no tensor stays as it is."""
        if not is_tensor(image):
            return image
        return to_dtype(image, self.dtype, self.scale)

    def batch(self, images):
        """An NxCxHxW tensor converted."""
        return self.forward(images) if is_tensor(images) else NotImplemented

    def __repr__(self):
        return f"{type(self).__name__}(scale={self.scale})"


class ToPureTensor(Module):
    """A tensor as a plain Tensor, which every tensor image is here; anything else unchanged."""

    def forward(self, image):
        """`image`."""
        return image

    def batch(self, images):
        """The images, when they are a tensor."""
        return images if is_tensor(images) else NotImplemented
