"""The functions of operations that write into tensors, or make new ones: what users call, on the waist of dispatch.py."""

from __future__ import annotations

from functools import partial
from itertools import chain
from operator import attrgetter

import numpy as np

from ..autograd.hints import NOTED_WRITES
from ..autograd.leaves import require_grad
from ..autograd.modes import state
from ..autograd.node import INFERENCE, UNTOUCHED, VersionCounter
from ..base import dtypes
from ..base.device import CPU, check_device, strided
from ..base.dtypes import STORED
from ..base.errors import hinted, kind_name
from ..base.lazy import LAZY, LazyArray, is_meta, plain
from ..base.limits import refusal_of
from ..base.scalars import SAFE, number_array
from ..base.size import Size
from ..base.user_code import user_place
from ..kernels.elementwise import elementwise_elements
from ..kernels.routing import NEVER, elements_of, kernel_of, run_elementwise
from ..ops import table
from ..ops.copy import refuse_overlap, refuse_partly_shared
from ..ops.moving import PLAIN_COPY
from ..ops.outputs import KEEP_SHAPE
from ..ops.table import InplaceForm, functions
from .base import quiet, wrap
from .classes import MISSING, PLAIN_CLASSES, SEQUENCES, as_given
from .compute import default_rule, schema_of
from .dispatch import asked, general, named, record_result
from .elementwise import spreads
from .fast import CALM, WITH_NUMBERS
from .interposers import INTERPOSERS, innermost
from .lazy_calls import meta_calls, on_arrays
from .refusals import refuse
from .short_elementwise import NATIVE_FLOATS, written
from .short_paths import short
from .stored_calls import is_unusual, refuse_stored
from .writes import bump, refuse_tracked_out, run_inplace, write_result

array_of, size_of = attrgetter("_array"), attrgetter("size")
FLOATS = dtypes.FLOATS
SIZES, _INTEGER = frozenset((tuple, Size)), frozenset((int,))


def inplace_form(op):
    """The in-place form of an operation: ``name_(self, ...)`` writes the result into self."""
    name = op.name + "_"

    def call(*args, **kwargs):
        overridden = asked(name, args, kwargs)
        if overridden is not NotImplemented:
            return overridden
        schema = op.__dict__.get("parsed") or schema_of(op)
        try:
            values = schema.bind(args, kwargs.copy())
            if op.check_written is not None:
                op.check_written(*values)
            return run_inplace(op, schema, values, name)
        except Exception:
            refuse(name, args, kwargs)
            raise

    if _keeps_dtype(op):
        call = written(op, call, NATIVE_FLOATS | _takes_numbers(op).keys())
        if op.kind == table.BINARY and isinstance(op.ufunc, np.ufunc) and not op.refuse:
            call = _ufunc_write(op, name, call)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"In-place form of `{op.name}`: the result is written into the tensor, which is returned."
    call.__wrapped__ = InplaceForm(op.name)
    return call


def _takes_numbers(op):
    """The classes of Python numbers, by dtype, that an operation takes as a second operand whatever their value."""
    return WITH_NUMBERS if op.ufunc in CALM and not op.with_number else {}


def _keeps_dtype(op):
    """Whether an elementwise operation gives floats of the dtype that its operands have."""
    return op.kind in (table.UNARY, table.BINARY, table.ELEMENTWISE) and default_rule(op) in (
        table.PROMOTE,
        table.FLOAT,
    )


def _ufunc_write(op, name, otherwise):
    """The in-place form of a ufunc of two operands: nothing recorded, floats of one dtype or a number; else ``otherwise``."""
    ufunc, elements, large, numbered = op.ufunc, elementwise_elements(op), run_elementwise, _takes_numbers(op)
    options = tuple(a.default for a in schema_of(op).arguments[2:])
    takes_factor = "alpha" in op.numbers  # of the second operand

    def call(self=MISSING, *args, **kwargs):
        try:
            edge = self._edge
        except AttributeError:
            return otherwise(*as_given(self), *args, **kwargs)
        if (edge is not None and state.recording) or len(args) != 1 or INTERPOSERS:
            return otherwise(self, *args, **kwargs)
        other, x = args[0], self._array
        if x.__class__ is not np.ndarray:  # of a sparse or nested tensor, or without elements
            return otherwise(self, other, **kwargs)
        dtype = x.dtype
        if other.__class__ in PLAIN_CLASSES:
            y = other._array
            if dtype is not y.dtype or dtype not in FLOATS or (other._edge is not None and state.recording):
                return otherwise(self, other, **kwargs)
            if kwargs:
                factor = kwargs.get("alpha", "") if takes_factor and len(kwargs) == 1 else ""
                usable = factor.__class__ in WITH_NUMBERS.get(dtype, ()) and -SAFE < factor < SAFE
                if not usable or x.size >= elements:
                    return otherwise(self, other, **kwargs)
            if y.base is not None or x.base is not None:
                refuse_overlap(x)
                refuse_partly_shared(x, y)
        elif other.__class__ in numbered.get(dtype, ()) and self.__class__ in PLAIN_CLASSES and not kwargs:
            y = None
            if x.base is not None:
                refuse_overlap(x)
        else:
            return otherwise(self, other, **kwargs)
        try:
            if y is None:
                y = number_array(dtype, other)
            elif kwargs:
                y = quiet().run(np.multiply, y, number_array(dtype, factor))
            plain = x.size < elements or (y.ndim and x.shape != y.shape and not spreads(y.shape, x.shape))
            if plain or large(op, (x, y), options, out=x) is NotImplemented:
                quiet().run(ufunc, x, y, out=x)
        except (ValueError, OverflowError):  # the general path says what is wrong, or wraps the number
            return otherwise(self, other, **kwargs)
        bump(self, name)
        return self

    return call


