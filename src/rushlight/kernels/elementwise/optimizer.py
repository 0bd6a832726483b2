"""Optimizer steps: the formula of an algorithm as one kernel that updates all parameters of a group in one launch."""

from __future__ import annotations

from itertools import pairwise, repeat
from operator import attrgetter, is_

import numpy as np

from ...base.arrays import address_of
from ..compiler.kernel import compiled
from ..compiler.trace import Element, Emission, Trail
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import NUMPY, computed_in, named, scalar_of
from ..machine.host import host, lanes
from ..planning.array_lists import alike_function
from ..planning.plans import Plans
from ..planning.registry import kernel_for

_SCALARS = frozenset(("f16", "bf16", "f32", "f64"))
_CHUNK = 8192  # elements; the arrays of an Adam step on so many lie in a core's cache
_ALONE = 16384  # elements that one thread updates before another has come to help

size_of, dtype_of, base_of = attrgetter("size"), attrgetter("dtype"), attrgetter("base")
_launches = Plans()  # formula, dtype, number of states, form of the constants, sizes -> (kernel's call, table, chunks)


def run(formula, constants, params, grads, states):
    """Update parameters and their state in place, as ``formula`` says; whether it was done.

    Args:
        formula: ``formula(m, constants, param, grad, *states)``, which changes the parameter and the states: see
            `optim.elementwise.ElementwiseOptimizer`.
        constants: a dictionary of numbers, which are parameters of the kernel, and of True, False and None, which choose
            the form of the formula.
        params, grads: k arrays each, of equal shapes in pairs.
        states: the states of parameter 0, then those of parameter 1, ...

    Nothing is done, and the answer is False, unless all are C-contiguous and of one floating dtype, those of a parameter have its
    shape, and nothing that is written shares memory with anything else: such parameters are updated one after the other.
    Half precision is computed in float32.
    """
    if scalar_of(params[0].dtype) not in _SCALARS or len({*map(dtype_of, params)}) > 1 or host() is None:
        return False
    count = len(states) // len(params)
    parts = [states[i::count] for i in range(count)]
    if not all(_alike(params, arrays) for arrays in (grads, *parts)):
        return False
    written = [*params, *states]
    own_memory = all(map(is_, map(base_of, written), repeat(None)))  # and not one array twice: then they are apart
    if not (own_memory and len({*map(id, written)}) == len(written)) and _overlap(written):
        return False
    launch, table, chunks, numbers = launch_of(formula, constants, count, params)
    if chunks:
        launch(params, grads, *parts, table, chunks, *numbers)
    return True


def _alike(params, arrays):
    """Whether each array lies as its parameter does, row by row, has its shape and dtype, and shares no memory with it."""
    if alike_function()(params, arrays, params[0].itemsize):
        return True  # looked at in a tenth of the time; dtypes may be equal without being one object
    return len(arrays) == len(params) and all(map(_is_like, params, arrays))


def _is_like(param, array):
    flat = param.flags.c_contiguous and array.flags.c_contiguous
    return flat and array.dtype == param.dtype and array.shape == param.shape and not _overlap([param, array])


def _overlap(arrays):
    """Whether two contiguous arrays share memory."""
    spans = sorted((address_of(array), array.nbytes) for array in arrays)
    return any(start + size > following for (start, size), (following, _) in pairwise(spans))


@kernel_for("optimizer_step_")
def optimizer_step_(params, grads, scalars, states, *, formula, constants, advance, group):
    """As `ops.optimize.optimizer_step_`, where all parameters have the same scalars."""
    each = len(scalars) // len(params)
    values = [counter.item() for counter in scalars]
    numbers = values[:each]
    if values != numbers * len(params) or not run(formula, constants(group, *numbers), params, grads, states):
        return NotImplemented
    if each:
        after = list(advance(group, *numbers)) * len(params)
        for counter, number in zip(scalars, after, strict=True):
            counter[()] = number
    return None


def prepared(params, parts, formula):
    """As `routing.prepared_step`; None for dtypes without a kernel."""
    if scalar_of(params[0].dtype) not in _SCALARS:
        return None
    launches = {}  # form of the constants -> what `launch_of` gives for it
    alike, itemsize = alike_function(), params[0].itemsize

    def step(grads, constants):
        if not alike(params, grads, itemsize):
            return False
        form, numbers = _split(constants)
        found = launches.get(form)
        if found is None:
            found = launches[form] = launch_of(formula, constants, len(parts), params)[:3]
        launch, table, chunks = found
        launch(params, grads, *parts, table, chunks, *numbers)
        return True

    return step


