"""Batching rules: how an operation on single entries runs on whole batches.

Families of operations share rules, one family a file. Operations without a rule run for each entry by itself; `ONE_BY_ONE`
says which and why.
"""

from __future__ import annotations

from functools import partial

from ...ops import table
from ...ops.table import functions
from ...tensor.base import wrap
from ...tensor.compute import compute, schema_of
from ...tensor.dispatch import run
from ...tensor.interposers import INTERPOSERS
from ..entries import shown
from . import (
    along,
    convolution,
    elementwise,
    indexing,
    joining,
    leading,
    linear_algebra,
    losses,
    norms,
    products,
    recurrent,
    reductions,
    shapes,
    sizes,
    writing,
)
from .call import RULES, Call
from .one_by_one import ONE_BY_ONE, of_nothing, one_by_one
from .random import RANDOM, random

_ALIGNED = frozenset((table.UNARY, table.BINARY, table.ELEMENTWISE, table.FUSED))


def apply(level, op, schema, values, again, writes):
    """The results of a call with batched arguments; what is written goes into the first one."""
    try:
        return _apply(level, op, schema, values, again, writes)
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
        if level.size:
            _say_of_one_entry(op, values, error)
        raise


def _say_of_one_entry(op, values, error):
    """Raise what the operation says of the first entry, if it refuses that: its shapes are those that the user knows."""
    try:
        compute(op, schema_of(op), _copied(values))
    except Exception as refusal:
        raise refusal from error


def _copied(values):
    """Arguments that an operation may write into."""
    return [_copy(value) for value in values]


def _copy(value):
    if value.__class__ in (list, tuple):
        return value.__class__([_copy(each) for each in value])
    return wrap(shown(value._array).copy()) if hasattr(value, "_edge") else value


def _apply(level, op, schema, values, again, writes):
    if not writes and not INTERPOSERS:
        again = op.__dict__.get("direct") or _direct(op, schema) or again
    if op.kind in _ALIGNED:
        return elementwise.elementwise(level, op, schema, values, again, writes)
    if writes and not level.size:
        return None
    if writes and op.kind != table.INPLACE:
        return writing.into(Call(level, op, schema, values, partial(run, op, schema)), rule_of(op))
    found_by = rule_of(op)
    if not level.size and found_by is not one_by_one and op.kind != table.VIEW:
        return of_nothing(Call(level, op, schema, values, partial(run, op, schema)))
    return found_by(Call(level, op, schema, values, again))


def _direct(op, schema):
    """The function of an operation of bound values, by its short path; False where some have to be named."""
    function = functions.__dict__.get(op.name)
    op.direct = function is not None and schema.count == schema.positional and (lambda values: function(*values))
    return op.direct


def is_aligned(op):
    """Whether an operation is elementwise: one rule serves all of those."""
    return op.kind in _ALIGNED


def rule_of(op):
    """The batching rule of an operation that is not elementwise."""
    return RULES.get(op.name, one_by_one)
