"""How what is read at positions lies in memory."""

from typing import NamedTuple

import numpy as np

from ..base.arrays import in_memory_order, result_order


class _Steps(NamedTuple):
    """What decides about a layout: an array's lengths and steps."""

    shape: tuple
    strides: tuple


def in_order_of(found, array, indices):
    """``found``, read from ``array`` at ``indices``, laid out as an elementwise operation on both would."""
    if found.ndim < 2 or not found.size:
        return found
    places = [axis for axis, index in enumerate(indices) if index is not None]
    arrays = [index for index in indices if index is not None]
    lengths = np.broadcast_shapes(*[index.shape for index in arrays])
    before = places[0] if places == list(range(places[0], places[-1] + 1)) else 0
    rest = [axis for axis in range(array.ndim) if axis not in places]
    steps = [array.strides[axis] for axis in rest]
    zeros = (0,) * len(lengths)
    source = _Steps(found.shape, (*steps[:before], *zeros, *steps[before:]))
    spread = [np.broadcast_to(index, lengths).strides for index in arrays]
    after = (0,) * (len(rest) - before)
    others = [_Steps(found.shape, (0,) * before + each + after) for each in spread]
    return in_memory_order(found, result_order([source, *others], found.shape))
