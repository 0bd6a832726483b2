"""The runner: plans, and the operations they are for, as functions that do what every call has to do and nothing else.

Such a function is generated as text, with a name for all that it uses, and put together with its values: by the structure of
a plan (how many results, scratch arrays, arguments), of which there are few, so that a new shape costs no compilation.

    def softmax(self, dim, dtype):                      # an operation: its plans are found by layouts and options
        flags = self.flags.num
        if flags & 257 == 257:                          # row by row, aligned
            run = find((self.shape, self.dtype, dim, dtype))
        else:
            run = find((self.shape, self.dtype, self.strides, dim, dtype)) if flags & 256 else declined
        return enter(self, dim, dtype) if run is None else run(self)

    def run(self):                                      # a plan
        out = empty(out_shape, out_dtype)
        launch0(self, out, number0, number1)
        return out
"""

from __future__ import annotations

import functools
import inspect

import numpy as np

from ...ops.moving import copied
from ..compiler.kernel import compiled
from .layout import is_plain, layout_of
from .plans import Plans
from .registry import kernel_for

_THREADED_FROM = 5000  # nanoseconds: below, the calling thread is done before another one has begun
_PLAIN, _ALIGNED = 0x101, 0x100  # in the number of an array's flags


def kernel_of(launch):
    """The Kernel that a Launch runs."""
    build = launch.build
    name = f"{build.__module__.partition('.kernels.')[2]}.{build.__name__}"
    return compiled((name, *launch.form), lambda: build(*launch.form))


def runner(plan, parameters):
    """A function of what differs from call to call, named ``parameters``, that runs the plan and returns its results."""
    values = {"empty": np.empty, "copied": copied}
    before = [f"{name} = copied({name})" for name in plan.copied]
    for name, shape, dtype in [*((name, *layout[:2]) for name, layout in plan.results.items()), *plan.scratch]:
        values[f"{name}_shape"], values[f"{name}_dtype"] = shape, dtype
        before.append(f"{name} = empty({name}_shape, {name}_dtype)")
    launches = [_launched(f"launch{i}", launch, values) for i, launch in enumerate(plan.launches)]
    after = []
    for name, order in plan.turned.items():
        values[f"{name}_order"] = order
        after.append(f"{name} = copied({name}.transpose({name}_order))")
    lines = (*before, *launches, *after, f"return {', '.join(plan.results)}")
    return _maker("run", parameters, lines, tuple(values))(*values.values())


def _launched(name, launch, values):
    """The call of a kernel as text; what it names is added to ``values``."""
    kernel = kernel_of(launch)
    values[name] = kernel.threaded if launch.nanoseconds >= _THREADED_FROM else kernel.alone
    arguments = []
    for argument in launch.arguments:
        if not isinstance(argument, str):
            number, argument = argument, f"{name}_number{len(arguments)}"
            values[argument] = number
        arguments.append(argument)
    return f"{name}({', '.join(arguments)})"


@functools.cache
def _maker(name, parameters, lines, values):
    """The generated function that takes ``values`` and returns the function ``name`` of these lines, which uses them."""
    text = [f"def make({', '.join(values)}):", f"    def {name}({', '.join(parameters)}):"]
    text += [f"        {line}" for line in lines] + [f"    return {name}"]
    made = {}
    exec(compile("\n".join(text), f"<{name}>", "exec"), made)
    return made["make"]


def plan_for(*names):
    """Register what runs the plans of the decorated function as the kernel of the operations called ``names``."""

    def register(plan):
        call = operation(plan)
        call.plan = plan
        return kernel_for(*names)(call)

    return register


def operation(plan):
    """The kernel of an operation whose plans are ``plan(*layouts and options)``: None where there is no program.

    Parameters annotated with Layout are arrays (with ``Layout | None``, which may be missing), those with Passed are
    passed on. All others choose the plan, with the layouts.
    """
    kinds = {name: parameter.annotation for name, parameter in inspect.signature(plan).parameters.items()}
    given = tuple(name for name, kind in kinds.items() if kind in (*_ARRAYS, "Passed"))
    found = Plans()

    def enter(*arguments):
        arguments = dict(zip(kinds, arguments, strict=True))
        arrays = [arguments[name] for name, kind in kinds.items() if kind in _ARRAYS]
        properties = _PROPERTIES[all(array is None or is_plain(array) for array in arrays)]
        layouts, key = [], []
        for name, value in arguments.items():
            if kinds[name] in _ARRAYS:
                layouts.append(None if value is None else layout_of(value))
                key += [None if value is None else getattr(value, each) for each in properties]
            elif kinds[name] == "Passed":
                layouts.append(name)
            else:
                layouts.append(value)
                key.append(value)
        made = plan(*layouts)
        run = found[tuple(key)] = _declined if made is None else runner(made, given)
        return run(*[arguments[name] for name in given])

    return _maker(plan.__name__, tuple(kinds), tuple(_lines(kinds, given)), ("find", "declined", "enter"))(
        found.get, _declined, enter
    )


_ARRAYS = "Layout", "Layout | None"
_PROPERTIES = ("shape", "dtype", "strides"), ("shape", "dtype")  # of arrays in keys: of any, of plain ones


def _lines(kinds, given):
    """The body of an operation's function."""
    flags, keys = [], ([], [])
    for name, kind in kinds.items():
        condition = f"None if {name} is None else " if kind == "Layout | None" else ""
        if kind in _ARRAYS:
            flags.append(f"({condition.replace('None', '-1', 1)}{name}.flags.num)")
        for key, properties in zip(keys, _PROPERTIES):
            if kind in _ARRAYS:
                key += [f"{condition}{name}.{each}" for each in properties]
            elif kind != "Passed":
                key.append(name)
    strided, plain = (f"find(({', '.join(key)},))" for key in keys)
    yield f"flags = {' & '.join(flags)}"
    yield f"if flags & {_PLAIN} == {_PLAIN}:"
    yield f"    run = {plain}"
    yield "else:"
    yield f"    run = {strided} if flags & {_ALIGNED} else declined"
    yield f"return enter({', '.join(kinds)}) if run is None else run({', '.join(given)})"


def _declined(*arguments):
    return NotImplemented
