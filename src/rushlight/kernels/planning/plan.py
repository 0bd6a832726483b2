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


class Made(NamedTuple):
    """What the host makes before the launches: ``function(*arguments)``, given as those of a Launch are, an array or a number."""

    function: Callable
    arguments: tuple


class Plan(NamedTuple):
    """``launches``, one after the other: each a Launch, or what has ``arguments`` and a ``function()`` that takes them.
    ``results``: name -> Layout of what is allocated and returned. ``scratch``: (name, elements, dtype) of memory that the
    launches need; ``thread_scratch``: so much for each thread.

    What is done before them: ``conditions`` are asked; ``copied``: operand of which a plain copy is taken -> its dtype, None
    for its own (of a list: of those that are not plain); ``zeroed``: names of results that begin as zeros; ``begun``: result
    -> operand whose numbers it begins with; ``made``: name -> Made. And behind them: ``turned``: result -> order of the
    dimensions in which it is returned, as a copy; ``rounded``: result -> dtype in which it is returned. ``in_place``: names
    of operands that are written, and returned before the results; where one is copied, the copy is written back.
    """

    launches: Sequence
    results: dict
    scratch: Sequence = ()
    thread_scratch: Sequence = ()
    copied: Mapping = _NOTHING
    turned: Mapping = _NOTHING
    rounded: Mapping = _NOTHING
    zeroed: tuple = ()
    begun: Mapping = _NOTHING
    made: Mapping = _NOTHING
    in_place: tuple = ()
    check: Check | None = None
    conditions: Sequence[Condition] = ()

    @property
    def returned(self):
        """Name -> Layout of each result as it is returned: the operation's rule of shapes and dtypes."""
        found = {}
        for name, layout in self.results.items():
            order = self.turned.get(name, range(layout.ndim))
            found[name] = Layout(tuple([layout.shape[axis] for axis in order]), self.rounded.get(name, layout.dtype))
        return found
