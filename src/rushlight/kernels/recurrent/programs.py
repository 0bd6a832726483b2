"""Loop programs of recurrent layers: all steps of a sequence in one run, forward and backward.

What all of them have in common. The programs of ``vectors`` multiply with vectors, those of ``tiles``
and ``rows`` on the tile unit.
"""

from __future__ import annotations

from ..language.builder import Builder
from ..language.program import Program
from .cells import CELLS

_COMPUTED = ("scratch", "packed", "carry")  # arrays of numbers that are not rounded to the others' type


def compute_scalar(scalar):
    """The scalar in which programs add up and cells compute."""
    return "f64" if scalar == "f64" else "f32"


class Units:
    """A vector of hidden units of one row in the arrays of a cell; a cell's numbers are of the scalar ``compute``."""

    def __init__(self, builder, places, size, compute, lanes, mask):
        self._builder, self._places, self._size, self._compute = builder, places, size, compute
        self._lanes, self._mask = lanes, mask

    def __contains__(self, name):
        return name in self._places

    def load(self, name, gate=0):
        values = self._builder.load(self._places[name], self._size * gate, self._lanes, self._mask)
        return self._builder.convert(values, self._compute)

    def store(self, value, name, gate=0):
        place = self._places[name]
        if place.type.element.scalar == "bf16":
            value = self._builder.round_bfloat16(value)
        self._builder.store(value, place, self._size * gate, self._mask)


class Layer:
    """The entry of a program being built: its parameters, and how steps are taken.

    What ways of multiplying differ in is left to subclasses: ``product_functions`` (that the program needs before the
    entry), ``prepare`` and ``step``.
    """

    _NUMBERS = ("steps", "rows", "size", "inputs", "first", "direction", "blocks", "scratch_size")

    def __init__(self, kind, scalar, backward, absent):
        self.kind, self.backward, self.cell = kind, backward, CELLS[kind]
        self.scalar, self.compute = scalar, compute_scalar(scalar)
        self.arrays = _declared(kind, backward, absent)
        pointers, strides = pointer_names(kind, backward, absent), stride_names(kind, backward, absent)
        parameters = [(n, f"{self.compute if n in _COMPUTED else scalar}*") for n in pointers]
        parameters += [(n, "i64") for n in (*strides, *self._NUMBERS)]
        self.builder = builder = Builder("entry", parameters)
        self.given = dict(zip((n for n, _ in parameters), builder.parameters))
        self.steps, self.rows, self.size = (self.given[n] for n in ("steps", "rows", "size"))
        self.direction = self.given["direction"]
        # What is multiplied with the weight, from step to step, its columns and how far apart its rows are.
        self.state, self.depth = ("sums", self.size * self.cell.gates) if backward else ("outputs", self.size)
        self.state_row = self.given["sums_row"] if backward else self.size

    def prepare(self):
        """What is done once, before the first step."""

    def step(self, index, states, depth, starts, arithmetic):
        """One parallel loop: the product of ``states`` (rows of ``depth``) and the weight, then the cell's arithmetic.

        ``index`` counts the steps; ``arithmetic(builder, sums, units)`` is built once, for a vector of units of a row.
        """
        raise NotImplementedError

    def scratch(self):
        """This worker's scratch memory."""
        builder = self.builder
        return builder.offset(self.given["scratch"], builder.worker() * self.given["scratch_size"])

    def step_of(self, name, step):
        """Where a step of an array begins."""
        array = self.arrays[name]
        length = self.given[f"{name}_step"] if array.strided else self.rows * (self.size * array.gates)
        return self.builder.offset(self.given[name], step * length)

    def before(self, array, step, is_first):
        """Where the state before a step begins."""
        earlier = self.step_of(array.source, step - self.direction)
        return self.builder.select(is_first, self.given[array.initial], earlier)

    def starts(self, step, is_first):
        """For each array, where a step of it begins and how far apart its rows are."""
        found = {}
        for name, array in self.arrays.items():
            if array.source:
                found[name] = self.before(array, step, is_first), self.size
            elif array.strided:
                found[name] = self.step_of(name, step), self.given[f"{name}_row"]
            elif array.place == "step":
                found[name] = self.step_of(name, step), self.size * array.gates
            else:
                found[name] = self.given[name], self.size if array.place == "sample" else 0
        return found

    def units(self, starts, row, column, lanes, mask=None):
        """The vector of hidden units of a row that begins with unit ``column``."""
        offset = self.builder.offset
        places = {n: offset(begin, row * stride + column) for n, (begin, stride) in starts.items()}
        return Units(self.builder, places, self.size, self.compute, lanes, mask)

    def program(self):
        """The program with all steps."""
        self.prepare()
        if self.backward:
            self._steps_backward()
        else:
            self._steps_forward()
        name = f"{self.kind}_layer{'_backward' * self.backward}"
        return Program(name, [*self.product_functions, self.builder.function])

    def _steps_forward(self):
        builder = self.builder
        with builder.loop(0, self.steps) as s:
            step = self.given["first"] + s.index * self.direction
            is_first = s.index < 1
            states = builder.select(is_first, self.given["hidden"], self.step_of("outputs", step - self.direction))
            starts = self.starts(step, is_first)
            self.step(s.index, states, self.size, starts, self.cell.forward)

    def _steps_backward(self):
        builder, given = self.builder, self.given
        with builder.loop(0, self.steps) as s:
            step = given["first"] + (self.steps - 1 - s.index) * self.direction
            starts = self.starts(step, s.index >= self.steps - 1)
            depth = builder.select(s.index > 0, self.depth, 0)  # nothing flows into the last state
            states = self.step_of("sums", step + self.direction)
            self.step(s.index, states, depth, starts, lambda b, sums, units: self.cell.backward(b, *sums, units))
        if "d_hidden" not in given:
            return
        starts = {"d_hidden": (given["d_hidden"], self.size)}
        if self.cell.carries_hidden:
            starts["carry"] = given["carry"], self.size

        def finish(_, sums, units):
            units.store(sums[0] + units.load("carry") if "carry" in units else sums[0], "d_hidden")

        self.step(self.steps, self.step_of("sums", given["first"]), self.depth, starts, finish)


def _declared(kind, backward, absent):
    """The arrays of a cell by name."""
    cell = CELLS[kind]
    arrays = cell.backward_arrays if backward else cell.forward_arrays
    return {n: array for n, array in arrays.items() if n not in absent}


def pointer_names(kind, backward, absent):
    """The names of the pointers that a program takes, in order."""
    arrays = _declared(kind, backward, absent)
    names = [n for n, array in arrays.items() if not array.source]
    names += [array.initial for array in arrays.values() if array.source and array.initial != "hidden"]
    if backward and "d_hidden" not in absent:
        names.append("d_hidden")
    return ["weight", "scratch", "hidden", "packed", *names]


def stride_names(kind, backward, absent):
    """The names of the strides that a program takes, in order: elements from step to step and from row to row."""
    names = [n for n, array in _declared(kind, backward, absent).items() if array.strided]
    return [f"{n}_{part}" for n in names for part in ("step", "row")]
