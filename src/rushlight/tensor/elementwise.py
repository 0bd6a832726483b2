"""Elementwise operations on arrays: promotion of operands by PyTorch's rules, then NumPy."""

from __future__ import annotations

import functools
from functools import partial

import numpy as np

from ..base import dtypes, stored
from ..base.arrays import converted, empty_in_result_order, in_result_order
from ..base.errors import hinted
from ..base.scalars import number_array, number_in
from ..base.shapes import broadcast_shapes
from ..kernels.elementwise import HALVES, elementwise_elements
from ..kernels.routing import run_elementwise
from ..ops import table
from ..ops.blockwise import in_blocks
from ..ops.elementwise.checks import is_tensor, kind_of
from ..ops.numpy_math import numpy_math
from ..ops.outputs import check_inplace_dtype
from ..ops.promotion import common_dtype
from .base import wrap
from .stored_calls import on_stored

ndarray = np.ndarray
_FITS_ALL = 128  # ints from 0 up to it have a place in every dtype
FLOAT32, FLOAT64 = dtypes.float32.numpy, dtypes.float64.numpy


def elementwise_result(op, schema, values, out=None):
    """The array that an elementwise operation gives for its bound values (tensors, numbers, plain arguments).

    ``out`` is an array that may be written and returned instead of a new one, where the result is of its shape and dtype.
    """
    if op.check is not None:
        op.check(*values)
    operands, rest = _parts(schema, values)
    if out is not None:
        _refuse_growth(out, [value._array for value in operands if hasattr(value, "_edge")])
    rule = op.rule_for(**rest)
    masked = rule == table.MASKED
    if op.aside and kind_of(values[0]) in op.aside:
        common = common_dtype([value for value in operands if is_tensor(value)])
    else:
        common = common_dtype(operands[masked:])
    if common is dtypes.complex32:  # of float16 and complex numbers: those of complex32 themselves do not come here
        return on_stored(op, schema, _in_complex32(schema, values, masked), partial(elementwise_result, op, schema))
    result = common
    if rule == table.FLOAT:
        if not (common.is_floating_point or common.is_complex):
            common = dtypes.get_default_dtype()
        result = common
    elif rule in (table.COMPARE, table.LOGICAL):
        result = dtypes.bool_
    if out is not None and result is not None and getattr(values[0], "_array", None) is out:
        check_inplace_dtype(op.name, values[1:], result, dtypes.from_numpy(out.dtype))
    refused = rule == table.INTEGRAL and common.category >= dtypes.FLOATING
    if refused or (op.refuse and common is not None and common.name in op.refuse):
        raise NotImplementedError(f"\"{op.kernel}\" not implemented for '{common.legacy_name}'")
    if op.numbers:
        converted = numbers_in(op.numbers, schema, values, common)
        if converted is not values:
            operands, rest = _parts(schema, converted)
    if op.wide_numbers and common.itemsize == 2 and common.is_floating_point and any(map(_is_single, operands[1:])):
        operands[0] = _rounded(operands[0], common)
        common = dtypes.float32
    try:
        found = _large_result(op, operands, tuple(rest.values()), common, result, out)
        if found is not NotImplemented:
            return found
        arrays = [as_operand(value, common) for value in operands]
        if masked:
            arrays[0] = operands[0]._array
        if op.with_number is not None and arrays[0].dtype.kind in "fVc" and not is_tensor(operands[1]):
            found = op.with_number(arrays[0], arrays[1].item())
        else:
            found = _evaluate(op, arrays, rest)
    except ValueError:
        shapes = [value._array.shape for value in operands if hasattr(value, "_edge")]
        broadcast_shapes(*(reversed(shapes) if op.backwards else shapes))  # PyTorch's message
        raise
    if found.__class__ is not ndarray:
        found = np.asarray(found)
    if out is None and found.ndim > 1:
        found = in_result_order(found, _patterns(op, operands, arrays))
    if op.kind == table.UNARY or result is None:
        return found if result is None or found.dtype == result.numpy else _settle(op, found, result)
    return found if found.dtype == result.numpy else found.astype(result.numpy)


def _refuse_growth(out, arrays):
    """Refuse to write into one of the operands what has a larger shape than it."""
    if all(array.shape == out.shape for array in arrays) or not any(array is out for array in arrays):
        return
    common = broadcast_shapes(*[array.shape for array in arrays])
    if common != out.shape:
        raise too_small(out.shape, common, "the tensor that is written is an operand: write into another one")


def too_small(shape, wanted, cure):
    """PyTorch's error where a result of shape ``wanted`` is to be written into a tensor of another shape."""
    return RuntimeError(
        hinted(f"output with shape {list(shape)} doesn't match the broadcast shape {list(wanted)}", cure)
    )


def _in_complex32(schema, values, masked):
    """The values with the tensors among them in complex32, except a mask that comes first."""
    return [
        wrap(stored.narrowed(value._array, dtypes.complex32.numpy))
        if argument.is_tensor and is_tensor(value) and not (masked and place == 0)
        else value
        for place, (argument, value) in enumerate(zip(schema.arguments, values))
    ]


def _patterns(op, operands, arrays):
    """The arrays after which the result is laid out; ``arrays`` are the operands, None where one is absent."""
    if op.patterns is not None:
        return op.patterns(*arrays)
    if op.number_first_by_rows and not is_tensor(operands[0]):
        return ()
    return [array for array in arrays if array is not None]


def _is_single(value):
    """Whether an operand is a Python number, or a tensor of one element, which stands for one."""
    return value is not None and not (hasattr(value, "_edge") and value._array.size != 1)


