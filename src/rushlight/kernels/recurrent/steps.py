"""The gates of one step of a recurrent cell as kernels: the cells' arithmetic on sums that are there already."""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import vector
from ..planning.layout import Layout, copies, lanes_for
from ..planning.plan import Launch, Plan
from ..planning.runner import plan_for
from .cells import CELLS
from .programs import Units

_CHUNK = 1 << 11  # hidden units of a chunk: 3 to 6 us
_NANOSECONDS = 0.6  # for a hidden unit
_PARTS = 5  # numbers for each unit that the derivative uses: ``values``

# Where the cells find what they read and write: name -> (array, its numbers for each unit, which of them comes first).
# "sums" are read forward, written backward; "carry" is what flows to the state before by other ways than the sums.
_PLACES = {
    ("lstm", False): {
        "gates": ("from_input", 4, 0), "sums": ("from_hidden", 4, 0), "cells_before": ("cell", 1, 0),
        "outputs": ("outputs", 1, 0), "cells": ("cells", 1, 0),
        "values": ("values", _PARTS, 0), "squashed": ("values", _PARTS, 4),
    },
    ("lstm", True): {
        "d_outputs": ("d_outputs", 1, 0), "d_cells": ("d_cells", 1, 0), "cells_before": ("cell", 1, 0),
        "values": ("values", _PARTS, 0), "squashed": ("values", _PARTS, 4),
        "sums": ("d_sums", 4, 0), "carry": ("d_cell", 1, 0),
    },
    ("gru", False): {
        "gates": ("from_input", 3, 0), "sums": ("from_hidden", 3, 0), "outputs_before": ("hidden", 1, 0),
        "outputs": ("outputs", 1, 0),
        "values": ("values", _PARTS, 0), "inner": ("values", _PARTS, 3), "gap": ("values", _PARTS, 4),
    },
    ("gru", True): {
        "d_outputs": ("d_outputs", 1, 0),
        "values": ("values", _PARTS, 0), "inner": ("values", _PARTS, 3), "gap": ("values", _PARTS, 4),
        "d_gates": ("d_from_input", 3, 0), "sums": ("d_from_hidden", 3, 0), "carry": ("d_hidden", 1, 0),
    },
}  # fmt: skip


class _StepUnits(Units):
    """Units of a step that no other one follows: nothing is carried to it."""

    def load(self, name, gate=0):
        if name == "carry":
            return self._builder.constant(0.0, vector(self._compute, self._lanes))
        return super().load(name, gate)


def step_program(kind, backward, scalar, lanes, absent):
    """Entry ``(*arrays, rows, size, together)``: the cell for every unit, ``together`` rows a chunk."""
    cell = CELLS[kind]
    places = {name: place for name, place in _PLACES[kind, backward].items() if place[0] not in absent}
    arrays = list(dict.fromkeys(array for array, _, _ in places.values()))
    b = Builder(
        f"{kind}_gates", [*((a, f"{scalar}*") for a in arrays), *((n, "i64") for n in ("rows", "size", "together"))]
    )
    pointers = dict(zip(arrays, b.parameters))
    rows, size, together = b.parameters[-3:]
    with b.parallel((rows + (together - 1)) // together) as chunk:
        first = chunk * together
        with b.loop(first, b.minimum(first + together, rows)) as row:

            def units(column, mask, _):
                begin = {
                    name: b.offset(pointers[array], row.index * (size * count) + size * part + column)
                    for name, (array, count, part) in places.items()
                }
                found = _StepUnits(b, begin, size, scalar, lanes, mask)
                if backward:
                    cell.backward(b, b.constant(0.0, vector(scalar, lanes)), found)
                else:
                    cell.forward(b, [found.load("sums", gate) for gate in range(cell.gates)], found)

            b.for_lanes(0, size, lanes, units)
    return Program(f"{kind}_gates", [b.function])


def _plan(kind, backward, state, operands, results, absent=()):
    """The Plan of a step for units shaped as ``state``: it reads ``operands`` (name -> Layout) and writes ``results``, name -> how
    many numbers for each unit; ``absent`` are what the program would read else."""
    scalar = state.scalar
    if scalar not in ("f32", "f64") or not state.size or any(each.dtype != state.dtype for each in operands.values()):
        return None
    rows, size = state.shape
    lanes = lanes_for(scalar) * (1 + (size > lanes_for(scalar)))
    arguments = (*operands, *results, rows, size, -(-_CHUNK // size))
    launch = Launch(step_program, (kind, backward, scalar, lanes, absent), arguments, state.size * _NANOSECONDS)
    found = {name: Layout((rows, size * count), state.dtype) for name, count in results.items()}
    return Plan([launch], found, copied=copies(**operands))


@plan_for("lstm_gates")
def lstm_gates(from_input: Layout, from_hidden: Layout, cell: Layout):
    operands = {"from_input": from_input, "from_hidden": from_hidden, "cell": cell}
    return _plan("lstm", False, cell, operands, {"outputs": 1, "cells": 1, "new_values": _PARTS})


@plan_for("lstm_gates_backward")
def lstm_gates_backward(
    d_hidden: Layout | None, d_after: Layout | None, d_values: Layout | None, cell: Layout, values: Layout
):
    gradients = {"d_hidden": d_hidden, "d_after": d_after}
    given = {name: layout for name, layout in gradients.items() if layout is not None}
    if d_values is not None or not given:
        return None
    absent = tuple([name for name, at in (("d_outputs", d_hidden), ("d_cells", d_after)) if at is None])
    operands = {**given, "cell": cell, "values": values}
    return _plan("lstm", True, cell, operands, {"d_sums": 4, "d_cell": 1}, absent)


@plan_for("gru_gates")
def gru_gates(from_input: Layout, from_hidden: Layout, hidden: Layout):
    operands = {"from_input": from_input, "from_hidden": from_hidden, "hidden": hidden}
    return _plan("gru", False, hidden, operands, {"outputs": 1, "new_values": _PARTS})


@plan_for("gru_gates_backward")
def gru_gates_backward(d_after: Layout | None, d_values: Layout | None, values: Layout):
    if d_after is None or d_values is not None:
        return None
    operands = {"d_after": d_after, "values": values}
    return _plan("gru", True, d_after, operands, {"d_from_input": 3, "d_from_hidden": 3, "d_hidden": 1})
