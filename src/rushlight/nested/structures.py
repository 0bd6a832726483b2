"""Where the elements of the batch stand in the packed values of a jagged tensor: offsets, lengths, and which dimension is ragged."""

from __future__ import annotations

import numpy as np

from ..tensor.base import wrap
from .nested_int import length_of


class Jagged:
    """Element ``i`` of the batch lies from ``offsets[i]`` on along dimension ``ragged - 1`` of the values.

    It ends at ``offsets[i + 1]``, or, where ``lengths`` (a tensor; None else) are given, after so many. ``extremes`` holds the
    least and the largest length once they are known ("min", "max"); tensors with the same offsets share it.
    """

    __slots__ = ("extremes", "lengths", "offsets", "ragged")

    def __init__(self, offsets, lengths=None, ragged=1, extremes=None):
        self.offsets, self.lengths, self.ragged = offsets, lengths, ragged
        self.extremes = {} if extremes is None else extremes

    batch = property(lambda self: self.offsets._array.shape[0] - 1)
    is_contiguous = property(lambda self: self.lengths is None and self.ragged == 1)

    @property
    def length(self):
        """The symbol in the place of the ragged dimension's length."""
        return length_of(self.offsets if self.lengths is None else self.lengths)

    def shape_of(self, values_shape):
        """The shape of a tensor with values of this shape."""
        inside = self.ragged - 1
        return (self.batch, *values_shape[:inside], self.length, *values_shape[inside + 1 :])

    def at(self, ragged):
        """The same with another ragged dimension."""
        return self if ragged == self.ragged else Jagged(self.offsets, self.lengths, ragged, self.extremes)

    def starts(self):
        """Where each element of the batch begins, as an array."""
        return self.offsets._array[:-1]

    def counts(self):
        """The length of each element of the batch, as an array."""
        return np.diff(self.offsets._array) if self.lengths is None else self.lengths._array

    def extreme(self, which):
        """The least ("min") or the largest ("max") length; found out once."""
        if which not in self.extremes:
            counts = self.counts()
            self.extremes[which] = int(counts.min() if which == "min" else counts.max())
        return self.extremes[which]

    def places(self):
        """For each position that belongs to an element of the batch: (its element, its place there, its place in the values)."""
        counts = self.counts().astype(np.int64, copy=False)
        firsts = np.cumsum(counts) - counts
        elements = np.repeat(np.arange(len(counts)), counts)
        inside = np.arange(len(elements)) - np.repeat(firsts, counts)
        return elements, inside, inside if len(counts) == 0 else inside + np.repeat(self.starts(), counts)

    def positions(self, total):
        """Index arrays ``(element, place there)`` for the ``total`` positions of values, those of no element left out."""
        elements, inside, packed = self.places()
        return elements, inside, None if self.lengths is None and len(packed) == total else packed


def structure_of(lengths, ragged=1):
    """The structure of elements with these lengths, a list, one after the other."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    extremes = {"min": min(lengths), "max": max(lengths)} if lengths else None
    return Jagged(wrap(offsets), None, ragged, extremes)
