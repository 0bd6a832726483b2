"""The gates of one step of a recurrent cell as kernels: the cells' arithmetic on sums that are there already."""

from __future__ import annotations

import functools

import numpy as np

from ..compiler.kernel import compiled
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import scalar_of, vector
from ..machine import host
from ..planning.registry import kernel_for
from .cells import CELLS
from .programs import Units

_CHUNK = 1 << 11  # hidden units of a chunk: 3 to 6 us
_THREADED = 1 << 13  # hidden units from which other threads are called in
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


def _contiguous(array):
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.ascontiguousarray(array)


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


@functools.lru_cache(256)
def _plan(kind, backward, dtype, wide, absent):
    """The kernel, for vectors of one register or of two, or NotImplemented for numbers that are not computed as they are."""
    scalar = scalar_of(dtype)
    if scalar not in ("f32", "f64"):
        return NotImplemented
    key = f"{kind}_gates{'_backward' * backward}", scalar, host.lanes(dtype.itemsize) * (1 + wide), absent
    return compiled(key, lambda: step_program(kind, backward, *key[1:]))


def _run(kind, backward, state, arrays, results, absent=()):
    """Run a step for units shaped as ``state``: it reads ``arrays`` (None where absent) and writes new ones with so many
    numbers for each unit as ``results`` say. The results; or NotImplemented."""
    (rows, size), dtype = state.shape, state.dtype
    plan = _plan(kind, backward, dtype, size > host.lanes(dtype.itemsize), absent)
    if plan is NotImplemented or not state.size or not all(a.dtype == dtype for a in arrays):
        return NotImplemented
    found = tuple([np.empty((rows, size * count), dtype) for count in results])
    run = plan.threaded if state.size >= _THREADED else plan.alone
    run(*map(_contiguous, arrays), *found, rows, size, -(-_CHUNK // size))
    return found


def _present(**gradients):
    """Those of the gradients that are there, and the names of the others."""
    return [g for g in gradients.values() if g is not None], tuple([n for n, g in gradients.items() if g is None])


@kernel_for("lstm_gates")
def lstm_gates(from_input, from_hidden, cell):
    return _run("lstm", False, cell, (from_input, from_hidden, cell), (1, 1, _PARTS))


@kernel_for("lstm_gates_backward")
def lstm_gates_backward(d_hidden, d_after, d_values, cell, values):
    given, absent = _present(d_outputs=d_hidden, d_cells=d_after)
    if d_values is not None or not given:
        return NotImplemented
    return _run("lstm", True, cell, (*given, cell, values), (4, 1), absent)


@kernel_for("gru_gates")
def gru_gates(from_input, from_hidden, hidden):
    return _run("gru", False, hidden, (from_input, from_hidden, hidden), (1, _PARTS))


@kernel_for("gru_gates_backward")
def gru_gates_backward(d_after, d_values, values):
    if d_after is None or d_values is not None:
        return NotImplemented
    return _run("gru", True, d_after, (d_after, values), (3, 3, 1))
