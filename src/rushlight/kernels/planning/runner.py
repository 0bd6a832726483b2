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
        out = _0(_1, _2)                                # numpy.empty, a shape, a dtype
        _3(self, out, _4, _5)                           # a kernel, numbers
        return out

    def cat(tensors, dim):                              # of lists there is an `outline` of all layouts
        run = find((outline(tensors, room), dim))
        return enter(tensors, dim) if run is None else run(tensors)
"""

from __future__ import annotations

import functools
import inspect
from functools import partial

import numpy as np

from ...base import settings
from ...ops.moving import copied, write
from ..compiler.kernel import compiled, pool
from ..machine.scratch import aligned, scratch
from .array_lists import outline_function, outline_room
from .layout import Layout, is_plain, layout_of
from .plan import Condition, Launch
from .plans import Plans
from .registry import kernel_for

_THREADED_FROM = 5000  # nanoseconds: below, the calling thread is done before another one has begun
_KEPT_FROM = 1 << 16  # bytes of scratch memory: so many stay with the Python thread, the system's come page by page
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
    """The lines of a function to be generated, and the values that it uses, by the names ``_0``, ``_1``, ..."""

    def __init__(self):
        self.lines, self.values = [], []

    def use(self, value):
        """The name of a value."""
        self.values.append(value)
        return f"_{len(self.values) - 1}"

    def call(self, function, arguments):
        """A call of a function with arguments as a plan has them: names, numbers, tables of integers."""
        given = []
        for argument in arguments:
            table = argument.__class__ is tuple
            named = argument.__class__ is str
            given.append(argument if named else self.use(np.array(argument, np.int64) if table else argument))
        return f"{self.use(function)}({', '.join(given)})"

    def view(self, view):
        found = view.of
        if view.shape is not None:
            found = f"{self.use(np.broadcast_to)}({found}, {self.use(view.shape)})"
        if view.order is not None:
            found += f".transpose({self.use(view.order)})"
        return found if view.index is None else f"{found}[{self.use(view.index)}]"

    def copy(self, name, goal):
        """A copy of an array of a Layout, or a plain one of a dtype."""
        wanted = (goal.dtype, goal.strides) if isinstance(goal, Layout) else (goal,)
        return f"{self.use(copied)}({', '.join([name, *map(self.use, wanted)])})"

    def function(self, name, parameters):
        names = tuple([f"_{i}" for i in range(len(self.values))])
        return _made(name, parameters, tuple(self.lines), names)(*self.values)


def runner(plan, parameters, lists=()):
    """A function of what differs from call to call, named ``parameters``, that runs the plan and returns its results. Of the
    parameters, ``lists`` are lists of arrays."""
    text = _Text()
    use, lines, results = text.use, text.lines, plan.results
    lines += [f"if {text.call(*condition)} is False: return NotImplemented" for condition in plan.conditions]
    given = {*parameters, *plan.made}
    restored = [name for name in plan.in_place if name in plan.copied]
    lines += [f"{name}_given = {name}" for name in restored]
    lines += [f"{name} = {use(plain_ones)}({name})" for name in lists if name in plan.copied]
    copies = {name: f"{name} = {text.copy(name, goal)}" for name, goal in plan.copied.items() if name not in lists}
    lines += [line for name, line in copies.items() if name not in plan.views]
    for name, made in plan.made.items():
        lines += [f"{name} = {text.call(*made)}", f"if {name} is NotImplemented: return NotImplemented"]
    lines += [f"{name} = {text.view(view)}" for name, view in plan.views.items() if view.of in given]
    lines += [line for name, line in copies.items() if name in plan.views]
    _allocate(text, plan)
    lines += [f"{name} = {text.view(view)}" for name, view in plan.views.items() if view.of not in given]
    for launch in plan.launches:
        if launch.__class__ is Condition:
            lines.append(f"if {text.call(*launch)} is False: return NotImplemented")
        else:
            lines.append(text.call(function_of(launch), launch.arguments))
    if plan.check is not None:
        flag, function, arguments = plan.check
        is_one = (flag, 1) in [(name, elements) for name, elements, _ in plan.scratch]
        found = f"{flag}.item()" if is_one else f"{use(np.count_nonzero)}({flag})"
        lines.append(f"if {found}: return {text.call(function, arguments)}")
    lines += [f"{name} = {text.view(view)}.copy()" for name, view in plan.taken.items()]
    lines += [f"{name} = {use(copied)}({name}.transpose({use(order)}))" for name, order in plan.turned.items()]
    lines += [f"{name} = {text.copy(name, goal)}" for name, goal in plan.given.items()]
    lines += [f"{use(write)}({name}_given, {name})" for name in restored]
    written = [f"{name}_given" if name in restored else name for name in plan.in_place]
    returned = [name if isinstance(layout, Layout) else use(layout) for name, layout in results.items()]
    lines.append(f"return {', '.join((*written, *returned))}")
    return text.function("run", parameters)


def _allocate(text, plan):
    """The lines that make a plan's results and scratch arrays."""
    use = text.use
    for name, layout in plan.results.items():
        if name in plan.begun:
            text.lines.append(f"{name} = {text.call(copied, (plan.begun[name], layout.dtype))}")
        elif isinstance(layout, Layout) and name not in plan.taken and name not in plan.made:
            function, arguments = _memory(layout, name in plan.zeroed, name in plan.aligned)
            text.lines.append(f"{name} = {use(function)}({', '.join([use(each) for each in arguments])})")
    for name, elements, dtype in plan.scratch:
        is_kept = elements.__class__ is int and elements * np.dtype(dtype).itemsize >= _KEPT_FROM
        is_kept = is_kept and not (plan.check and name == plan.check.flag)
        function = np.zeros if name in plan.zeroed else partial(scratch, name) if is_kept else np.empty
        text.lines.append(f"{name} = {use(function)}({use(elements)}, {use(dtype)})")
    for name, *size in _largest(plan.thread_scratch):
        text.lines.append(f"{name} = {use(own_scratch)}({', '.join([use(each) for each in (name, *size)])})")
        if name in plan.zeroed:
            text.lines.append(f"{name}.fill(0)")


