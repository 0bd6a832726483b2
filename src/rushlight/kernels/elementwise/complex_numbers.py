"""Elementwise operations on complex numbers by kernels: sums as those of their parts, all else by formulas of parts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...base.arrays import result_order
from ...base.shapes import contiguous_strides
from ...ops.moving import copied
from ...ops.table import MASKED
from ..planning.plans import Plans
from . import complex_functions
from .complex_formulas import FORMULAS, POWERS
from .complex_functions import PARTS

_BY_PARTS = frozenset(("add", "sub", "neg"))
_SHORTEST_ROW = 16  # numbers: shorter ones are copied together
_REMEMBERED = 1 << 15  # bytes of places where rows start
_SUMS = frozenset(("add", "sub", "rsub"))


def parts_of(array):
    """A contiguous array of complex numbers as real and imaginary parts, side by side along the last dimension."""
    return array.reshape(-1).view(PARTS[array.dtype]).reshape(*array.shape, 2)


def whole_of(parts):
    """The contiguous complex numbers with these parts: the reverse of `parts_of`."""
    kind = np.dtype(np.complex64 if parts.dtype == np.float32 else np.complex128)
    return parts.reshape(-1).view(kind).reshape(parts.shape[:-1])


def run(op, arrays, options, dtype, out, run_parts):
    """What an elementwise operation gives for complex arrays; NotImplemented without a program.

    The arguments are those of `calls.run`, which is ``run_parts``.
    """
    if any(array is None for array in arrays):
        return NotImplemented
    kind = arrays[-1].dtype if dtype is None else dtype
    large = [array for array in arrays if array.ndim]
    if kind not in PARTS or not large:
        return NotImplemented
    by_parts = op.name in _BY_PARTS and all(a.ndim and a.dtype == kind for a in arrays)
    name, given = (op.name, arrays) if by_parts else _formula(op, _operands(op, arrays, kind), options, kind)
    if name is None or any(array is None for array in given):
        return NotImplemented
    shape = large[0].shape
    if any(a.shape != shape or not a.flags.c_contiguous for a in large):
        return _run_in_order(op, arrays, options, kind, out, run_parts)
    if by_parts:
        return _by_parts(op, arrays, options, kind, out, run_parts)
    found = complex_functions.result_dtype(name, kind)
    if out is None:
        out = np.empty(shape, found)
    elif not _fits(out, shape, found, large):
        return NotImplemented
    return complex_functions.run(name, given, out, complex_functions.on_numpy(op, options))


class _Layout(NamedTuple):
    """How operands that are broadcast or have gaps are gone through: ``order`` has the result's dimensions as they lie in memory,
    outermost first, ``back`` where each has gone, ``shape`` their lengths. ``rows`` is None or (letters, starts, columns)
    as `complex_functions.run_rows` takes them."""

    order: tuple
    back: tuple
    shape: tuple
    rows: object


_layouts = Plans()  # kind, dtypes, shapes and strides of operands and result -> _Layout


def _run_in_order(op, arrays, options, kind, out, run_parts):
    """`run` for arrays that are broadcast or whose dimensions lie in memory in another order or with gaps: by rows, or where
    they have none in common, of copies."""
    name, given = _formula(op, _operands(op, arrays, kind), options, kind)
    given = arrays if name is None else given
    key = (kind, None if out is None else out.shape, *[(a.shape, a.strides, a.dtype) for a in given])
    layout = _layouts.get(key)
    if layout is None:
        layout = _layout(given, kind, out)
        if layout.rows is None or layout.rows[1].nbytes <= _REMEMBERED:
            _layouts[key] = layout
    large = [array for array in given if array.ndim]
    if out is not None and not (name and _fits(out, layout.shape, complex_functions.result_dtype(name, kind), large)):
        return NotImplemented

    def turned(array):
        shape = [layout.shape[place] for place in layout.back]
        return np.broadcast_to(array, shape).transpose(layout.order) if array.ndim else array

    if name is None or layout.rows is None:
        dense = [array if array is out else turned(array) for array in arrays]
        dense = [array if array.flags.c_contiguous else copied(array) for array in dense]
        found = run(op, dense, options, kind, out, run_parts)
    else:
        found = np.empty(layout.shape, complex_functions.result_dtype(name, kind)) if out is None else out
        views = list(map(turned, given)) if FORMULAS[name].checked else given
        found = complex_functions.run_rows(name, views, *layout.rows, found, complex_functions.on_numpy(op, options))
    return found if found is NotImplemented or out is not None else found.transpose(layout.back)


def _layout(arrays, kind, out):
    large = [array for array in arrays if array.ndim]
    shape = np.broadcast_shapes(*(array.shape for array in large))
    order = (result_order(large, shape) if out is None else None) or tuple(range(len(shape)))
    back = tuple(sorted(range(len(shape)), key=order.__getitem__))
    turned = [np.broadcast_to(array, shape).transpose(order) if array.ndim else array for array in arrays]
    shape = tuple(shape[axis] for axis in order)
    return _Layout(tuple(order), back, shape, _rows(turned, shape, kind))


def _rows(arrays, shape, kind):
    """The rows of arrays of one shape, where they are long enough and each array is contiguous or one number in each."""
    large = [array for array in arrays if array.ndim]
    first = 0
    while not all(_is_dense(array, first) or not any(array.strides[first:]) for array in large):
        first += 1
    columns = math.prod(shape[first:])
    if columns < _SHORTEST_ROW or not math.prod(shape):
        return None
    letters, starts = "", []
    for array in arrays:
        is_number, size = not array.ndim or not _is_dense(array, first), array.real.itemsize
        if any(step % size for step in array.strides) or (is_number and array.dtype != kind):
            return None
        letters += "n" if is_number else complex_functions.LETTERS[array.dtype.kind]
        starts.append(np.zeros(1, np.int64))
        for length, step in zip(shape[:first], array.strides or (0,) * first):
            starts[-1] = np.add.outer(starts[-1], np.arange(length) * (step // size)).reshape(-1)
    return letters, np.concatenate(starts), columns


def _is_dense(array, first):
    """Whether an array is contiguous along its dimensions from ``first`` on."""
    return array.strides[first:] == tuple(step * array.itemsize for step in contiguous_strides(array.shape[first:]))


def copy(array, out, copy_parts):
    """Copy real or complex numbers, or one of them, into a complex array; NotImplemented for layouts that take NumPy less
    time. ``copy_parts`` is `calls.copy`."""
    if out.dtype not in PARTS or not array.dtype.isnative or not out.flags.c_contiguous:
        return NotImplemented
    if array.ndim and (array.shape != out.shape or not array.flags.c_contiguous or np.may_share_memory(array, out)):
        return NotImplemented
    if array.ndim and array.dtype in PARTS:
        return out if copy_parts(parts_of(array), out=parts_of(out)) is not NotImplemented else NotImplemented
    given = _operand(array, out.dtype)
    return NotImplemented if given is None else complex_functions.run("copied", [given], out)


def _by_parts(op, arrays, options, kind, out, run_parts):
    if any(isinstance(option, complex) for option in options):
        return NotImplemented
    if out is None:
        out = np.empty(arrays[0].shape, kind)
    elif not _fits(out, arrays[0].shape, kind, arrays):
        return NotImplemented
    found = run_parts(op, tuple(map(parts_of, arrays)), options, out=parts_of(out))
    return found if found is NotImplemented else out


def _operands(op, arrays, kind):
    """Operands as formulas take them: masks, complex and real numbers of the precision computed in; None for others."""
    mask = op.dtype_rule == MASKED
    found = [_operand(array, kind) for array in arrays[mask:]]
    return [arrays[0] if arrays[0].ndim else None, *found] if mask else found


def _operand(array, kind):
    if array.ndim and array.dtype.kind != "c":
        return _real(array, PARTS[kind])
    return array.astype(kind, copy=False) if array.dtype.kind in "biufc" else None


def _real(array, dtype):
    """Real numbers in a dtype; None for those that NumPy does not know as such."""
    return array.astype(dtype, copy=False) if array.dtype.kind in "biuf" else None


def _formula(op, arrays, options, kind):
    """The name of an operation's formula and what it takes, (None, ()) where there is none.

    The only options that have one are what makes no difference, and a power's exponent, which may be a formula of its own.
    """
    if op.with_number is not None and options:
        (exponent,) = options
        if exponent in POWERS:
            return POWERS[exponent], arrays
        (base,) = arrays  # real where the exponent alone is complex; None of half precision
        return op.name, [None if base is None else base.astype(kind, copy=False), np.asarray(exponent, kind)]
    neutral = (1,) if op.name in _SUMS else (None,)
    if op.name not in FORMULAS or any(option not in neutral for option in options):
        return None, ()
    return op.name, arrays


def _fits(out, shape, dtype, arrays):
    """Whether an array can hold such a result, and shares memory with no operand that it is not itself."""
    if out.dtype != dtype or out.shape != shape or not out.flags.c_contiguous:
        return False
    return not any(array is not out and np.may_share_memory(array, out) for array in arrays)
