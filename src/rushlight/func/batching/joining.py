"""Operations on lists of tensors."""

from __future__ import annotations

from ...base.shapes import wrap_dim
from ...ops.table import functions
from ...tensor.interposers import interposed
from .along import moved
from .call import rule


def _batches(call):
    return [call.level.batch(value) for value in call.given("tensors")]


@rule("cat")
def cat(call):
    """Empty tensors of one dimension do not count, as ever in PyTorch."""
    given = call.given("tensors")
    counted = [value for value in given if tuple(value.shape) != (0,)] or given
    batches = [call.level.batch(value) for value in counted]
    return call.run(tensors=batches, dim=moved(call.given("dim"), counted[0].dim()))


@rule("stack")
def stack(call):
    """The new dimension is counted in the result."""
    return call.run(tensors=_batches(call), dim=wrap_dim(call.given("dim"), call.given("tensors")[0].dim() + 1) + 1)


@rule("block_diagonal")
def block_diagonal(call):
    """Each matrix with zeros on its sides, one below the other."""
    with interposed(call.level):
        blocks = [functions.atleast_2d(block) for block in call.given("tensors")]
        width, before, rows = sum(block.shape[1] for block in blocks), 0, []
        for block in blocks:
            rows.append(functions.constant_pad_nd(block, (before, width - before - block.shape[1])))
            before += block.shape[1]
        return call.level.batch(functions.cat(rows))
