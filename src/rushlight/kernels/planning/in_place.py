"""Plans of operations that write into an operand, and of those that do the same to a copy of it."""

from __future__ import annotations

import functools

import numpy as np

from ...base.arrays import result_order
from .layout import Layout


def are_apart(target, *others):
    """Whether an array that is written shares no memory with others."""
    return not any(np.may_share_memory(target, other) for other in others)


def on_copy(plan):
    """The plan of an operation, of that of its form in place: a copy of ``self``, which is its first parameter, is written."""

    @functools.wraps(plan)
    def planned(self, *others):
        if result_order((self.spread(),), self.shape) is not None:  # the copy keeps the order of dimensions
            return None
        found = plan(self.plain(), *others)
        if found is None:
            return None
        copied = dict(found.copied)
        dtype = copied.pop("self", None)
        out = Layout(self.shape, dtype.dtype if isinstance(dtype, Layout) else dtype or self.dtype)
        launches = [launch._replace(arguments=tuple(["out" if each.__class__ is str and each == "self" else each
                                                     for each in launch.arguments])) for launch in found.launches]  # fmt: skip
        conditions = [condition for condition in found.conditions if condition.function is not are_apart]
        given = {} if out.dtype == self.dtype else {"out": self.plain()}
        return found._replace(launches=launches, results={"out": out}, begun={"out": "self"}, copied=copied,
                              given=given, in_place=(), conditions=conditions)  # fmt: skip

    return planned
