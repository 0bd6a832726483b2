"""The runner: plans, and the operations they are for, as functions that do what every call has to do and nothing else.

Such a function is generated as text, with a name for all that it uses, and put together with its values: texts that are alike
but for these are compiled once, so that a new shape costs no compilation.

    def softmax(self, dim, dtype):                      # an operation: its plans are found by layouts and options
        flags = self.flags.num
        if flags & 257 == 257:                          # row by row, aligned
            run = find((self.shape, self.dtype, dim, dtype))
        else:
            run = find((self.shape, self.dtype, self.strides, dim, dtype)) if flags & 256 else declined
        return enter(self, dim, dtype) if run is None else run(self)

    def run(self):                                      # a plan
        out = _2(_0, _1)                                # np.empty, its shape and dtype
        _5(self, out, _3, _4)                           # a kernel, and numbers
        return out

    def cat(tensors, dim):                              # of lists there is an `outline` of all layouts
        run = find((outline(tensors, room), dim))
        return enter(tensors, dim) if run is None else run(tensors)
"""

from __future__ import annotations

import functools
import inspect

import numpy as np

from ...base import settings
from ...ops.moving import copied, write
from ..compiler.kernel import compiled, pool
from ..machine.scratch import scratch
from .array_lists import outline_function, outline_room
from .layout import is_plain, layout_of
from .plan import Launch
from .plans import Plans
from .registry import kernel_for

_THREADED_FROM = 5000  # nanoseconds: below, the calling thread is done before another one has begun
_KEPT_FROM = (
    1 << 16
)  # bytes of scratch memory that stay with the Python thread: the system's are found anew, page by page
_PLAIN, _ALIGNED = 0x101, 0x100  # in the number of an array's flags


def kernel_of(launch):
    """The Kernel that a Launch runs."""
    build = launch.build
    name = launch.name or f"{build.__module__.rpartition('.')[2]}.{build.__name__}"
    return compiled((name, build.__module__, build.__name__, *launch.form), lambda: build(*launch.form))


def function_of(launch):
    """What a launch calls."""
    if launch.__class__ is not Launch:
        return launch.function()
    kernel = kernel_of(launch)
    return kernel.threaded if launch.nanoseconds >= _THREADED_FROM else kernel.alone


class _Text:
    """The lines of a function, with the ``names`` in them of what it uses, and the ``values`` of these."""

    def __init__(self):
        self.lines, self.names, self.values = [], [], []

    def value(self, value):
        self.names.append(f"_{len(self.names)}")
        self.values.append(value)
        return self.names[-1]

    def call(self, function, arguments):
        given = [each if each.__class__ is str else self.value(each) for each in arguments]
        return f"{self.value(function)}({', '.join(given)})"


def runner(plan, parameters, lists=()):
    """A function of what differs from call to call, named ``parameters``, that runs the plan and returns its results. Of the
    parameters, ``lists`` are lists of arrays."""
    text, returned = _Text(), [f"{name}_given" if name in plan.copied else name for name in plan.in_place]
    add, value, call = text.lines.append, text.value, text.call
    for condition in plan.conditions:
        add(f"if {call(*condition)} is False: return NotImplemented")
    for name in plan.in_place:
        if name in plan.copied:
            add(f"{name}_given = {name}")
    for name, dtype in plan.copied.items():
        add(f"{name} = {call(plain_ones, (name,)) if name in lists else call(copied, (name, dtype))}")
    _add_memory(plan, text)
    for name, made in plan.made.items():
        add(f"{name} = {call(*made)}")
    for launch in plan.launches:
        add(call(function_of(launch), launch.arguments))
    if plan.check is not None:
        flag, *check = plan.check
        is_one = (flag, 1) in [(name, elements) for name, elements, _ in plan.scratch]
        add(f"if {f'{flag}.item()' if is_one else call(np.count_nonzero, (flag,))}: {call(*check)}")
    for name, order in plan.turned.items():
        add(f"{name} = {value(copied)}({name}.transpose({value(order)}))")
    for name, dtype in plan.rounded.items():
        add(f"{name} = {call(copied, (name, dtype))}")
    for name in plan.in_place:
        if name in plan.copied:
            add(call(write, (f"{name}_given", name)))
    add(f"return {', '.join((*returned, *plan.results))}")
    return _made("run", parameters, tuple(text.lines), tuple(text.names))(*text.values)


