"""How random numbers reach an output array: PyTorch's order of elements, and its conversions between types."""

from __future__ import annotations

import numpy as np

from ..base.arrays import count_nonzero
from ..base.dtypes import from_numpy
from ..base.errors import hinted
from ..base.scalars import name_of

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
_NARROW_FLOATS = ("float16", "bfloat16")


def unsupported(kernel, dtype):
    """PyTorch's error for a kernel that does not exist for an element type."""
    return NotImplementedError(
        hinted(
            f"\"{kernel}\" not implemented for '{from_numpy(dtype).legacy_name}'",
            f"draw into another dtype and convert; this tensor is {from_numpy(dtype)}",
        )
    )


def is_narrow_float(dtype):
    """Whether ``dtype`` is float16 or bfloat16."""
    return name_of(dtype) in _NARROW_FLOATS


def is_float(dtype):
    """Whether ``dtype`` is a real floating type: float16, bfloat16, float32 or float64."""
    return (dtype.kind == "f" and dtype.itemsize > 1) or name_of(dtype) == "bfloat16"


def holds_all(mask):
    """Whether all of a mask is true: quicker than ``all()`` for a few elements."""
    return count_nonzero(mask) == mask.size


def memory_order(out, *operands):
    """``out``, axes sorted so that row-by-row iteration walks its memory upwards: the order in which PyTorch fills it.

    ``operands``, arrays of the same shape, are turned the same way; a tuple comes back where there are any.
    """
    if not out.flags.c_contiguous:
        strides, shape = out.strides, out.shape
        if any(stride == 0 and length > 1 for stride, length in zip(strides, shape)):
            raise RuntimeError(
                hinted(
                    "unsupported operation: more than one element of the written-to tensor refers to a single memory "
                    "location. Please clone() the tensor before performing the operation.",
                    "an expanded tensor has one number in many places: .clone() or .contiguous() gives each its own",
                )
            )
        axes = sorted(range(out.ndim), key=lambda axis: -strides[axis])
        out = out.transpose(axes)
        operands = tuple(operand.transpose(axes) for operand in operands)
    return (out, *operands) if operands else out


def store(out, values, bounded=False):
    """Write the flat array ``values`` into ``out`` in PyTorch's order, converted to its type; return ``out``.

    ``bounded`` promises that no value is too large for the type, which saves the guard against NumPy's warnings.
    """
    target = memory_order(out)
    if bounded:
        target[...] = values.reshape(target.shape)
        return out
    with np.errstate(over="ignore", invalid="ignore"):
        if values.dtype == FLOAT64 and is_narrow_float(out.dtype):
            values = values.astype(FLOAT32)  # as C++ does: c10::Half is made from a float
        np.copyto(target, values.reshape(target.shape), casting="unsafe")
    return out


def store_truncated(out, values):
    """``store`` for integer outputs, with the x86 conversion: too large a float64 becomes the lowest integer.

    PyTorch converts by way of int32 for types up to 32 bits and keeps the low bits.
    """
    if out.dtype.kind in "iu":
        bits = 64 if out.dtype.itemsize == 8 else 32
        limit = 2.0 ** (bits - 1)
        values = np.where(values < limit, values, -limit).astype(f"i{bits // 8}")
    return store(out, values)


def real_parts(out):
    """A complex array as a real view with a last axis of two, where PyTorch draws both parts; real arrays unchanged."""
    if out.dtype.kind == "W":  # complex32
        return out[..., None].view(np.float16)
    if out.dtype.kind != "c":
        return out
    real = out.real
    return np.lib.stride_tricks.as_strided(real, real.shape + (2,), real.strides + (real.itemsize,))
