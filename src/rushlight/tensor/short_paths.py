"""The functions of operations on plain tensors and plain values: a short path of their own arity beside the general one."""

from __future__ import annotations

import math

from ..autograd.modes import PLAIN, state
from ..base import dtypes
from ..base.device import memory_format
from ..base.scalars import LOWEST_WORD, WORDS_END
from ..base.size import Size
from ..kernels.routing import elements_of, kernel_of
from ..ops.table import VIEW
from .base import new_tensor, quiet, wrap
from .classes import PLAIN_CLASSES
from .compute import ndarray, schema_of
from .dispatch import finish, general, link_result, named, record_result, record_results
from .fast_views import link, link_several, tracker
from .interposers import INTERPOSERS
from .short_text import code_of

MISSING = object()  # an argument that a call leaves out
_GENERAL_CALLS = 32  # before the text is written, which takes 0.4 ms: as long as 100 calls of the general path
UNREAD_CLASSES = frozenset((int, tuple, memory_format))  # of arguments that only forward understands
_ROWS, _NUMBERS = frozenset((tuple, list, Size)), frozenset((int, float, bool, complex))


def short(op):
    """The function of an operation on plain tensors and plain values: the general path for some calls, then the short one."""
    slow, forward = general(op), op.forward
    op.calls_left = _GENERAL_CALLS

    def call(*args, **kwargs):  # a closure on what the text needs, too: forward, op, slow
        op.calls_left -= 1
        written = op.calls_left <= 0 and _write(op, forward)
        return (op.short if written else slow)(*args, **kwargs)

    op.short = slow if op.refuse else named(call, op)
    return op.short


def _write(op, forward):
    """Give the function of an operation its short path for code; whether it has one."""
    schema = schema_of(op)
    if schema.has_lists:
        op.calls_left = math.inf
        return False
    op.track = tracker(op) if op.kind == VIEW else None
    code = code_of(op, schema, elements_of(op.name))
    op.short.__defaults__ = (MISSING,) * code.co_argcount
    op.short.__code__ = code
    return True


def settle(function):
    """Write the short path of an operation's ``function`` now, if it has one: from then on its code stays what it is."""
    op = getattr(function, "op", None)
    if op is not None and op.__dict__.get("short") is function and not op.refuse and 0 < op.calls_left < math.inf:
        op.calls_left = 0
        _write(op, op.forward)


# ---------------------------------------------------------------- what the text calls, beside the names imported above


def as_given(*values):
    """The positional arguments that a call gave."""
    return [value for value in values if value is not MISSING]


def row_of_ints(value):
    """A row of ints as a tuple; MISSING where it is something else, or holds something else."""
    if value.__class__ not in _ROWS:
        return MISSING
    for item in value:
        if item.__class__ is not int:
            return MISSING
    return tuple(value)


def fits_operand(value):
    """Whether a value is a Python number, and has a place in 64 bits if it is an int."""
    return value.__class__ in _NUMBERS and (value.__class__ is not int or LOWEST_WORD <= value < WORDS_END)


def fits_scalar(value):
    """Whether a value is an int that has a place in 64 bits."""
    return value.__class__ is int and LOWEST_WORD <= value < WORDS_END