def _largest(memory):
    """Scratch memory by different names: as much as the largest of one name."""
    found = {}
    for name, elements, dtype, *common in memory:
        before = found.get(name, (name, 0, dtype, 0))
        found[name] = name, max(elements, before[1]), dtype, max(before[3], *common, 0)
    return found.values()


def _memory(layout, is_zeroed, is_aligned):
    """(function, arguments) that make an array of a layout."""
    shape, dtype, strides = layout
    if is_aligned:
        return _aligned_memory, (*layout, max(map(int.__mul__, shape, layout.steps), default=1))
    if strides is None:
        return np.zeros if is_zeroed else np.empty, (shape, dtype)
    return np.ndarray, (shape, dtype, None, 0, strides)


def _aligned_memory(shape, dtype, strides, extent):
    return np.ndarray(shape, dtype, aligned(extent, dtype), 0, strides)


def own_scratch(name, elements, dtype, common):
    """Scratch memory of so many elements for each thread, behind those that all have in common."""
    return scratch(name, common + elements * pool().scratch_areas, dtype)


def plain_ones(arrays):
    """The arrays of a list, copied where they are not plain."""
    return [array if is_plain(array) else copied(array) for array in arrays]


@functools.cache
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

    Parameters annotated with Layout are arrays (with ``Layout | None``, which may be missing), those with Layouts lists of
    such, those with Passed are passed on, those with Factor where they are neither 0 nor 1. All others choose the plan, with
    the layouts, and so does how many threads there are.
    """
    code = inspect.unwrap(plan).__code__
    names = code.co_varnames[: code.co_argcount]
    kinds = tuple([_KINDS[plan.__annotations__.get(name)] for name in names])
    given = tuple([name for name, kind in zip(names, kinds) if kind is not None])
    lists = [name for name, kind in zip(names, kinds) if kind is LISTED]
    found = Plans()
    settings.thread_listeners.append(lambda threads: found.clear())

    def enter(*arguments):
        if any(value.__class__ not in _SEQUENCES for value, kind in zip(arguments, kinds) if kind is LISTED):
            return NotImplemented
        arrays = [array for array, kind in zip(arguments, kinds) if kind in _ARRAYS]
        properties = _PROPERTIES[all(array is None or is_plain(array) for array in arrays)]
        layouts, key = [], []
        for name, kind, value in zip(names, kinds, arguments, strict=True):
            if kind is SPREAD:
                layouts.append(Layout(value.shape, value.dtype, value.strides))
                key += layouts[-1]
            elif kind in _ARRAYS:
                layouts.append(None if value is None else layout_of(value))
                key += [None if value is None else getattr(value, each) for each in properties]
            elif kind is LISTED:
                key.append(outline_function()(value, outline_room()))
                if key[-1] is None or not all(array is None or array.flags.aligned for array in value):
                    return NotImplemented
                layouts.append(tuple([None if array is None else layout_of(array) for array in value]))
            elif kind is PASSED:
                layouts.append(name)
            elif kind is FACTOR:
                chooses = value == 0 or value == 1
                layouts.append(value if chooses else name)
                key.append(value if chooses else None)
            else:
                layouts.append(value)
                key.append(value)
        made = plan(*layouts)
        run = found[tuple(key)] = _declined if made is None or not made.pays else runner(made, given, lists)
        return run(*[value for value, kind in zip(arguments, kinds) if kind is not None])

    outlines = (outline_function(), outline_room()) if lists else ()
    call = _call_maker(names, kinds)(found.get, _declined, enter, *outlines)
    call.forget, call.__defaults__ = found.clear, inspect.unwrap(plan).__defaults__
    return call


_SEQUENCES = list, tuple
ARRAY, MAYBE_ARRAY, PASSED, FACTOR, LISTED, SPREAD = range(6)
# Of parameters, by the text of their annotations: None for what chooses the plan.
_KINDS = {
    "Layout": ARRAY,
    "Layout | None": MAYBE_ARRAY,
    "Spread": SPREAD,
    "Passed": PASSED,
    "Factor": FACTOR,
    "Layouts": LISTED,
    None: None,
}
_ARRAYS = ARRAY, MAYBE_ARRAY, SPREAD
_PROPERTIES = Layout._fields, Layout._fields[:2]  # of arrays in keys: of any, of plain ones


def _call_maker(names, kinds):
    """What takes ``find``, ``declined``, ``enter`` and, where there are lists, ``outline`` and ``room``, and returns the
    function of an operation with such parameters."""
    flags, keys = [], ([], [])
    for name, kind in zip(names, kinds):
        if kind in _ARRAYS:
            flags.append(
                f"(-1 if {name} is None else {name}.flags.num)" if kind is MAYBE_ARRAY else f"{name}.flags.num"
            )
        for key, properties in zip(keys, _PROPERTIES):
            if kind is SPREAD:
                key += [f"{name}.{each}" for each in _PROPERTIES[0]]
            elif kind in _ARRAYS:
                condition = "" if kind is ARRAY else f"None if {name} is None else "
                key += [f"{condition}{name}.{each}" for each in properties]
            elif kind is LISTED:
                key.append(f"outline({name}, room)")
            elif kind is FACTOR:
                key.append(f"{name} if {name} == 0 or {name} == 1 else None")
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
    outlines = ("outline", "room") if LISTED in kinds else ()
    return _made("call", names, tuple(lines), ("find", "declined", "enter", *outlines))


def _declined(*arguments):
    return NotImplemented
