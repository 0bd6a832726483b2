"""Layouts of elementwise operations: broadcasting, the result's strides, dimensions collapsed and cut into tiles."""

from __future__ import annotations

import math

import numpy as np

from ...base.arrays import result_order
from ...base.shapes import contiguous_strides
from .programs import DENSE, FIXED, NEAR, REVERSED, SPACED

_KINDS = {0: FIXED, 1: DENSE, -1: REVERSED, **NEAR}  # of strides along the columns
_TILE = 16384  # elements of a tile that goes row by row
_SPACED_ROWS, _SPACED_COLUMNS = 64, 256  # of a tile with gathers: its cache lines stay in the first-level cache
_SHORT, _LONG = 4, 8  # columns that are no row worth a loop, beside so many times as many rows
_CHUNK = 16384  # elements of a chunk, if tiles are smaller
_FARTHEST = 1 << 25  # elements from one to the next in a row: the places that a vector gathers are numbers of 32 bits


class Plan:
    """How operands of certain shapes and strides are computed: see `programs.strided`.

    ``kinds`` choose the program, ``arguments`` are its extents (the layout array first), ``shape`` is the result's, and
    ``order`` of its dimensions in memory, outermost first (None where that is 0, 1, 2, ...); then an array of the ``laid``
    shape, with its axes in the order ``back``, is the result. Where all arrays are the same
    stretch of memory in the same order, the plan is ``flat``: `programs.flat` computes them too.
    """

    __slots__ = ("arguments", "back", "flat", "kinds", "laid", "order", "shape", "size")

    def empty(self, dtype):
        """An array for the result."""
        if self.order is None:
            return np.empty(self.shape, dtype)
        return np.empty(self.laid, dtype).transpose(self.back)

    @property
    def steps(self):
        """The strides, in elements, of such an array."""
        if self.order is None:
            return contiguous_strides(self.shape)
        laid = contiguous_strides(self.laid)
        return tuple([laid[place] for place in self.back])


def _steps(array, shape):
    """The strides of an operand in elements, as broadcast to ``shape``; None where one is no multiple of an element."""
    missing = len(shape) - array.ndim
    found = [0] * missing
    for length, stride in zip(array.shape, array.strides):
        if stride % array.itemsize:
            return None
        found.append(0 if length == 1 else stride // array.itemsize)
    return found


def _collapsed(shape, strides):
    """Dimensions ``(length, strides of all arrays)`` without those of length 1, neighbours merged where all allow it."""
    order = sorted(range(len(shape)), key=lambda axis: -abs(strides[-1][axis]))
    found = []
    for axis in order:
        length, steps = shape[axis], [each[axis] for each in strides]
        if length == 1:
            continue
        if found and all(before == step * length for before, step in zip(found[-1][1], steps)):
            found[-1] = (found[-1][0] * length, steps)
        else:
            found.append((length, steps))
    return found


def _widened(dimensions):
    """The dimensions with the last two exchanged where rows would be short and operands lie side by side along the other."""
    if len(dimensions) > 1:
        *others, (length, steps), (shortest, last) = dimensions
        if shortest <= _SHORT and length >= _LONG * shortest and all(step in (0, 1) for step in steps[:-1]):
            return [*others, (shortest, last), (length, steps)]
    return dimensions


def _rows_of(dimensions, kinds):
    """The dimensions with the best one for rows next to the columns: where spaced operands lie closest together."""
    if SPACED not in kinds[:-1] or len(dimensions) < 3:
        return dimensions
    spaced = kinds.index(SPACED)
    best = min(range(len(dimensions) - 1), key=lambda i: abs(dimensions[i][1][spaced]) or 1 << 62)
    *others, columns = dimensions
    rows = others.pop(best)
    return [*others, rows, columns]


def make(arrays, out=None, casts=()):
    """The Plan for these operands (arrays of one dimension or more, or Layouts with strides) and, if given, the array of the
    result.

    ``casts`` says which operands are converted to another dtype on their way in. None where there is none: no elements, or
    strides that are no whole elements. ValueError for shapes that do not broadcast.
    """
    plan = Plan()
    plan.shape = np.broadcast_shapes(*(a.shape for a in arrays)) if out is None else out.shape
    for array in arrays if out is not None else ():
        if np.broadcast_shapes(array.shape, out.shape) != out.shape:
            raise ValueError(f"an array of shape {array.shape} cannot be broadcast into one of shape {out.shape}")
    plan.size = math.prod(plan.shape)
    if plan.size == 0:
        return None
    plan.order = result_order(arrays, plan.shape, casts) if out is None else None
    if plan.order is not None:
        plan.laid = tuple([plan.shape[axis] for axis in plan.order])
        plan.back = tuple([plan.order.index(axis) for axis in range(len(plan.order))])
    strides = [_steps(a, plan.shape) for a in (arrays if out is None else (*arrays, out))]
    if out is None:
        strides.append([0 if length == 1 else step for length, step in zip(plan.shape, plan.steps)])
    if any(s is None for s in strides):
        return None
    dimensions = _widened(_collapsed(plan.shape, strides)) or [(1, [0] * len(strides))]
    if any(abs(step) > _FARTHEST for step in dimensions[-1][1]):
        return None
    kinds = [_KINDS.get(step, SPACED) for step in dimensions[-1][1]]
    if kinds[-1] == FIXED:
        kinds[-1] = DENSE  # one column
    elif kinds[-1] != DENSE:
        kinds[-1] = SPACED
    plan.flat = len(dimensions) == 1 and all(kind == DENSE for kind in kinds)
    dimensions = _rows_of(dimensions, kinds)
    if len(dimensions) == 1:
        dimensions.insert(0, (1, [0] * len(strides)))
    plan.kinds = tuple(kinds)
    plan.arguments = _extents(dimensions, SPACED in kinds)
    return plan


def _extents(dimensions, spaced):
    *outer, (rows, _), (columns, _) = dimensions
    table = [length for length, _ in outer]
    for k in range(len(dimensions[0][1])):
        table += [steps[k] for _, steps in dimensions]
    if spaced:
        row_block, column_block = min(rows, _SPACED_ROWS), min(columns, _SPACED_COLUMNS)
    else:
        column_block = min(columns, _TILE)
        row_block = max(1, min(rows, _TILE // column_block))
    row_blocks, column_blocks = -(-rows // row_block), -(-columns // column_block)
    tiles = row_blocks * column_blocks * int(np.prod([length for length, _ in outer], dtype=np.int64))
    share = max(1, _CHUNK // (row_block * column_block))
    sizes = (len(outer), rows, columns, row_block, column_block, row_blocks, column_blocks, tiles, share)
    return (np.array(table, np.int64), *sizes)