def inplace_only(op):
    """Operations that exist only in place (``fill_``, ``uniform_``, ...): forward writes into its first array."""

    def call(*args, **kwargs):
        overridden = asked(op.name, args, kwargs)
        if overridden is not NotImplemented:
            return overridden
        schema = op.__dict__.get("parsed") or schema_of(op)
        try:
            return run_inplace(op, schema, schema.bind(args, kwargs.copy()), op.name)
        except Exception:
            refuse(op.name, args, kwargs)
            raise

    return short(op, named(call, op))


_FEW_PARTS = 16  # of little memory: NumPy joins them before a kernel has started


def joined(op):
    """The function of an operation on one list of tensors: short where all are plain tensors."""
    slow, own_name, forward, elements = general(op), op.name, op.forward, elements_of(op.name)

    def call(tensors=MISSING, given=MISSING, /, *rest, **options):
        dim = 0 if given is MISSING else given
        usual = tensors.__class__ in SEQUENCES and dim.__class__ is int and tensors
        if options or rest or INTERPOSERS or not usual:
            return slow(*as_given(tensors, given), *rest, **options)
        arrays, tracked = [], False
        for tensor in tensors:
            if tensor.__class__ not in PLAIN_CLASSES:
                return slow(*as_given(tensors, given))
            arrays.append(tensor._array)
            if tensor._edge is not None:
                tracked = True
        if LAZY and any(map(is_unusual, arrays)):
            return slow(*as_given(tensors, given))
        found, first = NotImplemented, arrays[0]
        total = len(arrays) * first.size
        try:
            if total >= elements and (len(arrays) > _FEW_PARTS or total * first.itemsize >= PLAIN_COPY):
                found = kernel_of(own_name)(arrays, dim)
            result = wrap(forward(arrays, dim) if found is NotImplemented else found)
        except MemoryError as error:
            raise refusal_of(error) from None
        if tracked and state.recording:
            record_result(op, schema_of(op), [list(tensors), dim], result)
        return result

    return named(call, op)


def on_lists(name, function, writes):
    """The form of an operation on lists of tensors that writes some of them (optimizer steps)."""
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount]
    written = tuple(place for place, parameter in enumerate(parameters) if parameter in writes)
    elements = elements_of(name)

    def call(*lists, **options):
        lists_of_arrays = [list(map(array_of, tensors)) for tensors in lists]
        if LAZY and any(array.__class__ is LazyArray for arrays in lists_of_arrays for array in arrays):
            if any(map(is_meta, chain.from_iterable(lists_of_arrays))):
                for place in written:
                    count_writes(lists[place], name)
                return None
            calculate = partial(quiet().run, function)
            found = on_arrays(lists_of_arrays, written, lambda plain_ones: calculate(*plain_ones, **options))
            for place in written:
                count_writes(lists[place], name)
            return found
        if STORED:
            refuse_stored(name, lists_of_arrays)
        found = NotImplemented
        if elements is not NEVER and sum(map(size_of, lists_of_arrays[0])) >= elements:
            found = kernel_of(name)(*lists_of_arrays, **options)
        if found is NotImplemented:
            found = quiet().run(function, *lists_of_arrays, **options)
        for place in written:
            count_writes(lists[place], name)
        return found

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

    def make(args, kwargs):
        schema = op.__dict__.get("parsed") or schema_of(op)
        requires_grad = kwargs.pop("requires_grad", False)
        out = kwargs.pop("out", None)
        where = check_device(kwargs.pop("device", None))
        layout = kwargs.pop("layout", None)
        memory_format = kwargs.pop("memory_format", None)
        kwargs.pop("names", None)
        for flag in (requires_grad, kwargs.pop("pin_memory", False)):
            if flag.__class__ is not bool and flag is not None:
                raise TypeError(f"{op.name}(): requires_grad and pin_memory must be bool, not {kind_name(flag)}")
        values = schema.bind(args, kwargs)
        if layout is not None and layout is not strided:
            return functions.sparse_created(op.name, values[0], values[schema.index["dtype"]], layout, requires_grad)
        if out is not None:
            return _create_into(out, op, schema, values)
        made = _created(op, schema, values) if where is CPU else meta_calls().created_nowhere(op, schema, values)
        if memory_format is not None:
            made = made.contiguous(memory_format=memory_format)
        return require_grad(made) if requires_grad else made

    def call(*args, **kwargs):
        try:
            return make(args, kwargs.copy())
        except Exception:
            refuse(op.name, args, kwargs)
            raise

    return short(op, named(call, op))


_RESIZED_FIRST = ("empty", "randn")  # which PyTorch makes by giving the tensor its size


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
    if state.grad and out.requires_grad:
        if schema.name in _RESIZED_FIRST:
            raise RuntimeError(hinted("cannot resize variables that require grad", "give a tensor that does not"))
        refuse_tracked_out(f"aten::{schema.name}", out, ())
    array = _created(op, schema, values)._array
    if schema.name in KEEP_SHAPE and array.size == out._array.size:
        array = array.reshape(out._array.shape)
    write_result(out, array, schema.name, True)
    return out


def _created(op, schema, values):
    """The new tensor that an operation makes for bound values."""
    interposer = innermost() if INTERPOSERS else None
    if interposer is None:
        try:
            return wrap(quiet().run(op.forward, *[plain(v._array) if hasattr(v, "_edge") else v for v in values]))
        except (MemoryError, ValueError, OverflowError) as error:
            raise refusal_of(error) from None
    return interposer.call(op, schema, values, partial(_created, op, schema), _unrecorded)


def _unrecorded(values, calculate):
    """Autograd has nothing to do around a creation."""
    return calculate(values)
