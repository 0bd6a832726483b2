"""Elementwise operations on complex numbers by kernels: sums as those of their parts, all else by formulas of parts."""

from __future__ import annotations

import numpy as np

from . import complex_functions
from .complex_formulas import FORMULAS, POWERS
from .complex_functions import PARTS

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
    shape = large[0].shape
    if any(a.shape != shape or not a.flags.c_contiguous for a in large):
        return NotImplemented
    if op.name in _BY_PARTS and all(a.ndim and a.dtype == kind for a in arrays):
        return _by_parts(op, arrays, options, kind, out, run_parts)
    name, given = _formula(op, [_operand(array, kind) for array in arrays], options)
    if name is None or any(array is None for array in given) or all(array.dtype != kind for array in given):
        return NotImplemented
    found = complex_functions.result_dtype(name, kind)
    if out is None:
        out = np.empty(shape, found)
    elif not _fits(out, shape, found, large):
        return NotImplemented
    return complex_functions.run(name, given, out, complex_functions.on_numpy(op, options))


def _by_parts(op, arrays, options, kind, out, run_parts):
    if any(isinstance(option, complex) for option in options):
        return NotImplemented
    if out is None:
        out = np.empty(arrays[0].shape, kind)
    elif not _fits(out, arrays[0].shape, kind, arrays):
        return NotImplemented
    found = run_parts(op, tuple(map(parts_of, arrays)), options, out=parts_of(out))
    return found if found is NotImplemented else out


def _operand(array, kind):
    """An operand as formulas take it: complex or real, of the precision computed in; None where it is neither."""
    if not array.ndim or array.dtype.kind == "c":
        return array.astype(kind, copy=False) if array.dtype.kind in "biufc" else None
    return array.astype(PARTS[kind], copy=False) if array.dtype.kind in "biuf" else None


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
