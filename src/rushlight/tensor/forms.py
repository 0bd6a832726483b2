"""The functions of operations that write into tensors, or make new ones: what users call, on the waist of dispatch.py."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

import numpy as np

from ..autograd.hints import NOTED_WRITES
from ..autograd.leaves import require_grad
from ..autograd.modes import state
from ..autograd.node import INFERENCE, UNTOUCHED, VersionCounter
from ..base import dtypes
from ..base.device import check_device, check_layout
from ..base.errors import hinted
from ..base.user_code import user_place
from ..kernels.routing import NEVER, elements_of, kernel_of, run_elementwise
from ..kernels.thresholds import elementwise_elements
from ..ops import table
from ..ops.copy import refuse_overlap, refuse_partly_shared
from ..ops.outputs import KEEP_SHAPE
from ..ops.table import functions
from .base import quiet, wrap
from .classes import PLAIN_CLASSES
from .compute import default_rule, schema_of
from .dispatch import named
from .elementwise import fills
from .fast import CALM, NATIVE_FLOATS, WITH_NUMBERS, number_array
from .interposers import INTERPOSERS, innermost
from .writes import bump, run_inplace, write_result

array_of, size_of = attrgetter("_array"), attrgetter("size")
ndarray = np.ndarray
VALUES = frozenset((type(None), bool, int, float, str, tuple))


def inplace_form(op):
    """The in-place form of an operation: ``name_(self, ...)`` writes the result into self."""
    name = op.name + "_"
    ufunc = op.ufunc if op.kind == table.BINARY and default_rule(op) in (table.PROMOTE, table.FLOAT) else None
    ufunc = ufunc if isinstance(ufunc, np.ufunc) and not op.refuse else None
    elements, large = elementwise_elements(op), run_elementwise
    options = None if ufunc is None else tuple(a.default for a in schema_of(op).arguments[2:])
    numbered = WITH_NUMBERS if ufunc in CALM and not op.with_number else {}

    def call(self, *args, **kwargs):
        # The common small cases: a ufunc, one dtype or a number, nothing recorded.
        if ufunc is not None and self._edge is None and len(args) == 1 and not kwargs and not INTERPOSERS:
            other = args[0]
            if other.__class__ in PLAIN_CLASSES and (other._edge is None or not state.recording):
                x, y = self._array, other._array
                if x.dtype is y.dtype and x.dtype in dtypes.FLOATS:
                    if y.base is not None or x.base is not None:
                        refuse_overlap(x)
                        refuse_partly_shared(x, y)
                    try:
                        if (
                            x.size < elements
                            or (x.shape != y.shape and not fills(x, (x, y)))
                            or large(op, (x, y), options, out=x) is NotImplemented
                        ):
                            quiet.run(ufunc, x, y, out=x)
                    except ValueError:
                        return run_inplace(op, schema_of(op), schema_of(op).bind((self, *args), kwargs), name)
                    bump(self, name)
                    return self
            x = self._array
            if other.__class__ in numbered.get(x.dtype, ()) and x.size < elements and self.__class__ in PLAIN_CLASSES:
                if x.base is not None:
                    refuse_overlap(x)
                try:
                    quiet.run(ufunc, x, number_array(other, x.dtype), out=x)
                except OverflowError:  # beyond 64 bits: the general path wraps it or says so
                    return run_inplace(op, schema_of(op), schema_of(op).bind((self, *args), kwargs), name)
                bump(self, name)
                return self
        schema = op.__dict__.get("parsed") or schema_of(op)
        return run_inplace(op, schema, schema.bind((self, *args), kwargs), name)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"In-place form of `{op.name}`: the result is written into the tensor, which is returned."
    return call


def inplace_only(op):
    """Operations that exist only in place (``fill_``, ``uniform_``, ...): forward writes into its first array."""

    def call(*args, **kwargs):
        schema = op.__dict__.get("parsed") or schema_of(op)
        return run_inplace(op, schema, schema.bind(args, kwargs), op.name)

    return named(call, op)


def on_lists(name, function, writes):
    """The form of an operation on lists of tensors that writes some of them (optimizer steps)."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount]
    written = tuple(place for place, parameter in enumerate(parameters) if parameter in writes)
    elements = elements_of(name)

    def call(*lists, **options):
        lists_of_arrays = [list(map(array_of, tensors)) for tensors in lists]
        found = NotImplemented
        if elements is not NEVER and sum(map(size_of, lists_of_arrays[0])) >= elements:
            found = kernel_of(name)(*lists_of_arrays, **options)
        if found is NotImplemented:
            found = quiet.run(function, *lists_of_arrays, **options)
        for place in written:
            count_writes(lists[place], name)
        return found

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