def _add_memory(plan, text):
    """The lines that make results and scratch memory."""
    add, call = text.lines.append, text.call
    for name, layout in plan.results.items():
        if name in plan.begun:
            add(f"{name} = {call(copied, (plan.begun[name], layout.dtype))}")
        else:
            add(f"{name} = {call(np.zeros if name in plan.zeroed else np.empty, layout[:2])}")
    for name, elements, dtype in plan.scratch:
        if name in plan.zeroed:
            add(f"{name} = {call(np.zeros, (elements, dtype))}")
        elif elements * np.dtype(dtype).itemsize < _KEPT_FROM or (plan.check and name == plan.check.flag):
            add(f"{name} = {call(np.empty, (elements, dtype))}")
        else:
            add(f"{name} = {text.value(scratch)}({name!r}, {text.value(elements)}, {text.value(dtype)})")
    for name, elements, dtype in plan.thread_scratch:
        add(f"{name} = {text.value(own_scratch)}({name!r}, {text.value(elements)}, {text.value(dtype)})")


def own_scratch(name, elements, dtype):
    """Scratch memory of so many elements for each thread."""
    return scratch(name, elements * pool().scratch_areas, dtype)


def plain_ones(arrays):
    """The arrays of a list, copied where they are not plain."""
    return [array if is_plain(array) else copied(array) for array in arrays]


@functools.cache
def _made(name, parameters, lines, names):
    """The generated function that takes what ``names`` are for and returns a function of these lines, which uses it: one for
    all plans and operations with these lines."""
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

    Parameters annotated with Layout are arrays (with ``Layout | None``, which may be missing), those with Layouts lists of
    such, those with Passed are passed on. All others choose the plan, with the layouts and the number of threads.
    """
    code = inspect.unwrap(plan).__code__
    names = code.co_varnames[: code.co_argcount]
    kinds = tuple([_KINDS[plan.__annotations__.get(name)] for name in names])
    given = tuple([name for name, kind in zip(names, kinds) if kind is not None])
    lists = [name for name, kind in zip(names, kinds) if kind is LISTED]
    found = Plans()
    settings.thread_listeners.append(lambda threads: found.clear())

    def enter(*arguments):
        if any(value.__class__ is not list for value, kind in zip(arguments, kinds) if kind is LISTED):
            return NotImplemented
        arrays = [array for array, kind in zip(arguments, kinds) if kind in _ARRAYS]
        properties = _PROPERTIES[all(array is None or is_plain(array) for array in arrays)]
        layouts, key = [], []
        for name, kind, value in zip(names, kinds, arguments, strict=True):
            if kind in _ARRAYS:
                layouts.append(None if value is None else layout_of(value))
                key += [None if value is None else getattr(value, each) for each in properties]
            elif kind is LISTED:
                key.append(outline_function()(value, outline_room()))
                if key[-1] is None or not all(array is None or array.flags.aligned for array in value):
                    return NotImplemented
                layouts.append(tuple([None if array is None else layout_of(array) for array in value]))
            elif kind is PASSED:
                layouts.append(name)
            else:
                layouts.append(value)
                key.append(value)
        made = plan(*layouts)
        run = found[tuple(key)] = _declined if made is None else runner(made, given, lists)
        return run(*[value for value, kind in zip(arguments, kinds) if kind is not None])

    outlines = (outline_function(), outline_room()) if lists else ()
    return _call_maker(names, kinds)(found.get, _declined, enter, *outlines)


ARRAY, MAYBE_ARRAY, PASSED, LISTED = range(4)
# Of parameters, by the text of their annotations: None for what chooses the plan.
_KINDS = {"Layout": ARRAY, "Layout | None": MAYBE_ARRAY, "Passed": PASSED, "Layouts": LISTED, None: None}
_ARRAYS = ARRAY, MAYBE_ARRAY
_PROPERTIES = ("shape", "dtype", "strides"), ("shape", "dtype")  # of arrays in keys: of any, of plain ones


def _call_maker(names, kinds):
    """What takes ``find``, ``declined``, ``enter`` and, where there are lists, ``outline`` and ``room``, and returns the
    function of an operation with such parameters."""
    flags, keys, is_listed = [], ([], []), LISTED in kinds
    for name, kind in zip(names, kinds):
        if kind in _ARRAYS:
            flags.append(f"{name}.flags.num" if kind is ARRAY else f"(-1 if {name} is None else {name}.flags.num)")
        for key, properties in zip(keys, _PROPERTIES):
            if kind in _ARRAYS:
                condition = "" if kind is ARRAY else f"None if {name} is None else "
                key += [f"{condition}{name}.{each}" for each in properties]
            elif kind is LISTED:
                key.append(f"outline({name}, room)")
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
    ]
    lines = [
        *(lines if flags else [f"run = {plain}"]),
        f"return enter({', '.join(names)}) if run is None else run({given})",
    ]
    return _made("call", names, tuple(lines), ("find", "declined", "enter", *("outline", "room") * is_listed))


def _declined(*arguments):
    return NotImplemented
