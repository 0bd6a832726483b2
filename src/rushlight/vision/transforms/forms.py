"""Which function serves an image: by its form, Pillow image, tensor or uint8 array."""

from __future__ import annotations

import numpy as np

from rushlight.base.errors import hinted

from ..images import is_array, is_pillow, is_tensor
from . import array_warp, on_array, on_pillow, on_tensor, tensor_color

TENSOR = {**vars(tensor_color), **vars(on_tensor)}
ARRAY = {**vars(array_warp), **vars(on_array)}
PILLOW = vars(on_pillow)


def operation(name, image):
    """The function `name` for the form that `image` has; ``TypeError`` when it is no image."""
    if is_tensor(image):
        return TENSOR[name]
    if is_pillow(image):
        return PILLOW[name]
    if not is_array(image):
        raise TypeError(
            hinted(f"Unexpected type {type(image)}", "an image is a PIL image, a tensor or an HxW or HxWxC uint8 array")
        )
    if image.dtype != np.uint8:
        raise TypeError(hinted(f"Unexpected type {type(image)}", f"an array image has dtype uint8, not {image.dtype}"))
    function = ARRAY.get(name)
    if function is None:
        raise TypeError(
            hinted(f"Unexpected type {type(image)}", f"'{name}' takes PIL images and tensors: put ToTensor() before it")
        )
    return function
