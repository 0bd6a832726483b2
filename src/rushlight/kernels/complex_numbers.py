"""Elementwise operations on complex numbers by kernels: sums as those of their parts, all else by formulas of parts."""

from __future__ import annotations

import numpy as np

from ..ops.moving import copied
from ..ops.table import MASKED
from . import complex_functions
from .complex_formulas import FORMULAS, POWERS
from .complex_functions import PARTS
from .elementwise_plan import result_order

_BY_PARTS = frozenset(("add", "sub", "neg"))
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

    The arguments are those of `elementwise.run`, which is ``run_parts``.
    """
    if any(array is None for array in arrays):
        return NotImplemented
    kind = arrays[-1].dtype if dtype is None else dtype
    large = [array for array in arrays if array.ndim]
    if kind not in PARTS or not large:
        return NotImplemented
    by_parts = op.name in _BY_PARTS and all(a.ndim and a.dtype == kind for a in arrays)
    name, given = (op.name, arrays) if by_parts else _formula(op, _operands(op, arrays, kind), options)
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


def _run_in_order(op, arrays, options, kind, out, run_parts):
    """`run` for arrays that are broadcast or whose dimensions lie in memory in another order: of copies, where that differs
    from the result's."""
    large = [array for array in arrays if array.ndim]
    shape = np.broadcast_shapes(*(array.shape for array in large))
    order = None if out is not None else result_order(large, shape)
    if out is not None and not (out.flags.c_contiguous and out.shape == shape):
        return NotImplemented
    order = order or range(len(shape))
    given = []
    for array in arrays:
        if array.ndim:
            array = np.broadcast_to(array, shape).transpose(order) if array is not out else out
            array = array if array.flags.c_contiguous else copied(array)
        given.append(array)
    found = run(op, given, options, kind, out, run_parts)
    if found is NotImplemented or out is not None:
        return found
    return found.transpose(sorted(range(len(shape)), key=order.__getitem__))


def copy(array, out, copy_parts):
    """Copy real or complex numbers, or one of them, into a complex array; NotImplemented for layouts that take NumPy less
    time. ``copy_parts`` is `elementwise.copy`."""
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


def _formula(op, arrays, options):
    """The name of an operation's formula and what it takes, (None, ()) where there is none.

    The only options that have one are what makes no difference, and a power's exponent, which may be a formula of its own.
    """
    if op.with_number is not None and options:
        (exponent,) = options
        if exponent in POWERS:
            return POWERS[exponent], arrays
        return op.name, [*arrays, np.asarray(exponent, arrays[0].dtype)]
    neutral = (1,) if op.name in _SUMS else (None,)
    if op.name not in FORMULAS or any(option not in neutral for option in options):
        return None, ()
    return op.name, arrays


def _fits(out, shape, dtype, arrays):
    """Whether an array can hold such a result, and shares memory with no operand that it is not itself."""
    if out.dtype != dtype or out.shape != shape or not out.flags.c_contiguous:
        return False
    return not any(array is not out and np.may_share_memory(array, out) for array in arrays)
