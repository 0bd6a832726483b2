"""What kernels without plans do about arrays' layouts: which they take, copies row by row."""

from __future__ import annotations

import numpy as np

from ..language.value_types import scalar_of
from .calls import copy


def is_plain(*arrays):
    """Whether all are C-contiguous, aligned arrays of one native floating type, single or double, with elements."""
    kind = arrays[0].dtype
    fits = scalar_of(kind) in ("f32", "f64") and kind.isnative
    return fits and all(a.dtype == kind and a.size and a.flags.c_contiguous and a.flags.aligned for a in arrays)


def plain(array, dtype=None):
    """The array if it is C-contiguous, aligned and of the dtype, else such a copy."""
    dtype = dtype or array.dtype
    if array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned:
        return array
    return copied(array, np.empty(array.shape, dtype))


def copied(source, target):
    """``target``, with the numbers of ``source``."""
    if copy(source, out=target) is NotImplemented:
        target[...] = source
    return target
