"""Calls with tensors of float8 or complex32 (`base.stored`): elements move as words; what PyTorch computes is computed wider."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np

from ..base import dtypes
from ..base.dtypes import STORED, DType
from ..base.errors import hinted
from ..base.lazy import LazyArray
from ..base.scalars import fitted
from ..base.stored import narrowed, widened, words
from ..ops import table
from ..ops.promotion import common_dtype
from ..ops.stored_kernels import COMPUTED, KERNELS, MOVED, OWN, WITH_NUMBERS
from .base import wrap

_ELEMENTWISE = frozenset((table.UNARY, table.BINARY, table.ELEMENTWISE, table.FUSED))


def is_stored(value):
    """Whether a value is a tensor of float8 or complex32, or a list that holds one."""
    if value.__class__ is list:
        return any(map(is_stored, value))
    array = getattr(value, "_array", None)
    return array is not None and array.dtype in STORED


def is_unusual(array):
    """Whether an array is none that the short paths compute with: read through lazy bits, or of numbers that are only stored."""
    return array.__class__ is LazyArray or (array.__class__ is np.ndarray and array.dtype in STORED)


def on_stored(op, schema, values, again):
    """The arrays that an operation gives for values with such tensors among them; ``again`` computes it for other values."""
    name, dtype = op.name, _dtype_of(values)
    if op.kind == table.VIEW or name in OWN:
        return again(values)
    wide = [_each(value, widened) for value in values]
    asked = any(
        value.__class__ is DType and value is not dtype for value in values
    )  # operands are converted to it first
    if asked or _common_dtype(op, schema, values, dtype) is not dtype:
        return again(wide)
    if name in MOVED:
        return _moved(schema, values, dtype, again)
    by_number = dtype is not dtypes.complex32 and _is_by_number(name, values)
    derives = (
        op.kind == table.FUSED and dtype is dtypes.complex32
    )  # a derivative's formula: PyTorch's is made of what it computes
    if (derives or name in COMPUTED[dtype.name]) and not by_number:
        return _computed(schema, values, wide, dtype, again)
    if op.check is not None:
        op.check(*wide)
    if dtype is dtypes.complex32:
        _refuse_complex(again, wide)
    kernel = WITH_NUMBERS[name] if by_number else KERNELS.get(name, op.kernel)
    kernel = kernel if kernel.__class__ is str else kernel(*[getattr(value, "_array", value) for value in values])
    if dtype is dtypes.complex32:
        kernel = kernel.removesuffix("_reduced_float")
    raise NotImplementedError(
        hinted(
            f"\"{kernel}\" not implemented for '{dtype.legacy_name}'",
            f"{dtype!r} is stored and moved, not computed with: convert it with .to({_wide(dtype)!r})",
        )
    )


def _common_dtype(op, schema, values, dtype):
    """The dtype in which operands meet where an operation promotes them; ``dtype`` where it does not."""
    if op.joins:
        return common_dtype(values[0])
    if op.kind not in _ELEMENTWISE:
        return dtype
    operands = [value for argument, value in zip(schema.arguments, values) if argument.is_tensor]
    return common_dtype(operands[op.dtype_rule == table.MASKED :])


def _refuse_complex(again, wide):
    """Raise what an operation says of complex numbers, if it takes none at all."""
    with contextlib.suppress(NotImplementedError):  # for these numbers alone: the caller says so
        again(wide)


def refuse_stored(name, lists_of_arrays):
    """Refuse to compute on lists of arrays with one of a dtype that is only stored among them."""
    for array in itertools.chain.from_iterable(lists_of_arrays):
        if array.dtype in STORED:
            words = f"\"{name}\" not implemented for '{STORED[array.dtype].legacy_name}'"
            raise NotImplementedError(hinted(words, "keep these numbers in another dtype, and convert them with .to()"))


def _is_by_number(name, values):
    """Whether a second operand is a number, or a tensor that stands for one, where PyTorch computes otherwise then."""
    return name in WITH_NUMBERS and len(values) > 1 and not getattr(getattr(values[1], "_array", None), "ndim", 0)


def _wide(dtype):
    return dtypes.complex64 if dtype is dtypes.complex32 else dtypes.float32


def _dtype_of(values):
    """The dtype of the first such tensor among the values, of the list that holds one."""
    found = next(filter(is_stored, values))
    return _dtype_of(found) if found.__class__ is list else found.dtype


def _each(value, function):
    """The value with ``function`` of its array in place of that, where it is a tensor of a stored dtype, or a list of them."""
    if value.__class__ is list:
        return [_each(item, function) for item in value]
    return wrap(function(value._array)) if is_stored(value) else value


def _moved(schema, values, dtype, again):
    """What an operation that only moves elements gives: it moves words of their size, numbers among the arguments too."""
    goal = dtype.numpy
    moved = [_each(value, lambda array: words(narrowed(array, goal))) for value in values]
    for place in _number_places(schema, values):
        moved[place] = int(words(fitted(goal, values[place])[None])[0])
    found = again(moved)
    if found.__class__ is tuple:
        return tuple([array.view(goal) for array in found])
    return found.view(goal) if found.__class__ is np.ndarray else found


def _computed(schema, values, wide, dtype, again):
    """What is computed wider: numbers beside float8 are rounded as it is, the results once."""
    if dtype is not dtypes.complex32:
        for place in _number_places(schema, values):
            wide[place] = widened(narrowed(np.asarray(values[place]), dtype.numpy)).item()
    return _narrow(again(wide), dtype)


def _number_places(schema, values):
    """The places of Python numbers that meet the elements."""
    arguments = enumerate(schema.arguments)
    return [place for place, a in arguments if a.type in ("Scalar", "Operand") and not hasattr(values[place], "_edge")]


def _narrow(found, dtype):
    """Results that were computed wider, in the dtype that they have: rounded once."""
    if found.__class__ is tuple:
        return tuple([_narrow(array, dtype) for array in found])
    if found.dtype == _wide(dtype).numpy:
        return narrowed(found, dtype.numpy)
    return found.astype(np.float16) if dtype is dtypes.complex32 and found.dtype == np.float32 else found
