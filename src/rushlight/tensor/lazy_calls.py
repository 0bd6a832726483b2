"""Calls with tensors whose memory is read conjugated or negated (`base.lazy`): operations get plain arrays, views keep the bits."""

from __future__ import annotations

from ..base.lazy import LazyArray, plain, rebuilt
from ..ops.copy import refuse_overlap
from ..ops.moving import write
from .base import wrap


def is_lazy(value):
    """Whether a value is a tensor with a lazy bit, or a list that holds one."""
    if value.__class__ is list:
        return any(map(is_lazy, value))
    return getattr(value, "_array", None).__class__ is LazyArray


def resolved(value):
    """A value as an operation reads it: a lazy tensor as one with its numbers in memory."""
    if value.__class__ is list:
        return list(map(resolved, value))
    return wrap(value._array.resolved()) if is_lazy(value) else value


def view_of(op, values, calculate):
    """The array or arrays of a view of a lazy tensor: ``calculate`` makes them of the memory, and they keep its bits."""
    array, *arguments = values[0]._array, *values[1:]
    bits = op.bits(array.conj, array.neg, *arguments)
    found = calculate([wrap(array.stored), *arguments])
    if found.__class__ is tuple:
        return tuple([_again(each, bits) for each in found])
    return _again(found, bits)


def _again(found, bits):
    """The array of a view with ``bits``; the view itself may have made some of a memory without."""
    return rebuilt(found.stored if found.__class__ is LazyArray else found, *bits)


def written(values, calculate):
    """Let ``calculate`` write into its first value, a lazy tensor: into a copy with its numbers, which is then written back."""
    array = values[0]._array
    refuse_overlap(array.stored)
    work = wrap(array.resolved())
    calculate([work, *map(resolved, values[1:])])
    write(array, work._array)


def on_arrays(lists, written, calculate):
    """What ``calculate`` makes of lists of arrays with lazy ones among them; the lists at places ``written`` are written back."""
    copies = [list(map(plain, arrays)) for arrays in lists]
    found = calculate(copies)
    for place in written:
        for array, copy in zip(lists[place], copies[place]):
            if array.__class__ is LazyArray:
                write(array, copy)
    return found
