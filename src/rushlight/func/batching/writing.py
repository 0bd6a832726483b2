"""Operations in place: what their other forms give, copied into the batch that is written."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...ops.table import INPLACE, TABLE
from ...tensor.compute import schema_of
from ...tensor.dispatch import run
from ...tensor.writes import write_array
from .call import RULES, Call, aligned, rule
from .one_by_one import one_by_one


def into(call, found_by):
    """Write what the rule ``found_by`` of the plain form gives into the first argument."""
    found, target = found_by(call), call.inside[0]
    if found.shape != target.shape or found.dtype is not target.dtype:
        check_fits(call, found.shape[1:], found.dtype)
    target.copy_(found)


def check_fits(call, shape, dtype):
    """Refuse to write results of this shape and dtype into the entries of the first argument, where they do not fit."""
    target = call.values[0]
    write_array(
        np.empty(target.shape, target.dtype.numpy), np.empty(shape, dtype.numpy), f"{call.op.name.rstrip('_')}_"
    )


def _twin(name):
    """The rule of the form in place of the operation ``name``."""
    op = TABLE[name]

    def written(call):
        plain = Call(call.level, op, schema_of(op), call.values, partial(run, op, schema_of(op)))
        into(plain, RULES.get(name, one_by_one))

    return written


for _name in [*TABLE]:
    if TABLE[_name].kind == INPLACE and _name.endswith("_") and _name[:-1] in TABLE:
        rule(_name)(_twin(_name[:-1]))


@rule("copy_from")
def copy(call):
    """The source is broadcast to the target."""
    target, source = call.inside[0], call.inside[1]
    if call.level.owns(call.values[1]):
        source = aligned(source, call.values[0].dim())
    if call.values[1].dim() > call.values[0].dim():
        call.check_entry()
    call.again([target, source, *call.inside[2:]])


@rule("fill_number", "zero_")
def fill(call):
    """The same everywhere."""
    call.again(call.inside)


@rule("fill_tensor")
def fill_tensor(call):
    """A number for each entry."""
    target, value = call.inside[0], call.batched("value")
    target.copy_(aligned(value, target.dim() - 1).expand(target.shape))
