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
        call0(self, out, number0_2, number0_3)
        return out
"""

from __future__ import annotations

import functools
import inspect

import numpy as np

from ...ops.moving import copied
from ..compiler.kernel import compiled, pool
from ..machine.scratch import scratch
from .layout import is_plain, layout_of
from .plan import HostStep
from .plans import Plans
from .registry import kernel_for

_THREADED_FROM = 5000  # nanoseconds: below, the calling thread is done before another one has begun
_PLAIN, _ALIGNED = 0x101, 0x100  # in the number of an array's flags


def kernel_of(launch):
    """The Kernel that a Launch runs."""
    build = launch.build
    name = launch.name or f"{build.__module__.rpartition('.')[2]}.{build.__name__}"
    return compiled((name, build.__module__, build.__name__, *launch.form), lambda: build(*launch.form))


def runner(plan, parameters):
    """A function of what differs from call to call, named ``parameters``, that runs the plan and returns its results."""
    results, shared, check = plan.results, plan.scratch, plan.check
    values = [np.empty, np.zeros, np.count_nonzero, copied, scratch, own_scratch, np.ndarray]
    for layout in results.values():
        values += layout
    for _, elements, dtype in (*shared, *plan.kept, *plan.thread_scratch):
        values += elements, dtype
    for layout in plan.copied.values():
        values += layout[1:]
    forms, flag = [], None
    for launch in plan.launches:
        run = launch.function if launch.__class__ is HostStep else _call_of(launch)
        forms.append(_form(launch.arguments, values, run))
    if check is not None:
        forms.append(_form(check.arguments, values, check.function))
        is_one = (check.flag, 1) in [(name, elements) for name, elements, _ in shared]
        flag = f"{check.flag}.item()" if is_one else f"count_nonzero({check.flag})"
    conditions = tuple([_form(condition.arguments, values, condition.function) for condition in plan.conditions])
    names = [tuple([name for name, _, _ in places]) for places in (shared, plan.kept, plan.thread_scratch)]
    laid = tuple([name for name, layout in results.items() if not layout.is_plain])
    settings = tuple(plan.copied), laid, plan.zeroed, plan.in_place
    return _run_maker(parameters, tuple(results), *names, *settings, flag, tuple(forms), conditions)(*values)


def _call_of(launch):
    kernel = kernel_of(launch)
    return kernel.threaded if launch.nanoseconds >= _THREADED_FROM else kernel.alone


def own_scratch(name, elements, dtype):
    """Scratch memory of so many elements for each thread."""
    return scratch(name, elements * pool().scratch_areas, dtype)


def _form(arguments, values, function):
    """The names among the arguments of a call, None for each number; it and the function are added to ``values``."""
    values.append(function)
    values += [argument for argument in arguments if argument.__class__ is not str]
    return tuple([argument if argument.__class__ is str else None for argument in arguments])


@functools.cache
def _run_maker(parameters, results, shared, kept, own, taken, laid, zeroed, in_place, flag, forms, conditions):
    """What takes the values of a plan and returns the function that runs it, for all plans with these names.

    ``laid``: of results that do not lie row by row. ``forms`` are those of the launches, and behind them that of the check, if
    there is a ``flag``: the text of its condition.
    """
    names = ["empty", "zeros", "count_nonzero", "copied", "kept_scratch", "own_scratch", "ndarray"]
    names += [f"{name}_{what}" for name in results for what in ("shape", "dtype", "strides")]
    names += [f"{name}_{what}" for name in (*shared, *kept, *own) for what in ("shape", "dtype")]
    names += [f"{name}_copy_{what}" for name in taken for what in ("dtype", "strides")]
    calls = []
    for i, form in enumerate((*forms, *conditions)):
        arguments = [f"number{i}_{place}" if name is None else name for place, name in enumerate(form)]
        names += [f"call{i}", *[argument for argument, name in zip(arguments, form) if name is None]]
        calls.append(f"call{i}({', '.join(arguments)})")
    copies = {name: f"{name} = copied({name}, {name}_copy_dtype, {name}_copy_strides)" for name in taken}
    lines = [f"if {call} is False: return NotImplemented" for call in calls[len(forms) :]]
    lines += [copy for name, copy in copies.items() if name not in results]
    for name in (*results, *shared):
        made = "zeros({0}_shape, {0}_dtype)" if name in zeroed else "empty({0}_shape, {0}_dtype)"
        made = "ndarray({0}_shape, {0}_dtype, None, 0, {0}_strides)" if name in laid else made
        lines.append(f"{name} = {made.format(name)}")
    lines += [f"{name} = kept_scratch('{name}', {name}_shape, {name}_dtype)" for name in kept]
    lines += [f"{name} = own_scratch('{name}', {name}_shape, {name}_dtype)" for name in own]
    lines += calls[: len(forms)]
    if flag is not None:
        lines[-1] = f"if {flag}: {lines[-1]}"
    lines += [copies[name] for name in results if name in copies]
    return _made("run", parameters, [*lines, f"return {', '.join((*in_place, *results))}"], names)


def _made(name, parameters, lines, names):
    """The generated function that takes what ``names`` are for and returns a function of these lines, which uses it."""
    text = [f"def make({', '.join(names)}):", f"    def {name}({', '.join(parameters)}):"]
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
    code = inspect.unwrap(plan).__code__
    names = code.co_varnames[: code.co_argcount]
    kinds = tuple([_KINDS[plan.__annotations__.get(name)] for name in names])
    given = tuple([name for name, kind in zip(names, kinds) if kind is not None])
    found = Plans()

    def enter(*arguments):
        arrays = [array for array, kind in zip(arguments, kinds) if kind in _ARRAYS]
        properties = _PROPERTIES[all(array is None or is_plain(array) for array in arrays)]
        layouts, key = [], []
        for name, kind, value in zip(names, kinds, arguments, strict=True):
            if kind in _ARRAYS:
                layouts.append(None if value is None else layout_of(value))
                key += [None if value is None else getattr(value, each) for each in properties]
            elif kind is PASSED:
                layouts.append(name)
            else:
                layouts.append(value)
                key.append(value)
        made = plan(*layouts)
        run = found[tuple(key)] = _declined if made is None else runner(made, given)
        return run(*[value for value, kind in zip(arguments, kinds) if kind is not None])

    return _call_maker(names, kinds)(found.get, _declined, enter)


ARRAY, MAYBE_ARRAY, PASSED = range(3)
# Of parameters, by the text of their annotations: None for what chooses the plan.
_KINDS = {"Layout": ARRAY, "Layout | None": MAYBE_ARRAY, "Passed": PASSED, None: None}
_ARRAYS = ARRAY, MAYBE_ARRAY
_PROPERTIES = ("shape", "dtype", "strides"), ("shape", "dtype")  # of arrays in keys: of any, of plain ones


@functools.cache
def _call_maker(names, kinds):
    """What takes ``find``, ``declined`` and ``enter`` and returns the function of an operation with such parameters."""
    flags, keys = [], ([], [])
    for name, kind in zip(names, kinds):
        if kind in _ARRAYS:
            flags.append(f"{name}.flags.num" if kind is ARRAY else f"(-1 if {name} is None else {name}.flags.num)")
        for key, properties in zip(keys, _PROPERTIES):
            if kind in _ARRAYS:
                condition = "" if kind is ARRAY else f"None if {name} is None else "
                key += [f"{condition}{name}.{each}" for each in properties]
            elif kind is None:
                key.append(name)
    strided, plain = (f"find(({', '.join(key)},))" for key in keys)
    given = ", ".join([name for name, kind in zip(names, kinds) if kind is not None])
    lines = [
        f"flags = {' & '.join(flags)}",
        f"if flags & {_PLAIN} == {_PLAIN}:",
        f"    run = {plain}",
        "else:",
        f"    run = {strided} if flags & {_ALIGNED} else declined",
        f"return enter({', '.join(names)}) if run is None else run({given})",
    ]
    return _made("call", names, lines, ("find", "declined", "enter"))


def _declined(*arguments):
    return NotImplemented
