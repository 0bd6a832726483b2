"""The short path of elementwise operations on half precision: kernels take arrays from some hundred elements on as they are.

What they decline, and smaller arrays, which NumPy has to convert, go the general way.
"""

from __future__ import annotations

import numpy as np

from ..autograd.modes import PLAIN, state
from ..base.lazy import LazyDtype
from ..base.scalars import number_array
from ..kernels.elementwise import HALVES
from ..kernels.routing import route_elementwise, run_elementwise
from ..ops import table
from .base import wrap
from .classes import PLAIN_CLASSES
from .compute import default_rule, schema_of
from .elementwise import broadcast_size

KINDS = {"float16": "f", "bfloat16": "V"}  # NumPy's letters
MOST = 60000  # numbers up to it have a place in both
_RULES = (table.PROMOTE, table.FLOAT, table.COMPARE)


def _declined(*values):
    return NotImplemented


def _taken(op, count):
    """The letters of the dtypes that the operation takes, and the function of its ``count`` operands: NotImplemented without
    a kernel."""
    letters = frozenset(letter for name, letter in KINDS.items() if name not in op.refuse)
    options = tuple(a.default for a in schema_of(op).arguments[count:])
    return letters, route_elementwise(op, _declined, count, options)[1]


def unary(op, slow, tracked):
    """The function of one tensor that is of no other short path; ``tracked`` makes its node."""
    if default_rule(op) not in _RULES or op.patterns is not None:
        return slow
    taken, large = _taken(op, 1)

    def call(input):
        array, edge = input._array, input._edge
        dtype = array.dtype
        if dtype.itemsize != 2 or dtype.kind not in taken or array.size < HALVES or dtype.__class__ is LazyDtype:
            return slow(input)
        if edge is not None and op.differentiable and state.recording:
            if tracked is None or state.recording != PLAIN:
                return slow(input)
            edge = edge if edge.__class__ is tuple else edge.resolve(input)
        else:
            edge = None
        found = large(array)
        if found is NotImplemented:
            return slow(input)
        result = wrap(found)
        if edge is not None:
            result._edge = tracked(input, result, edge), 0
        return result

    return call


def binary(op, slow, recorders):
    """The function of two operands, the first a tensor, that are of no other short path; ``recorders`` make their nodes."""
    rule = default_rule(op)
    if rule not in _RULES or op.patterns is not None or (op.check is not None and op.ufunc is None):
        return slow
    taken, large = _taken(op, 2)
    pair, number = recorders if op.differentiable and rule != table.COMPARE else (None, None)
    takes_numbers = op.with_number is None and schema_of(op).arguments[1].type == "Operand"
    # Where a number is not rounded to half precision, the computation is float32's.
    number_dtype = np.dtype(np.float32) if op.wide_numbers else None
    options = tuple(a.default for a in schema_of(op).arguments[2:])

    def call(input, other):
        x, kind, other_edge = input._array, other.__class__, None
        dtype, size, record = x.dtype, x.size, number
        if dtype.itemsize != 2 or dtype.kind not in taken or dtype.__class__ is LazyDtype:
            return slow(input, other)
        if kind in PLAIN_CLASSES:
            y, other_edge, record = other._array, other._edge, pair
            if y.dtype is not dtype or (op.with_number is not None and not y.ndim):
                return slow(input, other)
            if y.shape != x.shape:
                try:
                    size = broadcast_size(x, y)
                except ValueError:
                    return slow(input, other)
        elif takes_numbers and (kind is float or kind is int) and -MOST < other < MOST:
            y = number_array(number_dtype or dtype, other)
        else:
            return slow(input, other)
        recording = (input._edge is not None or other_edge is not None) and op.differentiable and state.recording
        if size < HALVES or (recording and (recording != PLAIN or record is None)):
            return slow(input, other)
        if number_dtype is None or kind in PLAIN_CLASSES:
            found = large(x, y)
        else:
            found = run_elementwise(
                op, (x, y), options, number_dtype, dtype if op.dtype_rule != table.COMPARE else None
            )
        if found is NotImplemented:
            return slow(input, other)
        result = wrap(found)
        if recording:
            record(result, input, other, input._edge, other_edge)
        return result

    return call


def fused(op, slow, count):
    """The function of a formula's operands that are of no other short path, where nothing is recorded."""
    taken, large = _taken(op, count)

    def call(*values):
        dtype, arrays = values[0]._array.dtype, []
        if state.recording or dtype.itemsize != 2 or dtype.kind not in taken or values[0]._array.size < HALVES:
            return slow(*values)
        if dtype.__class__ is LazyDtype:
            return slow(*values)
        for value in values:
            if value.__class__ in PLAIN_CLASSES:
                if value._array.dtype is not dtype:
                    return slow(*values)
                value = value._array
            elif len(arrays) < count and value is not None:
                return slow(*values)
            arrays.append(value)
        found = large(*arrays)
        return slow(*values) if found is NotImplemented else wrap(found)

    return call
