"""Running a floating-point NCHW computation on a tensor image of any dtype and of three or more dimensions."""

from __future__ import annotations

from rushlight.base import dtypes
from rushlight.ops.table import functions


def through_float(image, compute, clamp=False):
    """`compute` of `image` as an NxCxHxW batch of floats, back in the image's own dtype (integers are rounded).

    `clamp` cuts results of a uint8 image to 0 ... 255 first, for computations that overshoot.
    """
    batch = image.view(1, *image.shape) if image.ndim == 3 else image
    if image.ndim == 2:
        batch = image.view(1, 1, *image.shape)
    elif image.ndim > 4:
        batch = image.reshape(-1, *image.shape[-3:])
    kept = image.dtype in (dtypes.float32, dtypes.float64)
    result = compute(batch if kept else batch.to(dtypes.float32))
    if clamp and image.dtype is dtypes.uint8:
        result = result.clamp(min=0, max=255)
    if not kept:
        result = (result if image.is_floating_point() else functions.round(result)).to(image.dtype)
    return result.view(*image.shape[:-2], *result.shape[-2:]) if image.ndim != 4 else result


def full_range(dtype):
    """The value of white in images of `dtype`: 1 for floating point, the largest number for integers."""
    if dtype.is_floating_point:
        return 1
    bits = 8 * dtype.itemsize - dtype.is_signed
    return 1 if dtype is dtypes.bool_ else 2**bits - 1
