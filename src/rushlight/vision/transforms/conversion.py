"""From one form of an image, or range of its values, to another: ``to_tensor``, ``to_pil_image`` and their kin."""

from __future__ import annotations

import numpy as np

from rushlight.base import dtypes
from rushlight.base.errors import hinted
from rushlight.ops.table import functions

from ..images import is_pillow, is_tensor, pillow
from .tensor_casting import full_range

# The NumPy dtype of Pillow's modes with more than eight bits a channel.
DEEP_MODES = {"I": np.int32, "I;16": np.int16, "F": np.float32}


def to_tensor(pic):
    """A PIL image or an HxW or HxWxC array as a CxHxW tensor.

    8-bit images (modes L, LA, P, RGB, RGBA, YCbCr, CMYK, 1; uint8 arrays) become floats of the default dtype between 0
    and 1; other modes and dtypes keep theirs and their values. Raises ``TypeError`` for anything else.

    >>> import numpy
    >>> from rushlight.vision.transforms import functional
    >>> functional.to_tensor(numpy.array([[0, 51, 255]], dtype=numpy.uint8))
    tensor([[[0.0000, 0.2000, 1.0000]]])
    """
    if isinstance(pic, np.ndarray):
        if pic.ndim not in (2, 3):
            raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    elif not is_pillow(pic):
        raise TypeError(f"pic should be PIL Image or ndarray. Got {type(pic)}")
    elif pic.mode == "1":
        pic = 255 * np.array(pic, np.uint8)
    else:
        pic = np.array(pic, DEEP_MODES.get(pic.mode, np.uint8), copy=True)
    pixels = pic[None] if pic.ndim == 2 else pic.transpose(2, 0, 1)
    return unit_range(pixels) if pic.dtype == np.uint8 else functions.from_numpy(np.ascontiguousarray(pixels))


def unit_range(pixels):
    """The tensor of a uint8 array, divided by 255 in the default dtype."""
    dtype = dtypes.get_default_dtype()
    if dtype not in (dtypes.float32, dtypes.float64):
        return functions.from_numpy(np.ascontiguousarray(pixels)).to(dtype).div(255)
    result = np.empty(pixels.shape, dtype.numpy)
    np.copyto(result, pixels)
    result /= 255  # IEEE division, as Tensor.div(255) does: multiplying by 1/255 would differ in the last bit
    return functions.from_numpy(result)


def pil_to_tensor(pic):
    """A PIL image as a CxHxW tensor with the same values and dtype (uint8 for 8-bit modes)."""
    if not is_pillow(pic):
        raise TypeError(f"pic should be PIL Image. Got {type(pic)}")
    pixels = np.array(pic, copy=True)
    return functions.from_numpy(pixels.reshape(pic.height, pic.width, len(pic.getbands()))).permute(2, 0, 1)


