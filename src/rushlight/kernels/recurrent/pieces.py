"""What plans of recurrent layers are put together from: operands as programs read them, results, scratch memory, launches."""

from __future__ import annotations

import math

from ..language.value_types import NUMPY, scalar_of
from ..planning.layout import Layout
from ..planning.plan import Made, Plan, View, joined
from .programs import compute_scalar

_ALIGNED_FROM = 1 << 18  # elements: 128 samples of 128 units, 32 steps: 5 % less of a training step


class Pieces:
    """The pieces of one plan; ``layouts`` has the Layout of each array by name, None where there is none."""

    def __init__(self, dtype):
        self.dtype, self.compute = dtype, NUMPY[compute_scalar(scalar_of(dtype))]
        self.layouts, self.own, self.plans = {}, {}, []
        self.made, self.copied, self.views, self.taken, self.given = {}, {}, {}, {}, {}
        self.scratch, self.kept, self.zeroed, self.aligned = [], [], [], []

    def row_by_row(self, **operands):
        """Operands that are read in any steps, but those between the elements of a row."""
        for name, layout in operands.items():
            fits = layout is None or (layout.steps is not None and layout.steps[-1] == 1)
            self._operand(name, layout, fits)

    def plain(self, **operands):
        """Operands whose elements are read as they lie one after the other."""
        for name, layout in operands.items():
            self._operand(name, layout, layout is None or layout.is_plain)

    def _operand(self, name, layout, fits):
        if not fits:
            self.copied[name] = None
        self.layouts[name] = layout if fits else layout.plain()

    def states(self, rows, size, **operands):
        """States before the first step: zeros where there are none."""
        self.plain(**operands)
        for name, layout in operands.items():
            if layout is None:
                self.layouts[name] = Layout((rows, size), self.dtype)
                self.scratch.append((name, rows * size, self.dtype))
                self.zeroed.append(name)

    def make(self, name, layout, function, *arguments):
        """An array that the host makes."""
        self.made[name], self.layouts[name] = Made(function, arguments), layout

    def result(self, name, shape, dtype=None, strides=None):
        """A result; rounded to the operands' dtype where that is asked for in another one."""
        self.layouts[name] = self.own[name] = Layout(shape, dtype or self.dtype, strides)
        if dtype not in (None, self.dtype):
            self.given[name] = Layout(shape, self.dtype)

    def internal(self, name, shape):
        """A result that no user sees: a large one begins on a cache line, so that each of its vectors lies in one."""
        self.result(name, shape)
        if math.prod(shape) >= _ALIGNED_FROM:
            self.aligned.append(name)

    def laid(self, name, layout, is_result=True):
        """An array that begins on a cache line and lies so: a result, or memory that is kept."""
        self.layouts[name] = layout
        if is_result:
            self.own[name] = layout
            self.aligned.append(name)
        else:
            self.kept.append((name, 0, self.dtype, layout.shape[0] * layout.steps[0]))

    def carry(self, rows, size, is_result):
        """ "carry", zeros at first: what flows from step to step beside the sums."""
        if is_result:
            self.result("carry", (rows, size), self.compute)
        else:
            self.layouts["carry"] = Layout((rows, size), self.compute)
            self.scratch.append(("carry", rows * size, self.compute))
        self.zeroed.append("carry")

    def is_kept(self, name):
        """Whether an array is memory that is kept, which has one dimension."""
        return name in [kept for kept, *_ in self.kept]

    def from_step(self, name, step):
        """The name of an array, (steps, ...), from one of its steps on."""
        if step == 0:
            return name
        start = step * self.layouts[name].steps[0] if self.is_kept(name) else step
        self.views[f"{name}_from_{step}"] = View(name, index=slice(start, None))
        return f"{name}_from_{step}"

    def last(self, name, of, reverse):
        """A result: the state after the last step that is taken, (1, N, size)."""
        self.result(name, (1, *self.layouts[of].shape[1:]))
        self.taken[name] = View(of, index=slice(0, 1) if reverse else slice(-1, None))

    def launch(self, launch, thread_scratch=()):
        self.plans.append(Plan([launch], {}, thread_scratch=thread_scratch))

    def plan(self, *returned):
        """The Plan, which returns results of these names, None for what there is not."""
        results = {name: self.own.get(name) for name in returned}
        fields = {name: getattr(self, name) for name in ("made", "copied", "views", "taken", "given", "scratch")}
        zeroed, aligned = tuple(self.zeroed), tuple(self.aligned)
        plan = joined(*self.plans, Plan([], {}, thread_scratch=self.kept, zeroed=zeroed, aligned=aligned, **fields))
        return plan._replace(results=results)