def _descent(m, constants, param, grad):
    param += grad * constants["scale"]


@kernel_for("add_scaled_")
def add_scaled_(params, grads, *, scale):
    """As `ops.optimize.add_scaled_`."""
    return None if run(_descent, {"scale": scale}, params, grads, []) else NotImplemented


def _chunk_table(sizes):
    """(which chunk updates what: rows of parameter, first element, end; how many rows; all elements)."""
    rows, total = [], 0
    for number, size in enumerate(sizes):
        total += size
        for first in range(0, size, _CHUNK):
            rows += [number, first, min(first + _CHUNK, size)]
    return np.array(rows, np.int64), len(rows) // 3, total


def launch_of(formula, constants, count, params):
    """What updates ``params`` by a formula with ``count`` states: kernel's call, chunk table, number of chunks, numbers.

    Those are the numbers among the constants, which the kernel takes last.
    """
    form, numbers = _split(constants)
    key = (formula, params[0].dtype, count, *form, *map(size_of, params))
    found = _launches.get(key)
    if found is None:
        found = _launches[key] = _prepare(formula, constants, form, count, params)
    return *found, numbers


def _split(constants):
    """(form, numbers) of constants: a tuple with "number" in the place of each number, and these as a list."""
    numbers, form = [], []
    for value in constants.values():
        if value is None or value.__class__ is bool:
            form.append(value)
        else:
            form.append("number")
            numbers.append(value)
    return (*form,), numbers


def _prepare(formula, constants, form, count, params):
    table, chunks, total = _chunk_table(map(size_of, params))
    kernel = _kernel(formula, constants, form, count, scalar_of(params[0].dtype))
    return kernel.alone if total <= _ALONE else kernel.threaded, table, chunks


def _kernel(formula, constants, form, count, source):
    """The kernel of a formula for arrays of one scalar type, with constants of one form."""
    name = formula.__qualname__.partition(".")[0].strip("_").lower() + "_step"
    scalar = computed_in(source)
    constants, width = dict(constants), lanes(named(scalar).size)
    trail = Trail([NUMPY[scalar]] * (2 + count + len(constants)))
    elements = trail.elements
    formula(trail, _symbols(constants, elements[2 + count :]), *elements[: 2 + count])
    steps = (*trail.steps, "end", *[element.value for element in elements[: 2 + count]])
    key = name, source, width, count, form, steps
    return compiled(key, lambda: program(name, formula, constants, count, source, width))


def _symbols(constants, elements):
    """The constants with elements in the place of their numbers."""
    left = iter(elements)
    return {
        name: value if value is None or value.__class__ is bool else next(left) for name, value in constants.items()
    }


def program(name, formula, constants, count, source, lanes):
    """The loop program of a step.

    Parameters: the arrays of all parameters, of their gradients and of each of ``count`` states; ``table`` with a row
    (parameter, first element, end) for each of ``chunks``; the numbers among the ``constants``, in their order.
    """
    lists = ["params", "grads", *(f"states{i}" for i in range(count))]
    scalar = computed_in(source)
    fixed = [*((each, source + "**") for each in lists), ("table", "i64*"), ("chunks", "i64")]
    given = [key for key, value in constants.items() if value is not None and value.__class__ is not bool]
    builder = Builder(name, [*fixed, *((key, scalar) for key in given)])
    lists, table, chunks = builder.parameters[: count + 2], *builder.parameters[count + 2 : count + 4]
    spread = [builder.splat(value, lanes) for value in builder.parameters[count + 4 :]]
    with builder.parallel(chunks) as chunk:
        parameter, first, end = (builder.load(table, chunk * 3 + column) for column in range(3))
        pointers = [builder.load(each, parameter) for each in lists]

        def update(index, mask, carry):
            emission = Emission(builder, named(scalar).with_lanes(lanes))
            before = [builder.convert(builder.load(pointer, index, lanes, mask), scalar) for pointer in pointers]
            elements = [Element(emission, value) for value in before]
            formula(emission, _symbols(constants, [Element(emission, value) for value in spread]), *elements)
            for element, value, pointer in zip(elements, before, pointers):
                if element.value is not value:
                    builder.store(builder.convert(element.value, source), pointer, index, mask)

        builder.for_lanes(first, end, lanes, update)
    return Program(name, [builder.function])
