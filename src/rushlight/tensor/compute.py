"""What an operation gives for bound values: arrays, by NumPy or by a generated kernel."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..base import dtypes
from ..base.dtypes import STORED
from ..base.lazy import LAZY
from ..base.limits import refusal_of
from ..kernels.routing import NEVER, elements_of, kernel_of
from ..ops import table
from ..ops.schema import Schema
from .base import quiet
from .classes import PLAIN_CLASSES
from .elementwise import elementwise_result
from .lazy_calls import holds_meta, is_lazy, meta_calls, resolved, view_of, written
from .stored_calls import is_stored, on_stored

ndarray = np.ndarray
ELEMENTWISE_KINDS = frozenset((table.UNARY, table.BINARY, table.ELEMENTWISE, table.FUSED))


def schema_of(op):
    """The parsed schema of an operation, made on first use."""
    parsed = op.__dict__.get("parsed")
    if parsed is None:
        parsed = op.parsed = Schema(op.schema)
    return parsed


def default_rule(op):
    """The dtype rule of an elementwise operation when it is called with its operands alone."""
    return op.rule_for(**{a.name: a.default for a in schema_of(op).arguments if not a.is_tensor})


def compute(op, schema, values):
    """The array, or tuple of arrays, that an operation gives for bound values; with float warnings off."""
    if LAZY and any(map(is_lazy, values)):
        if any(map(holds_meta, values)):
            return meta_calls().on_meta(op, schema, values)
        again = partial(compute, op, schema)
        if op.kind == table.VIEW:
            return view_of(op, values, again)
        if op.kind == table.INPLACE and is_lazy(values[0]):
            return written(values, again)
        values = list(map(resolved, values))
    if STORED and any(map(is_stored, values)):
        return on_stored(op, schema, values, partial(_computed, op, schema))
    return _computed(op, schema, values)


def _computed(op, schema, values):
    """`compute` for tensors of every dtype but those that are only stored, and for what does with them as it does with others."""
    if op.kind in ELEMENTWISE_KINDS:
        try:
            return quiet().run(elementwise_result, op, schema, values)
        except (MemoryError, ValueError, OverflowError) as error:
            raise refusal_of(error) from None
    arrays, large = values.copy(), False
    elements = elements_of(op.name)
    for position in schema.tensor_positions:
        value = arrays[position]
        if value.__class__ in PLAIN_CLASSES or hasattr(value, "_edge"):
            array = arrays[position] = value._array
            if array.size >= elements:
                large = True
        elif value.__class__ is list:
            listed = arrays[position] = [None if t is None else t._array for t in value]
            if elements is not NEVER and any(array is not None and array.size >= elements for array in listed):
                large = True
    for position in schema.untyped_positions:
        if hasattr(arrays[position], "_edge"):
            arrays[position] = arrays[position]._array
    if op.refuse:
        refuse_dtypes(op, arrays)
    try:
        found = kernel_of(op.name)(*arrays) if large else NotImplemented
        return quiet().run(op.forward, *arrays) if found is NotImplemented else found
    except (MemoryError, ValueError, OverflowError) as error:
        raise refusal_of(error) from None


def refuse_dtypes(op, arrays):
    """PyTorch's error for a dtype that its kernel does not have."""
    for array in arrays:
        if array.__class__ is ndarray:
            dtype = dtypes.from_numpy(array.dtype)
            if dtype.name in op.refuse:
                kernel = op.kernel if op.kernel.__class__ is str else op.kernel(*arrays)
                raise NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.legacy_name}'")
            return
