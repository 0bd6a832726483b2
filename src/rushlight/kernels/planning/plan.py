"""Plans: what a family would run for operands of certain layouts. Made without arrays, and without compiling anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

Passed = str  # annotates a parameter that differs from call to call and chooses no plan: the plan is given its name


class Launch(NamedTuple):
    """One run of a kernel: of the Program ``build(*form)``, whose key in the cache follows from these.

    ``arguments``: in the program's order, names of operands, results and scratch, or numbers. ``nanoseconds``: about what
    one thread takes, which decides whether others are called.
    """

    build: Callable
    form: tuple
    arguments: tuple
    nanoseconds: float


class Check(NamedTuple):
    """What the host looks at after the launches: where the first number of the scratch array ``flag`` is not 0, it calls
    ``function(*arguments)``, given as those of a Launch are, which raises."""

    flag: str
    function: Callable
    arguments: tuple


class Plan(NamedTuple):
    """``launches``, one after the other. ``results``: name -> Layout of what is allocated and returned, which is the
    operation's rule of shapes and dtypes, too. ``scratch``: (name, elements, dtype) of memory that the launches need.

    ``copied``: names of operands of which plain copies are taken. ``turned``: result -> order of the dimensions in which it is
    returned, as a copy. ``zeroed``: names of results that begin as zeros. ``in_place``: names of operands that are written,
    and returned before the results.
    """

    launches: Sequence[Launch]
    results: dict
    scratch: Sequence = ()
    copied: tuple = ()
    turned: Mapping = MappingProxyType({})
    zeroed: tuple = ()
    in_place: tuple = ()
    check: Check | None = None
