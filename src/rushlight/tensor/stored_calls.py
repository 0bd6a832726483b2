"""Calls with tensors of float8 or complex32 (`base.stored`): elements move as words; what PyTorch computes is computed wider."""

from __future__ import annotations

import numpy as np

from ..base import dtypes
from ..base.errors import hinted
from ..base.stored import STORED, narrowed, widened, words
from ..ops import table
from ..ops.stored_kernels import COMPUTED, KERNELS, MOVED, OWN
from .base import wrap


def is_stored(value):
    """Whether a value is a tensor of float8 or complex32, or a list that holds one."""
    if value.__class__ is list:
        return any(map(is_stored, value))
    array = getattr(value, "_array", None)
    return array is not None and array.dtype in STORED


def on_stored(op, values, again):
    """The arrays that an operation gives for values with such tensors among them; ``again`` computes it for other values."""
    name, dtype = op.name, _dtype_of(values)
    if op.kind == table.VIEW or name in OWN:
        return again(values)
    if name in MOVED:
        return _moved(values, dtype, again)
    if name in COMPUTED[dtype.name]:
        return _narrow(again([_each(value, widened) for value in values]), dtype)
    kernel = KERNELS.get(name, op.kernel)
    kernel = kernel if kernel.__class__ is str else kernel(*[getattr(value, "_array", value) for value in values])
    raise NotImplementedError(
        hinted(
            f"\"{kernel}\" not implemented for '{dtype.legacy_name}'",
            f"{dtype!r} is stored and moved, not computed with: convert it with .to({_wide(dtype)!r})",
        )
    )


def _wide(dtype):
    return dtypes.complex64 if dtype is dtypes.complex32 else dtypes.float32


def _dtype_of(values):
    """The dtype of the first such tensor among the values."""
    for value in values:
        if is_stored(value):
            return _dtype_of(value) if value.__class__ is list else value.dtype
    raise ValueError("no value is stored")


def _each(value, function):
    """The value with ``function`` of its array in place of that, where it is a tensor of a stored dtype, or a list of them."""
    if value.__class__ is list:
        return [_each(item, function) for item in value]
    return wrap(function(value._array)) if is_stored(value) else value


def _moved(values, dtype, again):
    """What an operation that only moves elements gives: it moves words of their size."""
    goal = dtype.numpy
    found = again([_each(value, words) for value in values])
    if found.__class__ is tuple:
        return tuple([array.view(goal) for array in found])
    return found.view(goal) if found.__class__ is np.ndarray else found


def _narrow(found, dtype):
    """Results that were computed wider, in the dtype that they have: rounded once."""
    if found.__class__ is tuple:
        return tuple([_narrow(array, dtype) for array in found])
    wide = _wide(dtype)
    if found.dtype == wide.numpy:
        return narrowed(found, dtype.numpy)
    return found.astype(np.float16) if dtype is dtypes.complex32 and found.dtype == np.float32 else found
