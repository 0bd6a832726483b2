"""Calls with tensors of float8 or complex32 (`base.stored`): elements move as words; what PyTorch computes is computed wider."""

from __future__ import annotations

import itertools

import numpy as np

from ..base import dtypes
from ..base.dtypes import STORED, DType
from ..base.errors import hinted
from ..base.lazy import LazyArray
from ..base.scalars import fitted
from ..base.stored import narrowed, widened, words
from ..ops import table
from ..ops.stored_kernels import COMPUTED, KERNELS, MOVED, OWN, WITH_NUMBERS
from .base import wrap

_PROMOTING = frozenset(
    ("cat", "stack", "where_select")
)  # of what only moves elements, those that take several tensors of them


def is_stored(value):
    """Whether a value is a tensor of float8 or complex32, or a list that holds one."""
    if value.__class__ is list:
        return any(map(is_stored, value))
    array = getattr(value, "_array", None)
    return array is not None and array.dtype in STORED


def is_unusual(array):
    """Whether an array is none that the short paths compute with: read through lazy bits, or of numbers that are only stored."""
    return array.__class__ is LazyArray or (array is not None and array.dtype in STORED)


def on_stored(op, schema, values, again):
    """The arrays that an operation gives for values with such tensors among them; ``again`` computes it for other values."""
    name, dtype = op.name, _dtype_of(values)
    if op.kind == table.VIEW or name in OWN:
        return again(values)
    if name in MOVED:
        return _moved(name, schema, values, dtype, again)
    if any(
        value.__class__ is DType and value is not dtype for value in values
    ):  # the dtype of the result, to which the operands are converted first
        return again([_each(value, widened) for value in values])
    by_number = _is_by_number(name, values) and dtype is not dtypes.complex32
    if name in COMPUTED[dtype.name] and not by_number:
        return _computed(schema, values, dtype, again)
    if op.check is not None:
        op.check(*[_each(value, widened) for value in values])
    kernel = WITH_NUMBERS[name] if by_number else KERNELS.get(name, op.kernel)
    kernel = kernel if kernel.__class__ is str else kernel(*[getattr(value, "_array", value) for value in values])
    raise NotImplementedError(
        hinted(
            f"\"{kernel}\" not implemented for '{dtype.legacy_name}'",
            f"{dtype!r} is stored and moved, not computed with: convert it with .to({_wide(dtype)!r})",
        )
    )


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


def _moved(name, schema, values, dtype, again):
    """What an operation that only moves elements gives: it moves words of their size, numbers among the arguments too."""
    goal = dtype.numpy
    if name in _PROMOTING:
        joined = (
            values[0] if values[0].__class__ is list else [value for value in values[1:] if hasattr(value, "_edge")]
        )
        if any(dtypes.promote_types(dtype, tensor.dtype) is not dtype for tensor in joined):
            return again([_each(value, widened) for value in values])
    changed = [_each(value, words) for value in values]
    for place, argument in enumerate(schema.arguments):
        if argument.type in ("Scalar", "Operand") and not hasattr(values[place], "_edge"):
            changed[place] = int(words(fitted(goal, values[place])[None])[0])
    found = again(changed)
    if found.__class__ is tuple:
        return tuple([array.view(goal) for array in found])
    return found.view(goal) if found.__class__ is np.ndarray else found


def _computed(schema, values, dtype, again):
    """What is computed wider: numbers among the arguments are rounded as the tensors are, the results once."""
    changed = [_each(value, widened) for value in values]
    if dtype is not dtypes.complex32:
        for place, argument in enumerate(schema.arguments):
            if argument.type in ("Scalar", "Operand") and not hasattr(values[place], "_edge"):
                changed[place] = widened(narrowed(np.asarray(values[place]), dtype.numpy)).item()
    return _narrow(again(changed), dtype)


def _narrow(found, dtype):
    """Results that were computed wider, in the dtype that they have: rounded once."""
    if found.__class__ is tuple:
        return tuple([_narrow(array, dtype) for array in found])
    if found.dtype == _wide(dtype).numpy:
        return narrowed(found, dtype.numpy)
    return found.astype(np.float16) if dtype is dtypes.complex32 and found.dtype == np.float32 else found