def unrecorded(name, function):
    """The form of a function that gives several gradients, where none of them is recorded."""
    elements = elements_of(name)

    def call(*values):
        if state.recording or INTERPOSERS:
            return NotImplemented
        arrays, dtype, large = [], None, False
        for value in values:
            kind = value.__class__
            if kind in PLAIN_CLASSES:
                value = value._array
                if dtype is None:
                    dtype = value.dtype
                elif value.dtype is not dtype:
                    return NotImplemented
                if value.size >= elements:
                    large = True
            elif kind not in VALUES:
                return NotImplemented
            arrays.append(value)
        if dtype not in NATIVE_FLOATS:
            return NotImplemented
        found = kernel_of(name)(*arrays) if large else NotImplemented
        if found is NotImplemented:
            found = quiet.run(function, *arrays)
        return [wrap(value) if value.__class__ is ndarray else value for value in found]

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


def count_writes(tensors, name):
    """Note that operation ``name`` wrote into the memory of each of ``tensors``."""
    noted = None
    for tensor in tensors:
        counter = tensor._version_counter
        if counter is UNTOUCHED:
            counter = tensor._version_counter = VersionCounter()
        elif counter is INFERENCE:
            functions.refuse_write(name)
            continue
        times = counter.value = counter.value + 1
        if times <= NOTED_WRITES:
            noted = counter.writer = noted or (name, user_place())
        else:
            counter.writer = name


functions.count_writes = count_writes


def creation(op):
    """The function of an operation that makes a tensor: takes dtype, device, requires_grad, ... besides its schema."""

    def call(*args, **kwargs):
        schema = op.__dict__.get("parsed") or schema_of(op)
        requires_grad = kwargs.pop("requires_grad", False)
        out = kwargs.pop("out", None)
        check_device(kwargs.pop("device", None))
        check_layout(kwargs.pop("layout", None))
        memory_format = kwargs.pop("memory_format", None)
        for ignored in ("pin_memory", "names"):
            kwargs.pop(ignored, None)
        values = schema.bind(args, kwargs)
        if out is not None:
            return _create_into(out, op, schema, values)
        made = _created(op, schema, values)
        if memory_format is not None:
            made = made.contiguous(memory_format=memory_format)
        return require_grad(made) if requires_grad else made

    return named(call, op)


def _create_into(out, op, schema, values):
    """The ``out=`` form of a creation: its dtype is that of ``out``."""
    place = schema.index["dtype"]
    if values[place] is None:
        values[place] = out.dtype
    elif values[place] is not out.dtype:
        raise RuntimeError(
            hinted(
                f"dtype {values[place].legacy_name} does not match dtype of out parameter ({out.dtype.legacy_name})",
                "leave dtype= away: that of the tensor given as out= counts",
            )
        )
    array = _created(op, schema, values)._array
    if schema.name in KEEP_SHAPE and array.size == out._array.size:
        array = array.reshape(out._array.shape)
    write_result(out, array, schema.name, True)
    return out


def _created(op, schema, values):
    """The new tensor that an operation makes for bound values."""
    interposer = innermost() if INTERPOSERS else None
    if interposer is None:
        return wrap(quiet.run(op.forward, *[v._array if hasattr(v, "_edge") else v for v in values]))
    return interposer.call(op, schema, values, partial(_created, op, schema), _unrecorded)


def _unrecorded(values, calculate):
    """Autograd has nothing to do around a creation."""
    return calculate(values)
