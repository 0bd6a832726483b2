"""Transforms between forms and ranges: ToTensor, PILToTensor, ToPILImage, ConvertImageDtype, Normalize and one more."""

from __future__ import annotations

import numpy as np

from rushlight.base import dtypes
from rushlight.nn import Module
from rushlight.ops.table import functions

from ..images import array_to_tensor, is_array, is_tensor
from . import conversion


def channels_first(images):
    """The NxCxHxW view of an NxHxW or NxHxWxC array."""
    return images[:, None] if images.ndim == 3 else images.transpose(0, 3, 1, 2)


def batch_to_tensor(images):
    """An NxHxW or NxHxWxC array as an NxCxHxW tensor with the same values; NotImplemented for what is no array."""
    if not isinstance(images, np.ndarray):
        return NotImplemented
    return functions.from_numpy(np.ascontiguousarray(channels_first(images)))


class ToTensor:
    """A PIL image or an HxW or HxWxC array as a CxHxW tensor; 8-bit images as floats between 0 and 1.

    See ``functional.to_tensor``.

    >>> import numpy
    >>> from rushlight.vision import transforms
    >>> transforms.ToTensor()(numpy.zeros((28, 28), dtype=numpy.uint8)).shape
    torch.Size([1, 28, 28])
    """

    on_arrays = "tensor"

    def __call__(self, pic):
        return conversion.to_tensor(pic)

    def batch(self, images):
        """An NxHxW or NxHxWxC uint8 array as an NxCxHxW tensor between 0 and 1."""
        if not isinstance(images, np.ndarray) or images.dtype != np.uint8:
            return NotImplemented
        return conversion.unit_range(channels_first(images))

    def __repr__(self):
        return f"{type(self).__name__}()"


class PILToTensor:
    """A PIL image as a CxHxW tensor with the same values and dtype."""

    on_arrays = "tensor"

    def __call__(self, pic):
        if is_array(pic) and pic.dtype == np.uint8:
            return array_to_tensor(pic.copy())  # the tensor must not write into a dataset
        return conversion.pil_to_tensor(pic)

    def batch(self, images):
        """An NxHxW or NxHxWxC uint8 array as an NxCxHxW tensor with the same values."""
        return batch_to_tensor(images)

    def __repr__(self):
        return f"{type(self).__name__}()"


class ToPILImage:
    """A tensor or an array as a PIL image of `mode` (None: by dtype and channels); see ``functional.to_pil_image``."""

    def __init__(self, mode=None):
        self.mode = mode

    def __call__(self, pic):
        return conversion.to_pil_image(pic, self.mode)

    def __repr__(self):
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class ConvertImageDtype(Module):
    """A tensor image in another dtype, its values moved to that dtype's range; see ``functional.convert_image_dtype``.

    Raises ``TypeError`` unless `dtype` is a ``torch.dtype``.
    """

    def __init__(self, dtype):
        super().__init__()
        if not isinstance(dtype, dtypes.DType):
            raise TypeError("Argument dtype should be of type torch.dtype")
        self.dtype = dtype

    def forward(self, image):
        """`image` converted."""
        return conversion.convert_image_dtype(image, self.dtype)

    def batch(self, images):
        """An NxCxHxW tensor converted."""
        return conversion.convert_image_dtype(images, self.dtype) if is_tensor(images) else NotImplemented


class Normalize(Module):
    """``(image - mean) / std``, channel by channel, of a float tensor image; see ``functional.normalize``.

    >>> from rushlight.vision import transforms
    >>> transforms.Normalize((0.1307,), (0.3081,))
    Normalize(mean=(0.1307,), std=(0.3081,))
    """

    def __init__(self, mean, std, inplace=False):
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor):
        """`tensor` normalized."""
        return conversion.normalize(tensor, self.mean, self.std, self.inplace)

    def batch(self, images):
        """An NxCxHxW float tensor normalized, in place: nobody else holds the tensor of a batch."""
        if not is_tensor(images) or images.ndim != 4:
            return NotImplemented
        return conversion.normalize(images, self.mean, self.std, inplace=True)

    def __repr__(self):
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"


class LinearTransformation(Module):
    """``(flattened image - mean_vector) @ transformation_matrix`` in the image's shape, as for whitening.

    `transformation_matrix` is DxD and `mean_vector` D for images of C*H*W = D numbers; ``ValueError`` when the sizes do
    not fit.

    >>> import rushlight as torch
    >>> from rushlight.vision import transforms
    >>> transforms.LinearTransformation(2 * torch.eye(4), torch.ones(4))(torch.ones(1, 2, 2))
    tensor([[[0., 0.],
             [0., 0.]]])
    """

    def __init__(self, transformation_matrix, mean_vector):
        super().__init__()
        rows, columns = transformation_matrix.size()
        if rows != columns:
            raise ValueError(
                f"transformation_matrix should be square. Got {tuple(transformation_matrix.size())} rectangular matrix."
            )
        if mean_vector.size(0) != rows:
            raise ValueError(
                f"mean_vector should have the same length {mean_vector.size(0)}"
                f" as any one of the dimensions of the transformation_matrix [{tuple(transformation_matrix.size())}]"
            )
        if transformation_matrix.dtype is not mean_vector.dtype:
            raise ValueError(
                f"Input tensors should have the same dtype. Got {transformation_matrix.dtype} and {mean_vector.dtype}"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor):
        """`tensor` (..., C, H, W) transformed."""
        size = tensor.shape[-3] * tensor.shape[-2] * tensor.shape[-1]
        if size != self.transformation_matrix.size(0):
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape."
                f"[{tensor.shape[-3]} x {tensor.shape[-2]} x {tensor.shape[-1]}] != "
                f"{self.transformation_matrix.shape[0]}"
            )
        flat = tensor.reshape(-1, size) - self.mean_vector
        return functions.mm(flat, self.transformation_matrix).reshape(tensor.shape)

    def __repr__(self):
        return (
            f"{type(self).__name__}(transformation_matrix={self.transformation_matrix.tolist()}"
            f", mean_vector={self.mean_vector.tolist()})"
        )
