"""Plans: what a family would run for operands of certain layouts. Made without arrays, and without compiling anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from .layout import Layout

Passed = str  # annotates a parameter that differs from call to call and chooses no plan: the plan is given its name
Factor = str | int  # annotates a number that is Passed unless it is 0 or 1: these choose the plan, which is given them

_NOTHING: Mapping = MappingProxyType({})


class Launch(NamedTuple):
    """One run of a kernel: of the Program ``build(*form)``, whose key in the cache follows from these.

    ``arguments``: in the program's order, names of operands, results and scratch, or numbers, tuples for tables of integers,
    None for arrays that are missing. ``nanoseconds``: about what one thread takes, which decides whether others are called.
    ``name``: what logs and profiles call the kernel, by default after its module and ``build``.
    """

    build: Callable
    form: tuple
    arguments: tuple
    nanoseconds: float
    name: str = ""


class HostStep(NamedTuple):
    """What the host does between two launches: ``step(*arguments)``, given as those of a Launch are; what it returns is left."""

    step: Callable
    arguments: tuple

    def function(self):
        return self.step


class Check(NamedTuple):
    """What the host looks at after the launches: where a number of the scratch array ``flag`` is not 0, it calls
    ``function(*arguments)``, given as those of a Launch are, which raises, or returns NotImplemented where NumPy is to compute."""

    flag: str
    function: Callable
    arguments: tuple


def left_to_numpy():
    """For a Check that leaves the call to NumPy."""
    return NotImplemented


class Condition(NamedTuple):
    """What the host looks at before or between the launches: ``function(*arguments)``, given as those of a Launch are, raises
    where numbers are not what they must be, and returns False where NumPy is to compute."""

    function: Callable
    arguments: tuple


class Made(NamedTuple):
    """What the host makes, of operands as they are copied, before the launches: an array or number, ``function(*arguments)``,
    given as those of a Launch are, or NotImplemented where NumPy is to compute."""

    function: Callable
    arguments: tuple


class View(NamedTuple):
    """The array ``of`` that name, broadcast to a ``shape``, its dimensions in another ``order``, at an ``index``."""

    of: str
    shape: tuple | None = None
    order: tuple | None = None
    index: object = None  # type: ignore[assignment]  # a tuple has a method of that name, which nobody needs


class Plan(NamedTuple):
    """``launches``, one after the other: each a Launch, or what has ``arguments`` and a ``function()`` that takes them, as HostStep;
    Conditions among them are looked at in their place.
    ``results``: name -> Layout of what is allocated and returned, or a value that is returned as it is, such as None.
    ``scratch``: (name, elements or shape, dtype) of memory that the launches need; ``thread_scratch``: so much for each thread, and
    behind the dtype, if there is a fourth, so many elements before for all together.

    ``made``: name -> Made, of operands, scratch or results. ``views``: name -> View, of operands, or their copies, and what is
    made (views may be ``copied``, too), results or scratch.
    ``copied``: operand of which a copy is taken -> its Layout, or for a plain one its dtype, None for its own (of a list: of those
    that are not plain).
    ``begun``: result -> operand whose numbers it begins with. ``turned``: result -> order of the dimensions in which it is
    returned, as a copy. ``taken``: result -> View of another one, of which it is a copy. ``given``: result -> Layout of the copy
    that is returned. ``zeroed``: names of results and scratch that begin as zeros, ``aligned``: names of results that begin on a
    cache line. ``in_place``: names of operands that are written, and returned before the results; where one is copied, the
    copy is written back. ``pays``: whether it is worth more than what NumPy does, which is what calls ask; others may not.
    """

    launches: Sequence
    results: dict
    scratch: Sequence = ()
    thread_scratch: Sequence = ()
    copied: Mapping = _NOTHING
    turned: Mapping = _NOTHING
    given: Mapping[str, Layout] = _NOTHING
    zeroed: tuple = ()
    begun: Mapping = _NOTHING
    in_place: tuple = ()
    check: Check | None = None
    conditions: Sequence[Condition] = ()
    made: Mapping = _NOTHING
    views: Mapping = _NOTHING
    taken: Mapping = _NOTHING
    aligned: tuple = ()
    pays: bool = True

    def named(self, names):
        """The Plan with other names for some arrays: ``names`` has new ones by old ones."""

        def new(name):
            return names.get(name, name) if name.__class__ is str else name

        def call(each):
            return each and each._replace(arguments=tuple(map(new, each.arguments)))

        def sizes(memory):
            return [(new(name), *size) for name, *size in memory]

        def keyed(mapping, value=lambda each: each):
            return {new(name): value(each) for name, each in mapping.items()}

        def view(each):
            return each._replace(of=new(each.of))

        check = call(self.check)
        return self._replace(
            launches=list(map(call, self.launches)),
            conditions=list(map(call, self.conditions)),
            check=check and check._replace(flag=new(check.flag)),
            made=keyed(self.made, call),
            begun=keyed(self.begun, new),
            **{field: keyed(getattr(self, field), view) for field in ("views", "taken")},
            **{field: keyed(getattr(self, field)) for field in ("results", "copied", "turned", "given")},
            **{field: sizes(getattr(self, field)) for field in ("scratch", "thread_scratch")},
            **{field: tuple(map(new, getattr(self, field))) for field in ("zeroed", "aligned", "in_place")},
        )

    @property
    def returned(self):
        """Name -> Layout of each result as it is returned: the operation's rule of shapes and dtypes."""
        found = {}
        for name, layout in self.results.items():
            order = self.turned.get(name)
            if order is not None:
                layout = Layout(tuple([layout.shape[axis] for axis in order]), layout.dtype)
            found[name] = self.given.get(name, layout)
        return found


def joined(*plans):
    """One Plan that does what several do, the launches of one after those of the other; one of them may have a check."""
    found = plans[0]
    for plan in plans[1:]:
        found = Plan(*map(_both, found, plan))
    return found


def _both(mine, other):
    """The value of a field of two plans."""
    if isinstance(mine, bool):
        return mine and other
    if isinstance(mine, Mapping):
        return {**mine, **other}
    return mine or other if mine is None or isinstance(mine, Check) else (*mine, *other)
