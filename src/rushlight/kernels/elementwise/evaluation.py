"""Elementwise operations in plans: what their kernels run for operands of certain layouts, as launches."""

from __future__ import annotations

from typing import NamedTuple

from ..planning.layout import Layout, strided
from . import plan as elementwise_plan
from .calls import Entry, planned_entry


class Evaluation(NamedTuple):
    """A launch of the kernel of an Entry. ``arguments`` are the names of the operands, in order, and that of the result;
    ``plan`` is None where all are contiguous and of one shape."""

    entry: Entry
    arguments: tuple
    plan: elementwise_plan.Plan | None

    def function(self):
        """What takes the arrays (numbers for those without dimensions) and computes."""
        entry, plan = self.entry, self.plan
        if plan is None:
            run = entry.run_flat
            return lambda *arrays: run(arrays[:-1], arrays[-1])
        run, rest = entry.strided_call(plan), (*plan.arguments, *entry.numbers)
        return lambda *arrays: run(*arrays, *rest)


def evaluation(op, operands, options=(), dtype=None, result=None, out=None):
    """(Evaluation, Layout of its result) of an elementwise operation; None where it has no kernel for these operands.

    Args:
        op: the record of the operation.
        operands: (name, Layout) of each in schema order, None where one is absent. Those without dimensions are Python
            numbers when the plan runs, converted from the dtype of their Layout.
        options, dtype, result: as of `calls.run`.
        out: the Layout of the array called "out" that is written; else there is to be one of the Layout that is returned.
    """
    entry = planned_entry(op, [pair and pair[1] for pair in operands], options, dtype, out.dtype if out else result)
    names, layouts = zip(*[pair for pair in operands if pair])
    layouts = [layout for layout in layouts if layout.ndim]
    if entry is None or not layouts:
        return None
    first = layouts[0]
    if all(each.is_plain and each.shape == first.shape for each in (*layouts, *([out] if out else ()))):
        return Evaluation(entry, (*names, "out"), None), Layout(first.shape, entry.dtype)
    plan = elementwise_plan.make([layout.spread() for layout in layouts], out and out.spread(), entry.casts)
    if plan is None:
        return None
    if out is None:
        out = strided(plan.shape, entry.dtype, tuple([step * entry.dtype.itemsize for step in plan.steps]))
    return Evaluation(entry, (*names, "out"), None if plan.flat else plan), out
