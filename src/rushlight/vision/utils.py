"""``torchvision.utils``: many images in one, as a tensor (``make_grid``) or a file (``save_image``); drawing."""

from __future__ import annotations

import math

import numpy as np

from rushlight.ops.table import functions

from .drawing import draw_bounding_boxes, draw_keypoints, draw_segmentation_masks, flow_to_image
from .images import is_tensor, pillow

__all__ = [
    "make_grid",
    "save_image",
    "draw_bounding_boxes",
    "draw_segmentation_masks",
    "draw_keypoints",
    "flow_to_image",
]


def make_grid(tensor, nrow=8, padding=2, normalize=False, value_range=None, scale_each=False, pad_value=0.0):
    """Images side by side in one 3xHxW tensor, `nrow` in a row, `padding` pixels of `pad_value` around each.

    `tensor` is NxCxHxW, a list of CxHxW, or a single CxHxW or HxW image (returned without a border). Gray images become
    three equal channels. `normalize` stretches the values to 0 ... 1, from `value_range` (low, high) or from the least
    and greatest value, of all images or of each when `scale_each`. ``TypeError`` for anything else.

    >>> import rushlight as torch
    >>> from rushlight.vision import utils
    >>> utils.make_grid(torch.zeros(10, 1, 28, 28), nrow=5).shape
    torch.Size([3, 62, 152])
    """
    if not is_tensor(tensor):
        if not isinstance(tensor, list):
            raise TypeError(f"tensor or list of tensors expected, got {type(tensor)}")
        for image in tensor:
            if not is_tensor(image):
                raise TypeError(f"tensor or list of tensors expected, got a list containing {type(image)}")
        tensor = functions.stack(tensor, 0)
    tensor = as_batch(tensor)
    if normalize:
        tensor = stretched(tensor.clone(), value_range, scale_each)
    if tensor.size(0) == 1:
        return tensor.squeeze(0)
    count, channels, height, width = tensor.shape
    across = min(nrow, count)
    down = math.ceil(count / across)
    height, width = int(height + padding), int(width + padding)
    grid = tensor.new_full((channels, height * down + padding, width * across + padding), pad_value)
    for index in range(count):
        top, left = index // across * height + padding, index % across * width + padding
        grid[:, top : top + height - padding, left : left + width - padding] = tensor[index]
    return grid


def as_batch(tensor):
    """`tensor` as NxCxHxW, with three channels when it had one."""
    if tensor.dim() == 2:
        tensor = tensor.unsqueeze(0)
    if tensor.dim() == 3:
        tensor = tensor.unsqueeze(0)
    return functions.cat((tensor, tensor, tensor), 1) if tensor.size(1) == 1 else tensor


def stretched(tensor, value_range, scale_each):
    """The images with their values moved to 0 ... 1, written in place."""
    if value_range is not None and not isinstance(value_range, tuple):
        raise TypeError("value_range has to be a tuple (min, max) if specified. min and max are numbers")
    for part in tensor if scale_each else [tensor]:
        low, high = value_range if value_range is not None else (float(part.min()), float(part.max()))
        part.clamp_(min=low, max=high)
        part.sub_(low).div_(max(high - low, 1e-5))
    return tensor


def save_image(tensor, fp, format=None, **kwargs):
    """Write an image tensor, or several as a grid, to the file `fp` (a path or an open file), values 0 ... 1.

    `format` is Pillow's name of the file format (None: by the ending); `kwargs` go to `make_grid`. Needs Pillow.
    """
    image = pillow("save_image")
    grid = make_grid(tensor, **kwargs)
    pixels = grid.mul(255).add_(0.5).clamp_(0, 255).permute(1, 2, 0).detach().cpu().numpy().astype(np.uint8)
    image.fromarray(np.ascontiguousarray(pixels)).save(fp, format=format)
