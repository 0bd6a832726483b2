"""The functions of operations on plain tensors and plain values: a short path of their own arity beside the general one."""

from __future__ import annotations

from functools import partial
from types import CellType, FunctionType

import numpy as np

from ..autograd.leaves import require_grad
from ..autograd.modes import PLAIN, state
from ..base import dtypes
from ..base.device import CPU, DEFAULTS, check_device, device, memory_format
from ..base.lazy import LAZY
from ..base.scalars import LOWEST_WORD, WORDS_END
from ..base.size import Size
from ..kernels.routing import elements_of, kernel_of
from ..ops.table import VIEW
from .base import new_tensor, quiet, wrap
from .classes import MISSING, PLAIN_CLASSES, as_given
from .compute import ndarray, schema_of
from .dispatch import finish, general, link_result, named, record_result, record_results
from .fast_views import link, link_several, tracker
from .interposers import INTERPOSERS
from .refusals import refuse_failed
from .short_text import FIRST, code_of, text_of
from .stored_calls import is_unusual
from .writes import bump, is_tracked

GENERAL_CALLS = 32  # before the text is written, which takes 0.4 ms: as long as 100 calls of the general path
UNREAD_CLASSES = frozenset((int, tuple, memory_format))  # of arguments that only forward understands
DEVICE_CLASSES = frozenset((str, device, type(None)))
# NumPy's letters of dtypes, by their names.
LETTERS = {kind.name: kind.char for kind in map(np.dtype, "?bBhHiIlLefdFD")} | {"bfloat16": "E"}
OTHER_NUMBERS = frozenset((float, bool, complex))  # than int
_ROWS = frozenset((list, Size))


class Path:
    """What a function calls as its ``slow`` at first: the general path, and after some calls the short one, which it writes.

    The function is a closure on ``forward``, ``op`` and ``slow``; ``code()`` is its later code, on the names of a module.
    """

    def __init__(self, op, name, forward, general, names, code):
        self.general, self.code, self.calls = general, code, 0
        self.cell = CellType(self)
        cells = CellType(forward), CellType(op), self.cell
        self.function = named(FunctionType(FIRST, names, name, None, cells), op, name)
        self.function.path = self

    def __call__(self, /, *args, **kwargs):
        self.calls += 1
        if self.calls >= GENERAL_CALLS:
            self.write()
        return self.general(*args, **kwargs)

    def write(self):
        """Give the function the code of its short path."""
        code = self.code()
        self.cell.cell_contents = self.general
        for function in (self.function, *getattr(self.function, "copies", ())):
            function.__defaults__ = (MISSING,) * code.co_argcount
            function.__code__ = code.replace(co_qualname=function.__code__.co_qualname)


def short(op, slow=None):
    """The function of an operation on plain tensors and plain values: the general path for some calls, then the short one.

    ``slow`` is the general path where that is another one than for most operations.
    """
    slow = slow or general(op)
    if "Tensor[]" in op.schema.partition("->")[0]:
        return slow
    op.refused_letters = frozenset([LETTERS[name] for name in op.refuse if name in LETTERS])
    return Path(op, op.name, op.forward, slow, globals(), partial(_code, op)).function


def short_composite(op, entry, name, general):
    """`short` for a composite, ``entry``, called ``name``, whose calls by place are those of an operation."""
    return Path(op, name, op.forward, general, globals(), partial(_code, op, entry)).function


def _code(op, entry=None):
    op.track = tracker(op) if op.kind == VIEW else None
    return code_of((entry or op).name, *text_of(op, schema_of(op), elements_of(op.name), entry))


def settle(function):
    """Write the short path of an operation's ``function`` now, if it has one: from then on its code stays what it is."""
    path = getattr(function, "path", None)
    if path is not None and path.cell.cell_contents is path:
        path.write()


# ---------------------------------------------------------------- what the text calls, beside the names imported above


def row_of(value):
    """A row as a tuple, one of what is no int where it is something else."""
    return tuple(value) if value.__class__ in _ROWS else (MISSING,)
