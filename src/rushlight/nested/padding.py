"""Between packed values and rectangles: operations on arrays that derivatives of any order follow."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..ops.table import Op
from ..tensor.layout_calls import recorded


class NestedOp(Op):
    """A record whose forward takes the arrays of nested tensors, too: the plugs of nested tensors let it pass."""


record = partial(recorded, NestedOp)


@record(
    "jagged_to_padded(Tensor values, any structure, any padding, int length) -> Tensor", node="ToPaddedTensorBackward0"
)
class padded_from:
    """The rectangle (batch, ..., length, ...) of packed values, ``padding`` where an element ends before ``length``.

    What lies beyond ``length`` is left out.
    """

    def forward(values, structure, padding, length):
        inside = structure.ragged - 1
        rows = np.moveaxis(values, inside, 0)
        made = np.full((structure.batch, length, *rows.shape[1:]), padding, values.dtype)
        elements, places, packed = structure.positions(rows.shape[0])
        rows = rows if packed is None else rows[packed]
        if len(places) and places.max() >= length:
            there = places < length
            elements, places, rows = elements[there], places[there], rows[there]
        made[elements, places] = rows
        return np.moveaxis(made, 1, structure.ragged)

    def d_values(grad, structure, values_shape):
        return packed_from(grad, structure, values_shape[structure.ragged - 1])


@record("padded_to_jagged(Tensor padded, any structure, int total) -> Tensor", node="NestedFromPaddedTensorBackward0")
class packed_from:
    """The packed values, ``total`` positions of them, of a rectangle (batch, ..., length, ...); 0 where it has no such position."""

    def forward(padded, structure, total):
        rows = np.moveaxis(padded, structure.ragged, 1)
        elements, places, packed = structure.positions(total)
        if packed is None and (not len(places) or places.max() < rows.shape[1]):
            return np.moveaxis(rows[elements, places], 0, structure.ragged - 1)
        there = places < rows.shape[1]
        found = np.zeros((total, *rows.shape[2:]), padded.dtype)
        found[(np.arange(total) if packed is None else packed)[there]] = rows[elements[there], places[there]]
        return np.moveaxis(found, 0, structure.ragged - 1)

    def d_padded(grad, structure, padded_shape):
        return padded_from(grad, structure, 0, padded_shape[structure.ragged])
