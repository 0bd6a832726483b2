"""New memory that holds nothing in particular, filled all the same while `use_deterministic_algorithms` is on."""

from __future__ import annotations

import numpy as np

from .dtypes import from_numpy

# Not empty while such memory is filled: all that making a tensor asks.
FILLING: list[bool] = []


def fill_new(array):
    """Write what shows that nobody has written yet: NaN, the largest integer, True."""
    dtype = from_numpy(array.dtype)
    if dtype.is_floating_point or dtype.is_complex:
        array[...] = np.nan
    elif array.dtype.kind == "b":
        array[...] = True
    else:
        array[...] = np.iinfo(array.dtype).max
