"""What a sparse tensor has in place of its array: the elements that are given, and the pattern of where they stand.

`rushlight.sparse` has all that works with it.
"""

from __future__ import annotations

from math import prod

from .errors import hinted
from .other_arrays import OtherArray

# Not empty once the room `sparse` is loaded.
SPARSE: list[bool] = []

MOST = (1 << 62) - 1
NOT_DENSE = "operations that take sparse tensors are listed in docs/sparse.md; to_dense() makes an ordinary tensor"


class SparseArray(OtherArray):
    """Elements ``values`` (an array, a row or a block for each place) and their ``pattern`` (`rushlight.sparse.patterns`)."""

    __slots__ = ("pattern", "values")

    def __init__(self, pattern, values):
        self.pattern, self.values = pattern, values

    shape = property(lambda self: self.pattern.shape)
    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: len(self.pattern.shape))
    size = property(
        lambda self: min(prod(self.pattern.shape), MOST)
    )  # in memory there are fewer: kernels are not for these
    itemsize = property(lambda self: self.values.itemsize)
    layout = property(lambda self: self.pattern.layout)

    def copied(self):
        return SparseArray(self.pattern, self.values.copy())

    def refused(self):
        """The error where an operation reads a sparse tensor as if all elements were in memory."""
        return NotImplementedError(
            hinted(f"this operation does not take tensors of the layout {self.layout}", NOT_DENSE)
        )
