"""Elementwise operations: operands get as many dimensions behind the batch, and the dtype that the entries would have."""

from __future__ import annotations

from ...base.shapes import broadcast_shapes
from ...ops import table
from ...ops.promotion import common_dtype
from .call import Call, aligned
from .writing import check_fits


def elementwise(level, op, schema, values, again, writes):
    """The rule of every elementwise operation."""
    inside, ndim, dtype, alike = values.copy(), None, None, True
    for position in schema.tensor_positions:
        value = values[position]
        if not hasattr(value, "_edge"):
            continue
        if level.owns(value):
            inside[position] = value.value
        if ndim is None:
            ndim, dtype = value.dim(), value.dtype
        elif value.dim() != ndim or value.dtype is not dtype:
            alike = False
    return again(inside) if alike else _made_alike(Call(level, op, schema, values, again), writes)


def _made_alike(call, writes):
    """The call with operands of different numbers of dimensions, or dtypes."""
    values, inside = call.values, call.inside.copy()
    places = [p for p in call.schema.tensor_positions if hasattr(values[p], "_edge")]
    ndim = max(values[p].dim() for p in places)
    if writes and ndim > values[0].dim():
        check_fits(call, broadcast_shapes(*[tuple(values[p].shape) for p in places]), values[0].dtype)
    same = len({values[p].dtype for p in places}) == 1
    masked = int(not same and _is_masked(call.op))
    # Tensors without dimensions count less in promotion, but here they have one: the batch.
    common = None if same else common_dtype([values[p] for p in call.schema.tensor_positions[masked:]])
    for place, p in enumerate(places):
        tensor = inside[p]
        if call.level.owns(values[p]):
            tensor = aligned(tensor, ndim)
        if common is not None and tensor.dtype is not common and place >= (1 if writes or masked else 0):
            tensor = tensor.to(common)
        inside[p] = tensor
    return call.again(inside)


def _is_masked(op):
    return op.dtype_rule.__class__ is str and op.dtype_rule == table.MASKED