def convert_image_dtype(image, dtype=dtypes.float32):
    """A tensor image as `dtype`, its values moved to that dtype's range: 0 ... 1 or 0 ... the largest integer.

    Raises ``RuntimeError`` where floats are too coarse for the integers (float32 to int32 or int64, float64 to int64).

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.convert_image_dtype(torch.tensor([0.0, 0.5, 1.0]), torch.uint8)
    tensor([  0, 127, 255], dtype=torch.uint8)
    """
    if image.dtype is dtype:
        return image
    coarse = (dtypes.float32, dtypes.int32), (dtypes.float32, dtypes.int64), (dtypes.float64, dtypes.int64)
    if image.is_floating_point():
        if dtype.is_floating_point:
            return image.to(dtype)
        if (image.dtype, dtype) in coarse:
            raise RuntimeError(f"The cast from {image.dtype} to {dtype} cannot be performed safely.")
        return image.mul(full_range(dtype) + 1.0 - 1e-3).to(dtype)
    old, new = full_range(image.dtype), full_range(dtype)
    if dtype.is_floating_point:
        return image.to(dtype) / old
    if old > new:
        return functions.div(image, (old + 1) // (new + 1), rounding_mode="floor").to(dtype)
    return image.to(dtype) * ((new + 1) // (old + 1))


def normalize(tensor, mean, std, inplace=False):
    """``(tensor - mean) / std`` channel by channel, for a float image (..., C, H, W).

    Raises ``TypeError`` for integers, ``ValueError`` for fewer than three dimensions or a zero in `std`.

    >>> import rushlight as torch
    >>> from rushlight.vision.transforms import functional
    >>> functional.normalize(torch.ones(1, 1, 2), [0.5], [0.25])
    tensor([[[2., 2.]]])
    """
    if not is_tensor(tensor):
        raise TypeError(f"img should be Tensor Image. Got {type(tensor)}")
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
        )
    center, spread = (per_channel(values, tensor.dtype) for values in (mean, std))
    if (spread == 0).any():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    return (tensor if inplace else tensor.clone()).sub_(center).div_(spread)


def per_channel(values, dtype):
    """A number, a list of one number a channel or a tensor of them, shaped to broadcast over CxHxW."""
    values = values if is_tensor(values) else functions.from_numpy(np.asarray(values, np.float64))
    values = values.to(dtype)
    return values.view(-1, 1, 1) if values.ndim == 1 else values


def to_pil_image(pic, mode=None):
    """A CxHxW or HxW tensor, or an HxW or HxWxC array, as a PIL image; float tensors are taken to be between 0 and 1.

    `mode` is Pillow's name of the colour space; None chooses by dtype and channels (L, I;16, I, F; LA; RGB; RGBA).
    Raises ``TypeError`` or ``ValueError`` for dtypes, shapes and modes that do not fit.
    """
    if not (is_tensor(pic) or isinstance(pic, np.ndarray)):
        raise TypeError(f"pic should be Tensor or ndarray. Got {type(pic)}.")
    if pic.ndim not in (2, 3):
        raise ValueError(f"pic should be 2/3 dimensional. Got {pic.ndim} dimensions.")
    pixels = tensor_to_array(pic, mode) if is_tensor(pic) else pic
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    channels = pixels.shape[2]
    if channels > 4:
        raise ValueError(f"pic should not have > 4 channels. Got {channels} channels.")
    mode = checked_mode(channels, pixels.dtype, mode)
    if pixels.dtype == np.int16:
        pixels = pixels.view(np.uint16)  # mode I;16 is unsigned
    fromarray = pillow("to_pil_image").fromarray
    return fromarray(pixels[:, :, 0]) if channels == 1 else fromarray(pixels, mode=mode)


def tensor_to_array(tensor, mode):
    """The HxW or HxWxC array of a tensor image; floats become bytes unless Pillow is to keep them (mode F)."""
    if tensor.is_floating_point() and mode != "F":
        tensor = tensor.mul(255).byte()
    pixels = tensor.detach().cpu().numpy()
    return np.ascontiguousarray(pixels.transpose(1, 2, 0)) if pixels.ndim == 3 else pixels


def checked_mode(channels, dtype, mode):
    """Pillow's mode for `channels` of NumPy `dtype`, which `mode`, if given, has to fit."""
    if channels == 1:
        expected = {"uint8": "L", "int16": "I;16", "uint16": "I;16", "int32": "I", "float32": "F"}.get(dtype.name)
        if mode is not None and mode != expected:
            raise ValueError(f"Incorrect mode ({mode}) supplied for input type {dtype.type}. Should be {expected}")
        mode = expected
    else:
        permitted = {2: ["LA"], 3: ["RGB", "YCbCr", "HSV"], 4: ["RGBA", "CMYK", "RGBX"]}[channels]
        if mode is not None and mode not in permitted:
            raise ValueError(f"Only modes {permitted} are supported for {channels}D inputs")
        if dtype == np.uint8:
            mode = mode or permitted[0]
        else:
            mode = None
    if mode is None:
        raise TypeError(
            hinted(
                f"Input type {dtype} is not supported",
                "Pillow holds uint8 images, and int16, int32 or float32 ones of a single channel",
            )
        )
    return mode


to_tensor.on_arrays = "tensor"  # type: ignore[attr-defined]
