"""Plans: what a family would run for operands of certain layouts. Made without arrays, and without compiling anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from .layout import Layout

Passed = str  # annotates a parameter that differs from call to call and chooses no plan: the plan is given its name


_NOTHING: Mapping = MappingProxyType({})


class Launch(NamedTuple):
    """One run of a kernel: of the Program ``build(*form)``, whose key in the cache follows from these.

    ``arguments``: in the program's order, names of operands, results and scratch, or numbers. ``nanoseconds``: about what
    one thread takes, which decides whether others are called. ``name``: what logs and profiles call the kernel, by default
    after its module and ``build``.
    """

    build: Callable
    form: tuple
    arguments: tuple
    nanoseconds: float
    name: str = ""


class HostStep(NamedTuple):
    """What the host does between two launches: ``function(*arguments)``, given as those of a Launch are; what it returns is left."""

    function: Callable
    arguments: tuple


class Check(NamedTuple):
    """What the host looks at after the launches: where a number of the scratch array ``flag`` is not 0, it calls
    ``function(*arguments)``, given as those of a Launch are, which raises."""

    flag: str
    function: Callable
    arguments: tuple


class Condition(NamedTuple):
    """What the host looks at before the launches: ``function(*arguments)``, given as those of a Launch are, raises where numbers
    are not what they must be, and returns False where NumPy is to compute."""

    function: Callable
    arguments: tuple


class Plan(NamedTuple):
    """``launches``, one after the other, host steps among them. ``results``: name -> Layout of what is allocated and returned.
    ``scratch``: (name, elements or shape, dtype) of memory that the launches need; ``kept``: of such that stays with the
    Python thread for the next call, at least as large, because it is; ``thread_scratch``: so much for each thread.

    ``copied``: name of an operand or result -> Layout of the copy that launches read in the operand's place, or that is
    returned in the result's. ``zeroed``: names of results that begin as zeros. ``in_place``: names of operands that are
    written, and returned before the results.
    """

    launches: Sequence[Launch | HostStep]
    results: dict[str, Layout]
    scratch: Sequence = ()
    kept: Sequence = ()
    thread_scratch: Sequence = ()
    copied: Mapping[str, Layout] = _NOTHING
    zeroed: tuple = ()
    in_place: tuple = ()
    check: Check | None = None
    conditions: Sequence[Condition] = ()

    @property
    def returned(self):
        """Name -> Layout of each result as it is returned: the operation's rule of shapes and dtypes."""
        return {name: self.copied.get(name, layout) for name, layout in self.results.items()}