def _rounded(value, dtype):
    """A tensor's elements in ``dtype``, as a tensor; a number as it is."""
    if not is_tensor(value) or value._array.itemsize == 1 or value.dtype is dtype:
        return value
    return wrap(converted(value._array, dtype.numpy))


def _parts(schema, values):
    """The operands among the values, and the others by name."""
    operands, rest = [], {}
    for argument, value in zip(schema.arguments, values):
        if argument.is_tensor:
            operands.append(value)
        else:
            rest[argument.name] = value
    return operands, rest


def numbers_in(numbers, schema, values, common):
    """The values with the ``numbers`` among them converted to the dtype computed in, or refused; see `ops.table`."""
    converted = values
    for name, mode in numbers.items():
        place = schema.index[name]
        value = values[place]
        if value is None or hasattr(value, "_edge") or (value.__class__ is int and 0 <= value < _FITS_ALL):
            continue
        goal = common.numpy
        if mode != table.OWN and table.is_half(goal):
            goal = FLOAT64 if mode == table.RELAXED else FLOAT32
        if converted is values:
            converted = [*values]
        converted[place] = number_in(goal, value)
    return converted


def _large_result(op, operands, options, common, result, out):
    """What the generated kernel gives, converting operands on their way in; NotImplemented for small ones or without."""
    elements = elementwise_elements(op)
    half = common is not None and common.itemsize == 2 and common.is_floating_point
    dtype = None if common is None else common.numpy
    if half:
        elements = HALVES
    size = 1
    for value in operands:
        if hasattr(value, "_edge"):
            size *= value._array.size
    if size < elements or broadcast_size(*[v._array for v in operands if hasattr(v, "_edge")]) < elements:
        return NotImplemented
    arrays = []
    for value in operands:
        if value is not None and not hasattr(value, "_edge"):
            value = number_array((common or dtypes.of_scalar(value)).numpy, value)
        array = value if value is None or value.__class__ is ndarray else value._array
        if half and array is not None and array.itemsize > 1 and array.dtype is not dtype:
            array = converted(array, dtype)  # kernels, which compute in float32, would not round it
        arrays.append(array)
    if op.with_number is not None and is_tensor(operands[1]):
        arrays[1] = no_number(arrays[1])
    if out is not None and (result is None or result.numpy != out.dtype or not fills(out, arrays)):
        out = None
    elif out is None and (op.patterns is not None or (op.number_first_by_rows and not is_tensor(operands[0]))):
        shape = np.broadcast_shapes(*[array.shape for array in arrays if array is not None])
        out = empty_in_result_order(_patterns(op, operands, arrays), shape, dtype if result is None else result.numpy)
    return run_elementwise(op, tuple(arrays), options, dtype, None if result is None else result.numpy, out)


def no_number(array):
    """An operand that is a tensor, for a kernel that takes 0-dim arrays for numbers and has a formula of its own for those."""
    return array if array.ndim else array.reshape(1)


def broadcast_size(first, *others):
    """How many elements arrays are broadcast to; ValueError where they are not."""
    shape = first.shape
    for array in others:
        if array.shape != shape[len(shape) - array.ndim :]:
            return np.broadcast(first, *others).size
    return first.size


def spreads(shape, target):
    """Whether an array of the first shape is broadcast to the second."""
    missing = len(target) - len(shape)
    return missing >= 0 and all(n == m or n == 1 for n, m in zip(shape, target[missing:]))


def fills(out, arrays):
    """Whether operands of these shapes give a result of the shape of ``out``."""
    shape = out.shape
    if all(a is None or a.shape == shape or not a.ndim for a in arrays):
        return any(a is not None and a.ndim for a in arrays)
    try:
        return np.broadcast_shapes(*[a.shape for a in arrays if a is not None]) == out.shape
    except ValueError:
        return False


def _settle(op, found, result):
    """A unary result in its dtype: the real part of a complex operand (abs) keeps the real type it has."""
    if result.is_complex and found.dtype.kind == "f":
        return found.astype(result.to_real().numpy, copy=False)
    return found.astype(result.numpy)


def _evaluate(op, arrays, rest):
    if op.numpy is not None:
        first = arrays[0]
        if op.kind == table.UNARY and op.dtype_rule == table.FLOAT and table.is_half(first.dtype):
            return np.asarray(op.numpy(first.astype(np.float32))).astype(first.dtype)
        return op.numpy(*arrays, **rest)
    half = None
    wide = []
    for array in arrays:
        if array is not None and table.is_half(array.dtype):
            half, array = array.dtype, array.astype(np.float32)
        wide.append(array)
    found = array_function(op)(*wide, *rest.values())
    if half is not None and np.asarray(found).dtype == np.float32:
        found = np.asarray(found).astype(half)
    return found


def laid_out(function):
    """``function`` of arrays and other values, element by element, with its results in the order of their dimensions in memory
    that PyTorch gives them."""

    def call(first, *rest):
        found = function(first, *rest)
        if found.ndim < 2 or (first.flags.c_contiguous and first.shape == found.shape):
            return found
        return in_result_order(found, [first, *[value for value in rest if value.__class__ is ndarray]])

    return call


def array_function(op):
    """The formula of an elementwise operation as a function of its arguments in schema order, arrays for tensors."""
    found = op.__dict__.get("array_function")
    if found is None:
        formula = functools.partial(op.element, numpy_math)
        found = op.array_function = formula if op.light else in_blocks(formula)
    return found


def as_operand(value, dtype):
    """A tensor's array, or a number as a 0-dim array, in ``dtype`` (None: its own)."""
    if value is None:
        return None
    if hasattr(value, "_edge"):
        array = value._array
        return array if dtype is None or array.dtype is dtype._numpy else converted(array, dtype.numpy)
    return number_array((dtype or dtypes.of_scalar(value)).numpy, value)
