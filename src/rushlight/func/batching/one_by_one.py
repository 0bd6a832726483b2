"""The rule of last resort: each entry of the batch by itself."""

from __future__ import annotations

from ...base.errors import hinted
from ...ops.table import functions
from .call import each

# Operations that have no rule, and why.
ONE_BY_ONE = dict.fromkeys(
    ("cross_entropy_parts", "cross_entropy_gradient"), "transforms see log_softmax and nll_loss in their place"
)


def one_by_one(call):
    """Each entry of the batch by itself."""
    if not call.size:
        raise RuntimeError(
            hinted(
                f"Batching rule not implemented for aten::{call.op.name}. The fallback path does not support vmap over dims of size 0.",
                f"{call.op.name} runs once for each entry of the batch, and there is none",
            )
        )
    found = [call.again([_entry(call.level, value, entry) for value in call.values]) for entry in range(call.size)]
    if found[0].__class__ in (tuple, list):
        return tuple([functions.stack(parts) for parts in zip(*found)])
    return functions.stack(found)


def _entry(level, value, entry):
    if value.__class__ in (list, tuple):
        return value.__class__([_entry(level, each, entry) for each in value])
    return value.value.select(0, entry) if level.owns(value) else value


def of_nothing(call):
    """The results for a batch without entries: those of one entry made up, without their elements."""
    made_up = [_made_up(call.level, value, a.name) for a, value in zip(call.schema.arguments, call.values)]
    found = call.again(made_up)
    tracked = [value for value in call.inside if getattr(value, "requires_grad", False)]
    # Nothing is added, but gradients, of no elements either, flow on.
    link = sum((value.sum() * 0 for value in tracked), start=0)

    def emptied(part):
        made = functions.empty((0, *part.shape), dtype=part.dtype)
        return made + link if tracked and part.is_floating_point() else made

    return each(found, emptied)


def _made_up(level, value, name):
    if value.__class__ in (list, tuple):
        return value.__class__([_made_up(level, item, name) for item in value])
    if not level.owns(value):
        return value
    if not (value.is_floating_point() or value.is_complex()):
        make = functions.ones if name == "pivots" else functions.zeros  # rows are counted from 1 there
        return make(value.shape, dtype=value.dtype)
    if value.dim() < 2:
        return functions.ones(value.shape, dtype=value.dtype)
    return functions.eye(*value.shape[-2:], dtype=value.dtype).expand(value.shape)  # decompositions take it
