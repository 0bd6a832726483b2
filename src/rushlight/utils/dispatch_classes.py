"""Subclasses of Tensor with a ``__torch_dispatch__``, which sees their operations below autograd; some have no memory of their own.

A tensor of `Tensor._make_wrapper_subclass` has shape, strides and dtype alone: whatever its class keeps in attributes holds the
numbers. Operations with a tensor of such a class among their arguments go to its ``__torch_dispatch__``, as in modes
(`_python_dispatch`), and are recorded around that: gradients are found by the same operations, and go there too.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np

from ..autograd import no_grad
from ..base.device import strided
from ..base.dtypes import float32
from ..base.errors import hinted
from ..base.layouts import LAYOUT_PLUGS, Layout, PartedArray
from ..base.shapes import contiguous_strides
from ..ops.table import functions
from ..tensor import Tensor
from ..tensor.attributes import held_by
from ..tensor.base import wrap
from ..tensor.compute import schema_of
from ..tensor.dispatch import connect, run
from ..tensor.overrides import in_class
from ..tensor.writes import around_write, run_inplace
from .dispatching import CLASSES, dispatched, handlers_of_classes, see_beside_the_waist
from .native_operations import in_parts


class _Flags(NamedTuple):
    """What composites ask of an array's layout."""

    c_contiguous: bool
    f_contiguous: bool


class WrappedArray(PartedArray):
    """In place of the array of a tensor without memory: its shape, strides (in elements) and dtype."""

    __slots__ = ("offset", "shape", "steps")
    layout = strided
    absent = True
    hint = "its class has to see the call in its __torch_dispatch__, which this one does not pass"

    def __init__(self, shape, steps, offset, dtype):
        self.values = np.empty(0, dtype.numpy)
        self.shape, self.steps, self.offset = tuple(shape), tuple(steps), offset

    flags = property(lambda self: _Flags(self.steps == contiguous_strides(self.shape), False))
    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))
    nbytes = property(lambda self: self.size * self.itemsize)

    def __len__(self):
        return self.shape[0]

    def refused(self):
        """The error where an operation reads what is not there."""
        return NotImplementedError(hinted("this operation does not take a tensor without memory of its own", self.hint))


def make_wrapper(cls, size, *, strides=None, storage_offset=0, dtype=None, device=None, requires_grad=False, **others):
    """An instance of ``cls``, a subclass of Tensor with a ``__torch_dispatch__``, that has no memory.

    Args:
        size: its shape.
        strides: in elements; row by row by default.
        dtype: float32 by default.
        requires_grad: whether it is a leaf that takes gradients. Default: False
        device, others: accepted, as PyTorch's ``_make_wrapper_subclass`` has them: tensors here are the CPU's.
    """
    if cls not in CLASSES:
        raise RuntimeError(
            hinted(
                f"{cls.__name__} must define __torch_dispatch__",
                "a tensor without memory needs somebody who computes: a classmethod __torch_dispatch__(cls, func, types, args, kwargs)",
            )
        )
    steps = contiguous_strides(size) if strides is None else strides
    made = in_class(wrap(WrappedArray(size, steps, storage_offset, dtype or float32)), cls)
    return made.requires_grad_(True) if requires_grad else made


def register(cls):
    """Let a class with a ``__torch_dispatch__`` see its operations; `Tensor.__init_subclass__` calls this."""
    CLASSES.add(cls)
    for name, method in _METHODS.items():
        if getattr(cls, name, None) is getattr(Tensor, name, None):
            setattr(cls, name, method)
    if WrappedArray not in LAYOUT_PLUGS:
        see_beside_the_waist()
        LAYOUT_PLUGS[WrappedArray] = Layout(Tensor, _call, _write, _write_out, _copied, _accumulated)


def _of_memory(name, of_wrapped):
    """A method that asks how the memory lies, for tensors without memory too."""
    plain = getattr(Tensor, name)

    def call(self, *args, **kwargs):
        if self._array.__class__ is not WrappedArray:
            return plain(self, *args, **kwargs)
        return of_wrapped(self, *args, **kwargs)

    call.__name__ = name
    return call


def _alias(self):
    """The same tensor outside the graph: of its class, with all that this keeps, as results are saved for backward."""
    made = object.__new__(type(self))
    held_by(made).update(held_by(self))
    for cls in type(self).__mro__[: type(self).__mro__.index(Tensor)]:
        for name in vars(cls).get("__slots__", ()):
            if hasattr(self, name):
                setattr(made, name, getattr(self, name))
    made._edge = made._base = made._grad = None
    return made


def _stride(self, dim=None):
    steps = self._array.steps
    return steps if dim is None else steps[functions.wrap_own_dim(dim, len(steps))]


def _no_numpy(self, *args, **kwargs):
    message = ".numpy() is not supported for tensor subclasses."
    raise RuntimeError(
        hinted(message, f"a {type(self).__name__} has no memory of its own: ask for the tensor that it keeps")
    )


def _no_list(self):
    message = f".tolist() is not supported for tensor subclasses, got {type(self).__name__}"
    raise RuntimeError(hinted(message, "it has no memory of its own: ask for the tensor that it keeps"))


_METHODS = {
    "_alias": _of_memory("_alias", _alias),
    "stride": _of_memory("stride", _stride),
    "storage_offset": _of_memory("storage_offset", lambda self: self._array.offset),
    "numpy": _of_memory("numpy", _no_numpy),
    "tolist": _of_memory("tolist", _no_list),
    "data_ptr": _of_memory("data_ptr", lambda self: 0),
}


def _call(op, values):
    handlers = handlers_of_classes(values)
    if not handlers:
        return NotImplemented
    found = in_parts(op, values)
    if found is not NotImplemented:
        return found
    schema = schema_of(op)
    with no_grad():
        found = dispatched(handlers, op, schema, values, partial(run, op, schema), False)
    return connect(op, schema, values, found)


def _write(op, name, values):
    handlers = handlers_of_classes(values)
    if not handlers:
        return NotImplemented
    schema = schema_of(op)

    def write(values):
        with no_grad():
            dispatched(handlers, op, schema, values, partial(run_inplace, op, schema, name=name), True)

    return around_write(op, schema, name, values, write)


def _write_out(op, values, targets):
    if not handlers_of_classes([*values, *targets]):
        return False
    message = f"{op.name}(): out= with tensors that have a __torch_dispatch__ is not in this version"
    raise NotImplementedError(hinted(message, "assign the result instead"))


def _copied(gradient):
    return gradient.detach()


def _accumulated(present, gradient, recording):
    return present + gradient if recording else present.add_(gradient)
