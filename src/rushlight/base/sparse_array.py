"""What a sparse tensor has in place of its array: the elements that are given, and the pattern of where they stand.

`rushlight.sparse` has all that works with it.
"""

from __future__ import annotations

from math import prod

from .layouts import PartedArray

# Not empty once the room `sparse` is loaded: all that optimizers test.
SPARSE: list[bool] = []

MOST = (1 << 62) - 1
NOT_DENSE = "operations that take sparse tensors are listed in docs/sparse.md; to_dense() makes an ordinary tensor"


class SparseArray(PartedArray):
    """Elements ``values`` (an array, a row or a block for each place) and their ``pattern`` (`rushlight.sparse.patterns`)."""

    __slots__ = ("pattern",)
    hint = NOT_DENSE

    def __init__(self, pattern, values):
        self.pattern, self.values = pattern, values

    shape = property(lambda self: self.pattern.shape)
    ndim = property(lambda self: len(self.pattern.shape))
    size = property(
        lambda self: min(prod(self.pattern.shape), MOST)
    )  # in memory there are fewer: kernels are not for these
    layout = property(lambda self: self.pattern.layout)
