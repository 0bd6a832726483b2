"""How what is read at positions lies in memory."""

from typing import NamedTuple

import numpy as np

from ..base.arrays import in_result_order


class _Steps(NamedTuple):
    """What decides about a layout: an array's lengths and steps."""

    ndim: int
    shape: tuple
    strides: tuple
    itemsize: int


def in_order_of(found, array, indices):
    """``found``, read from ``array`` at ``indices``, laid out as an elementwise operation on both would."""
    places = [axis for axis, index in enumerate(indices) if index is not None]
    arrays = [index for index in indices if index is not None]
    lengths = np.broadcast_shapes(*[index.shape for index in arrays])
    before = places[0] if places == list(range(places[0], places[-1] + 1)) else 0
    rest = [axis for axis in range(array.ndim) if axis not in places]
    steps = [array.strides[axis] for axis in rest]
    zeros = (0,) * len(lengths)
    source = _Steps(found.ndim, found.shape, (*steps[:before], *zeros, *steps[before:]), array.itemsize)
    spread = [np.broadcast_to(index, lengths).strides for index in arrays]
    after = (0,) * (len(rest) - before)
    others = [_Steps(found.ndim, found.shape, ((0,) * before + each + after), 8) for each in spread]
    return in_result_order(found, [source, *others])
