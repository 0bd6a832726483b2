"""What a sparse tensor has in place of its array: the elements that are given, and the pattern of where they stand.

It is no NumPy array, and NumPy is refused: whatever was not written for sparse tensors fails, and never reads one as if its
elements were all there. `rushlight.sparse` has all that works with it.
"""

from __future__ import annotations

from math import prod

from .errors import hinted

# Not empty once the room `sparse` is loaded: all that the waist tests.
SPARSE: list[bool] = []

MOST = (1 << 62) - 1
NOT_DENSE = "operations that take sparse tensors are listed in docs/sparse.md; to_dense() makes an ordinary tensor"


class SparseArray:
    """Elements ``values`` (an array, a row or a block for each place) and their ``pattern`` (`rushlight.sparse.patterns`)."""

    __slots__ = ("pattern", "values")
    strides = float("nan")  # equal to no strides, its own neither: whoever compares layouts finds another one
    base = None
    __array_ufunc__ = None

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

    def __array__(self, dtype=None, copy=None):
        raise refused_as_dense(self)

    def __array_function__(self, function, types, args, kwargs):
        raise refused_as_dense(self)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise refused_as_dense(self)


def refused_as_dense(array):
    """The error where an operation reads a sparse tensor as if all elements were in memory."""
    return NotImplementedError(hinted(f"this operation does not take tensors of the layout {array.layout}", NOT_DENSE))
