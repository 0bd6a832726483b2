"""Layouts: how an array's elements lie, without the array. What plans are made from."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...base.arrays import is_channels_last
from ..language.value_types import NUMPY, computed_in, scalar_of
from ..machine.host import lanes

FLOATS = frozenset(("f16", "bf16", "f32", "f64"))


class Layout(NamedTuple):
    """Shape, dtype and strides (in bytes) of an array that is aligned: no program reads others.

    ``strides`` is None where the elements lie row by row without gaps: such an array is plain.
    """

    shape: tuple
    dtype: np.dtype
    strides: tuple | None = None

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def scalar(self):
        """The scalar of the elements; None where programs know none."""
        return scalar_of(self.dtype) if self.dtype.isnative else None

    @property
    def is_plain(self):
        return self.strides is None

    @property
    def is_deep(self):
        """Whether these are images without gaps whose channels, the second dimension, lie side by side, as in channels_last."""
        array = self.spread()
        extent = sum([(length - 1) * step for length, step in zip(self.shape, array.strides)])
        return is_channels_last(array) and extent == (self.size - 1) * self.dtype.itemsize

    @property
    def steps(self):
        """How many elements lie between neighbours in each dimension; None where some are no whole numbers of them."""
        if self.strides is None:
            found, step = [], 1
            for length in reversed(self.shape):
                found.append(step)
                step *= length
            return tuple(reversed(found))
        if any(stride % self.dtype.itemsize for stride in self.strides):
            return None
        return tuple([stride // self.dtype.itemsize for stride in self.strides])

    def _strides(self):
        return self.strides or tuple([step * self.dtype.itemsize for step in self.steps])

    def plain(self):
        """The Layout of a plain copy."""
        return Layout(self.shape, self.dtype)

    def dense(self):
        """The Layout of a copy without gaps whose dimensions lie in the same order in memory."""
        if self.strides is None:
            return self
        order = sorted(range(self.ndim), key=lambda axis: -abs(self.strides[axis]))
        return strided(*laid(self.shape, self.dtype, order))

    def of(self, dtype):
        """The Layout, which has no gaps, of a copy in another dtype."""
        if self.strides is None:
            return Layout(self.shape, dtype)
        return Layout(self.shape, dtype, tuple([step * dtype.itemsize for step in self.steps]))

    def spread(self):
        """The Layout with its strides said, also where they are those of a plain array."""
        return Layout(self.shape, self.dtype, self._strides())

    def broadcast(self, shape):
        """The Layout of the array broadcast to a shape."""
        if shape == self.shape:
            return self
        own = (1,) * (len(shape) - self.ndim) + self.shape
        steps = (0,) * (len(shape) - self.ndim) + self.steps
        strides = [
            0 if given != length else step * self.dtype.itemsize for given, length, step in zip(own, shape, steps)
        ]
        return strided(shape, self.dtype, tuple(strides))

    def turned(self, order):
        """The Layout of the array with its dimensions in another order."""
        strides = self._strides()
        return strided(
            tuple([self.shape[axis] for axis in order]), self.dtype, tuple([strides[axis] for axis in order])
        )


def strided(shape, dtype, strides):
    """The Layout of an array with such strides."""
    step = dtype.itemsize
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != step:
            return Layout(shape, dtype, strides)
        step *= length
    return Layout(shape, dtype)


def laid(shape, dtype, order):
    """The Layout of an array without gaps whose dimensions lie in this order in memory, the outermost first; its strides are
    said also where it is plain."""
    strides, step = [0] * len(shape), dtype.itemsize
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return Layout(tuple(shape), dtype, tuple(strides))


def deep(shape, dtype):
    """The Layout of images whose channels lie side by side."""
    return laid(shape, dtype, (0, *range(2, len(shape)), 1))


# Annotates an array's parameter: its Layout says its strides also where it is plain, those of dimensions of length 1 as they
# are, which results that lie as it does show.
Spread = Layout
Layouts = tuple  # annotates a parameter that is a list of arrays: the plan is given the Layout of each, None for None


def lanes_for(scalar):
    """How many elements of a type a vector of this machine computes at once."""
    return lanes(NUMPY[computed_in(scalar)].itemsize)


def copies(**layouts):
    """For a Plan's ``copied``: the operands that are not plain."""
    return {name: None for name, layout in layouts.items() if not layout.is_plain}


def plain_copies(dtype, **layouts):
    """For a Plan's ``copied``: the operands that are not plain, or of another dtype than this one, with their strides said."""
    return {
        name: dtype for name, each in layouts.items() if each.dtype != dtype or not strided(*each.spread()).is_plain
    }


def is_plain(array):
    """Whether a kernel may walk through an array as its elements lie in memory."""
    flags = array.flags
    return flags.c_contiguous and flags.aligned


def layout_of(array):
    """The Layout of an aligned array."""
    if is_plain(array):
        return Layout(array.shape, array.dtype)
    return Layout(array.shape, array.dtype, array.strides)
