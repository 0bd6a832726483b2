"""The step of an optimizer on arrays: one call for a whole parameter group, in blocks that stay in the cache."""

from __future__ import annotations

import functools

import numpy as np

from ..base.arrays import address_of
from .table import inplace_op, is_half

# Elements of one block. A formula makes temporaries; those of 32k float32 elements (128 KB) stay in a core's cache,
# while the calls on them still take longer than the interpreter does between them.
BLOCK = 32768

COMPUTED = "fd"  # the dtypes, float32 and float64, that formulas compute in


@inplace_op(writes=("params", "scalars", "states"))
def optimizer_step_(params, grads, scalars, states, *, formula, advance, group):
    """Update parameters and optimizer state in place, element by element.

    Args:
        params, grads: k arrays each, of equal shapes in pairs.
        scalars: the 0-dim state of parameter 0 (its step count, ...), then of parameter 1, ...: a multiple of k.
        states: the state in the shape of the parameter, in the same order.
        formula: ``formula(m, group, *scalars, param, grad, *states)``, which writes into ``param`` and
            ``states`` with ``+=``, ``*=`` and ``[...] =``. It sees each scalar as a number, as it was before the step,
            and functions (``sqrt``, ``maximum``, ...) as attributes of ``m``.
        advance: ``advance(group, *scalars)``: a tuple of the scalars after the step.
        group: the hyperparameters, numbers under their names.
    """
    count = len(params)
    scalar_count = len(scalars) // count
    state_count = len(states) // count
    for index in range(count):
        counters = scalars[index * scalar_count : (index + 1) * scalar_count]
        numbers = [counter.item() for counter in counters]
        arrays = [params[index], grads[index], *states[index * state_count : (index + 1) * state_count]]
        if arrays[0].size <= BLOCK and arrays[0].dtype.char in COMPUTED:
            formula(np, group, *numbers, *arrays)
        else:
            _update_in_blocks(formula, group, numbers, arrays)
        if counters:
            for counter, number in zip(counters, advance(group, *numbers)):
                counter[()] = number


def _update_in_blocks(formula, group, numbers, arrays):
    """One parameter of any dtype: complex as two real ones, half precision in float32, large ones in blocks of rows."""
    param = arrays[0]
    if param.dtype.kind == "c":
        _update_in_blocks(formula, group, numbers, [array.real for array in arrays])
        _update_in_blocks(formula, group, numbers, [array.imag for array in arrays])
        return
    length = len(param) if param.ndim else 1
    rows = max(1, BLOCK * length // max(param.size, 1))
    half = param.dtype.char not in COMPUTED and is_half(param.dtype)
    for start in range(0, length, rows):
        block = [array[start : start + rows] for array in arrays] if rows < length else arrays
        if not half:
            formula(np, group, *numbers, *block)
            continue
        wide = [array.astype(np.float32) for array in block]
        formula(np, group, *numbers, *wide)
        for array, computed in zip(block, wide):
            if array is not block[1]:
                array[...] = computed


# ---------------------------------------------------------------- plain descent

AXPY_SIZE = 20_000  # elements from which one pass of BLAS pays for the call through ctypes


@inplace_op(writes=("params",))
def add_scaled_(params, grads, *, scale):
    """``param += scale * grad`` for k pairs of arrays: all that gradient descent without momentum is."""
    for param, grad in zip(params, grads):
        if param.size >= AXPY_SIZE and _axpy(param, grad, scale):
            continue
        if param.dtype.char in COMPUTED or not is_half(param.dtype):
            param += grad * scale
        else:
            param[...] = param.astype(np.float32) + grad.astype(np.float32) * scale


def _axpy(param, grad, scale):
    """One pass over memory instead of NumPy's two. False where BLAS or a flat layout is missing: nothing was done."""
    function = _blas_axpy().get(param.dtype.char)
    if function is None or not (param.flags.c_contiguous and grad.flags.c_contiguous):
        return False
    function(param.size, scale, address_of(grad), 1, address_of(param), 1)
    return True


@functools.cache
def _blas_axpy():
    """saxpy and daxpy of the OpenBLAS inside NumPy's wheel, by dtype character; empty where NumPy has another BLAS."""
    import ctypes
    from pathlib import Path

    found = sorted((Path(np.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas64_*"))
    if not found:
        return {}
    library, functions = ctypes.CDLL(str(found[0])), {}
    for char, name, number in (("f", "s", ctypes.c_float), ("d", "d", ctypes.c_double)):
        function = getattr(library, f"scipy_cblas_{name}axpy64_", None)
        if function is not None:
            vector = (ctypes.c_void_p, ctypes.c_int64)
            function.argtypes, function.restype = (ctypes.c_int64, number, *vector, *vector), None
            functions[char] = function
    return functions
