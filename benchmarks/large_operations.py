"""Operations on many numbers: what a call costs beside PyTorch, forward, and forward with backward.

    python benchmarks/large_operations.py                     # some 600 rows on 1,000,000 numbers, two minutes
    python benchmarks/large_operations.py --size 100_000
    python benchmarks/large_operations.py --only "exp" "sum dim 0, backward"

The rows stand by subject: `large_elementwise`, `large_rows` (what goes along a dimension) and `large_layouts` (copies, picking,
making). Times are those of `side_by_side`.
"""

from __future__ import annotations

import functools

import large_elementwise
import large_layouts
import large_rows
from large_operands import operands
from side_by_side import survey, with_backward

SUBJECTS = (large_elementwise, large_rows, large_layouts)


def _call(function, size, torch):
    return functools.partial(function, operands(torch, size))


def _forward(names, function, size, torch):
    made = operands(torch, size)
    return functools.partial(function, made, *(getattr(made, name) for name in names.split()))


def _forward_and_backward(names, function, size, torch):
    return with_backward(function, operands(torch, size), names, torch)


def workloads(size=1_000_000):
    """All rows by name, of operands with about so many numbers."""
    rows = {}
    for subject in SUBJECTS:
        rows |= {name: functools.partial(_call, function, size) for name, function in subject.CALLS.items()}
        for name, (leaves, function) in subject.GRADIENTS.items():
            rows[name] = functools.partial(_forward, leaves, function, size)
            rows[f"{name}, backward"] = functools.partial(_forward_and_backward, leaves, function, size)
    return rows


if __name__ == "__main__":
    survey(__file__, __doc__, workloads, spell=0.01, size=1_000_000)
