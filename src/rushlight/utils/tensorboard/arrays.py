"""What is given to a writer as NumPy arrays: tensors, numbers, and images in the order of dimensions that they are drawn in."""

from __future__ import annotations

import math

import numpy as np

from ...base import dtypes
from ...base.errors import hinted
from ...tensor import Tensor


def make_np(x):
    """A tensor, an array or a number as an array; bfloat16 as float16."""
    if isinstance(x, np.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, Tensor):
        return (x.to(dtypes.float16) if x.dtype == dtypes.bfloat16 else x).detach().numpy()
    raise NotImplementedError(
        hinted(f"Got {type(x)}, but numpy array or torch tensor are expected.", "convert it with torch.as_tensor")
    )


def check(condition, message, hint):
    """PyTorch's AssertionError, where ``condition`` does not hold."""
    if not condition:
        raise AssertionError(hinted(message, hint))


def make_grid(images, ncols=8):
    """A batch of images (count, channels, height, width) as one, row by row; grey ones get three channels."""
    check(isinstance(images, np.ndarray), "plugin error, should pass numpy array here", f"got {type(images).__name__}")
    if images.shape[1] == 1:
        images = np.concatenate([images] * 3, 1)
    fits = images.ndim == 4 and images.shape[1] == 3
    check(fits, "Input should be a 4D numpy array with 3 channels", f"its shape is {images.shape}")
    count, _, height, width = images.shape
    columns = min(count, ncols)
    canvas = np.zeros((3, height * math.ceil(count / columns), width * columns), images.dtype)
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        canvas[:, row * height : (row + 1) * height, column * width : (column + 1) * width] = image
    return canvas


def convert_to_HWC(tensor, input_format):
    """An image, or a batch of them, as (height, width, 3); ``input_format`` names the dimensions: "CHW", "NHWC", "HW", ..."""
    unique = len(set(input_format)) == len(input_format)
    message = f"You can not use the same dimension shorthand twice.             input_format: {input_format}"
    check(unique, message, "each dimension has one letter")
    message = (
        f"size of input tensor and input format are different.         tensor shape: {tensor.shape}, "
        f"input_format: {input_format}"
    )
    check(len(tensor.shape) == len(input_format), message, "dataformats= names the dimensions")
    given = input_format.upper()
    if len(given) == 4:
        return make_grid(tensor.transpose([given.find(c) for c in "NCHW"])).transpose(1, 2, 0)
    if len(given) == 3:
        image = tensor.transpose([given.find(c) for c in "HWC"])
        return np.concatenate([image] * 3, 2) if image.shape[2] == 1 else image
    if len(given) == 2:
        return np.stack([tensor.transpose([given.find(c) for c in "HW"])] * 3, 2)
    return None


def figure_to_image(figures, close=True):
    """A figure of matplotlib, or a list of them, as an image (3, height, width), or a batch."""
    import matplotlib.backends.backend_agg as agg
    import matplotlib.pyplot as plt

    def drawn(figure):
        canvas = agg.FigureCanvasAgg(figure)
        canvas.draw()
        width, height = figure.canvas.get_width_height()
        image = np.frombuffer(canvas.buffer_rgba(), np.uint8).reshape(height, width, 4)[:, :, :3]
        if close:
            plt.close(figure)
        return np.moveaxis(image, 2, 0)

    return np.stack([drawn(figure) for figure in figures]) if isinstance(figures, list) else drawn(figures)


def video_frames(videos):
    """Videos (count, time, channels, height, width) side by side, as frames (time, height, width, channels)."""
    count, time, channels, height, width = videos.shape
    if videos.dtype == np.uint8:
        videos = np.float32(videos) / 255.0
    if count & (count - 1):
        missing = 2 ** count.bit_length() - count
        videos = np.concatenate((videos, np.zeros((missing, time, channels, height, width))), 0)
    rows = 2 ** ((count.bit_length() - 1) // 2)
    columns = len(videos) // rows
    grid = videos.reshape(rows, columns, time, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    return grid.reshape(time, rows * height, columns * width, channels)
