"""Optimizer steps: the formula of an algorithm as one kernel that updates all parameters of a group in one launch."""

from __future__ import annotations

import numpy as np

from ..base.arrays import address_of
from .builder import Builder
from .host import host, lanes
from .kernel import compiled
from .plans import Plans
from .program import Program
from .routing import kernel_for
from .trace import Element, Emission, Trail
from .value_types import named

_SCALARS = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
_CHUNK = 8192  # elements; the arrays of an Adam step on so many lie in a core's cache
_ALONE = 16384  # elements that one thread updates before another has come to help

_chunks = Plans()  # sizes of the parameters -> (chunk table, number of chunks, elements)


def run(formula, group, numbers, params, grads, states):
    """Update parameters and their state in place, as ``formula`` says; whether it was done.

    Args:
        formula: ``formula(m, group, *numbers, param, grad, *states)``, which changes the parameter and the states: see
            `optim.elementwise.ElementwiseOptimizer`.
        group: the hyperparameters.
        numbers: the scalar state, as it was before the step: the same for all parameters.
        params, grads: k arrays each, of equal shapes in pairs.
        states: the states of parameter 0, then those of parameter 1, ...

    Nothing is done, and the answer is False, unless all are C-contiguous and of one dtype, float32 or float64, and no two
    parameters share memory: those are updated one after the other.
    Every number that meets an element is a parameter of the kernel, so that a new learning rate compiles nothing.
    """
    dtype = params[0].dtype
    scalar = _SCALARS.get(dtype)
    if scalar is None or host() is None:
        return False
    for arrays in (params, grads, states):
        for array in arrays:
            if array.dtype is not dtype or not array.flags.c_contiguous:
                return False
    if _overlap(params):
        return False
    count = len(states) // len(params)
    trail, steps = _noted(formula, group, numbers, count, dtype)
    sizes = tuple([param.size for param in params])
    found = _chunks.get(sizes)
    if found is None:
        found = _chunks[sizes] = _chunk_table(sizes)
    table, chunks, total = found
    if total:
        kernel = _kernel(formula, group, numbers, count, scalar, steps, len(trail.numbers))
        launch = kernel.alone if total <= _ALONE else kernel.threaded
        launch(params, grads, *[states[i::count] for i in range(count)], table, chunks, *trail.numbers)
    return True


def _overlap(arrays):
    """Whether two contiguous arrays share memory. Arrays of different owners do not: asking that costs least."""
    owners = {}
    for array in arrays:
        owners.setdefault(id(array if array.base is None else array.base), []).append(array)
    for shared in owners.values():
        if len(shared) > 1:
            spans = sorted((address_of(array), array.nbytes) for array in shared)
            if any(start + size > following for (start, size), (following, _) in zip(spans, spans[1:])):
                return True
    return False


@kernel_for("optimizer_step_")
def optimizer_step_(params, grads, scalars, states, *, formula, advance, group):
    """As `ops.optimize.optimizer_step_`, where all parameters have the same scalars."""
    each = len(scalars) // len(params)
    values = [counter.item() for counter in scalars]
    numbers = values[:each]
    if values != numbers * len(params) or not run(formula, group, numbers, params, grads, states):
        return NotImplemented
    if each:
        after = list(advance(group, *numbers)) * len(params)
        for counter, number in zip(scalars, after, strict=True):
            counter[()] = number
    return None


def _descent(m, group, param, grad):
    param += grad * group["scale"]


@kernel_for("add_scaled_")
def add_scaled_(params, grads, *, scale):
    """As `ops.optimize.add_scaled_`."""
    return None if run(_descent, {"scale": scale}, (), params, grads, []) else NotImplemented


def _noted(formula, group, numbers, count, dtype):
    """The formula's trail, and the steps that determine its program: those of the trail and what is written at the end."""
    trail = Trail([dtype] * (2 + count), every_number=True)
    formula(trail, group, *numbers, *trail.elements)
    steps = (*trail.steps, "end", *[element.value for element in trail.elements])
    return trail, steps


def _chunk_table(sizes):
    """Which chunk updates what: rows of parameter, first element, end."""
    rows = []
    for number, size in enumerate(sizes):
        for first in range(0, size, _CHUNK):
            rows += [number, first, min(first + _CHUNK, size)]
    return np.array(rows, np.int64), len(rows) // 3, sum(sizes)


_kernels = {}  # (formula, scalar, steps) -> Kernel


def _kernel(formula, group, numbers, count, scalar, steps, given):
    key = (formula, scalar, steps)
    found = _kernels.get(key)
    if found is None:
        name = formula.__qualname__.partition(".")[0].strip("_").lower() + "_step"
        group, width = dict(group), lanes(named(scalar).size)

        def build():
            return program(name, formula, group, numbers, count, scalar, given, width)

        found = _kernels[key] = compiled((name, scalar, width, steps), build)
    return found


def program(name, formula, group, numbers, count, scalar, given, lanes):
    """The loop program of a step.

    Parameters: the arrays of all parameters, of their gradients and of each of ``count`` states; ``table`` with a row
    (parameter, first element, end) for each of ``chunks``; the ``given`` numbers that the formula uses, in its order.
    """
    lists = ["params", "grads", *(f"states{i}" for i in range(count))]
    fixed = [*((each, scalar + "**") for each in lists), ("table", "i64*"), ("chunks", "i64")]
    builder = Builder(name, [*fixed, *((f"number{i}", scalar) for i in range(given))])
    lists, table, chunks = builder.parameters[: count + 2], *builder.parameters[count + 2 : count + 4]
    spread = [builder.splat(value, lanes) for value in builder.parameters[count + 4 :]]
    with builder.parallel(chunks) as chunk:
        parameter, first, end = (builder.load(table, chunk * 3 + column) for column in range(3))
        pointers = [builder.load(each, parameter) for each in lists]

        def update(index, mask, carry):
            emission = Emission(builder, named(scalar).with_lanes(lanes), spread, every_number=True)
            before = [builder.load(pointer, index, lanes, mask) for pointer in pointers]
            elements = [Element(emission, value) for value in before]
            formula(emission, group, *numbers, *elements)
            for element, value, pointer in zip(elements, before, pointers):
                if element.value is not value:
                    builder.store(element.value, pointer, index, mask)

        builder.for_lanes(first, end, lanes, update)
    return Program(name, [builder.function])
