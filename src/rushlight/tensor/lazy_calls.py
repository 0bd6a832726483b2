"""Calls with tensors whose memory is read conjugated or negated (`base.lazy`): operations get plain arrays, views keep the bits."""

from __future__ import annotations

from importlib import import_module

from ..base.device import CPU, META
from ..base.lazy import LazyArray, as_meta, is_meta, no_numbers, plain, rebuilt, stored_in
from ..kernels.elementwise import elementwise_elements
from ..kernels.routing import run_elementwise
from ..ops.copy import refuse_overlap
from ..ops.moving import write
from ..ops.table import TABLE
from .base import wrap


def is_lazy(value):
    """Whether a value is a tensor with a lazy bit, or a list that holds one."""
    if value.__class__ is list:
        return any(map(is_lazy, value))
    return getattr(value, "_array", None).__class__ is LazyArray


def holds_meta(value):
    """Whether a value is a tensor of the meta device, or a list that holds one."""
    if value.__class__ is list:
        return any(map(holds_meta, value))
    return is_meta(getattr(value, "_array", None))


def moved(tensor, where):
    """The tensor on a device: itself, where it is there; one without elements on the meta device."""
    array = tensor._array
    if is_meta(array):
        if where is META:
            return tensor
        raise no_numbers()
    return tensor if where is CPU else wrap(as_meta(array))


def meta_calls():
    """The module of calls with tensors of the meta device, which few programs need: imported at the first one."""
    return import_module(".meta_calls", __package__)


def resolved(value):
    """A value as an operation reads it: a lazy tensor as one with its numbers in memory."""
    if value.__class__ is list:
        return list(map(resolved, value))
    return wrap(_numbers(value._array)) if is_lazy(value) else value


def _numbers(array):
    """The numbers that a LazyArray shows, as an array: of large ones by the kernels of the operations that the bits stand for."""
    found = array.stored
    for bit, name in ((array.conj, "conjugate"), (array.neg, "neg")):
        if bit:
            op, made = TABLE[name], NotImplemented
            if found.size >= elementwise_elements(op):
                made = run_elementwise(op, (found,), (), found.dtype, found.dtype)
            found = LazyArray(found, name == "conjugate", name == "neg").resolved() if made is NotImplemented else made
    return found


def view_of(op, values, calculate):
    """The array or arrays of a view of a lazy tensor: ``calculate`` makes them of the memory, and they keep its bits."""
    array, arguments = values[0]._array, values[1:]
    conj, neg = op.bits(array.conj, array.neg, *arguments)
    found = calculate([wrap(array.stored), *arguments])
    # The view itself may have made bits for memory that has none: `stored_in` looks behind those.
    if found.__class__ is tuple:
        return tuple([rebuilt(stored_in(each), conj, neg) for each in found])
    return rebuilt(stored_in(found), conj, neg)


def written(values, calculate):
    """Let ``calculate`` write into its first value, a lazy tensor: into a copy with its numbers, which is then written back."""
    array = values[0]._array
    refuse_overlap(array.stored)
    work = wrap(_numbers(array))
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
