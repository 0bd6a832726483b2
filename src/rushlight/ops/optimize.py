"""The step of an optimizer on arrays: one call for a whole parameter group, in blocks that stay in the cache."""

from __future__ import annotations

import functools
from operator import attrgetter

import numpy as np

from ..base.arrays import address_of
from .copy import is_expanded
from .table import inplace_op, is_half

# Elements of one block. A formula makes temporaries; those of 32k float32 elements (128 KB) stay in a core's cache,
# while the calls on them still take longer than the interpreter does between them.
BLOCK = 32768

# The dtypes that formulas compute in.
COMPUTED = frozenset((np.dtype(np.float32), np.dtype(np.float64)))

kind_of = attrgetter("shape", "dtype")


@inplace_op(writes=("params", "scalars", "states"))
def optimizer_step_(params, grads, scalars, states, *, formula, constants, advance, group):
    """Update parameters and optimizer state in place, element by element.

    Args:
        params, grads: k arrays each, of equal shapes in pairs.
        scalars: the 0-dim state of parameter 0 (its step count, ...), then of parameter 1, ...: a multiple of k.
        states: the state in the shape of the parameter, in the same order.
        formula: ``formula(m, constants, param, grad, *states)``, which writes into ``param`` and ``states`` with
            ``+=``, ``*=`` and ``[...] =``. Functions (``sqrt``, ``maximum``, ...) are attributes of ``m``.
        constants: ``constants(group, *scalars)``: what the formula needs besides, a dictionary of numbers, and of True,
            False and None. It sees each scalar as a number, as it was before the step.
        advance: ``advance(group, *scalars)``: a tuple of the scalars after the step.
        group: the hyperparameters, numbers under their names.
    """
    count = len(params)
    scalar_count, state_count = len(scalars) // count, len(states) // count
    for index in range(count):
        counters = scalars[index * scalar_count : (index + 1) * scalar_count]
        arrays = params[index], grads[index], *states[index * state_count : (index + 1) * state_count]
        numbers = [counter.item() for counter in counters]
        _update(formula, constants(group, *numbers), arrays)
        _count(counters, advance, group, numbers)


@inplace_op(writes=("params", "scalars", "states"))
def bundle_step_(params, grads, scalars, states, *, room, formula, constants, advance, group):
    """The same for a bundle: parameters whose states lie end to end in flat arrays. False, and nothing is done, where gradients
    have not the shapes and the dtype of the parameters.

    Args:
        params, grads: k arrays each.
        scalars: for each scalar an array of k equal elements.
        states: for each state the flat array of all parameters.
        room: ``((flat, parts), (flat, parts), kinds)`` for parameters and gradients: they are copied into the parts of these
            flat arrays, and the parameters back after the step; ``kinds`` are the shapes and dtypes that gradients have.
        formula, constants, advance, group: as for `optimizer_step_`.
    """
    (param, param_parts), (grad, grad_parts), kinds = room
    if list(map(kind_of, grads)) != kinds:
        return False
    for part, array in zip(param_parts, params):
        part[...] = array
    for part, array in zip(grad_parts, grads):
        part[...] = array
    numbers = [counters.item(0) for counters in scalars]
    _update(formula, constants(group, *numbers), (param, grad, *states))
    _count(scalars, advance, group, numbers)
    for part, array in zip(param_parts, params):
        array[...] = part
    return True


def _count(counters, advance, group, numbers):
    """Write what follows the ``numbers`` into the arrays that keep them."""
    if counters:
        for counter, number in zip(counters, advance(group, *numbers)):
            counter[...] = number


def _update(formula, constants, arrays):
    """Run the formula over a parameter, its gradient and its states."""
    param = arrays[0]
    if param.size <= BLOCK and param.dtype in COMPUTED:
        formula(np, constants, *arrays)
    else:
        _update_in_blocks(formula, constants, arrays)


def _update_in_blocks(formula, constants, arrays):
    """One parameter of any dtype: complex as two real ones, half precision in float32, large ones in blocks of rows."""
    param = arrays[0]
    if param.dtype.kind == "c":
        _update_in_blocks(formula, constants, [array.real for array in arrays])
        _update_in_blocks(formula, constants, [array.imag for array in arrays])
        return
    length = len(param) if param.ndim else 1
    rows = max(1, BLOCK * length // max(param.size, 1))
    half = param.dtype not in COMPUTED and is_half(param.dtype)
    for start in range(0, length, rows):
        block = [array[start : start + rows] for array in arrays] if rows < length else arrays
        if not half:
            formula(np, constants, *block)
            continue
        wide = [array.astype(np.float32) for array in block]
        formula(np, constants, *wide)
        for array, computed in zip(block, wide):
            if array is not block[1]:
                array[...] = computed


# ---------------------------------------------------------------- plain descent

AXPY_SIZE = 20_000  # elements from which one pass of BLAS pays for the call through ctypes


@inplace_op(writes=("params",))
def add_scaled_(params, grads, *, scale):
    """``param += scale * grad`` for k pairs of arrays: all that gradient descent without momentum is.

    Returns how many pairs were done before one that does not fit: of different dtypes or shapes, or expanded; None for all.
    """
    for done, (param, grad) in enumerate(zip(params, grads)):
        dtype = param.dtype
        if (dtype is not grad.dtype and dtype != grad.dtype) or (not param.flags.c_contiguous and is_expanded(param)):
            return done
        if param.size >= AXPY_SIZE and _axpy(param, grad, scale):
            continue
        try:
            if dtype in COMPUTED or not is_half(dtype):
                param += grad * scale
            elif grad.shape == param.shape:
                param[...] = param.astype(np.float32) + grad.astype(np.float32) * scale
            else:
                return done
        except (TypeError, ValueError):
            return done
    return None


def _axpy(param, grad, scale):
    """One pass over memory instead of NumPy's two. False where BLAS or a flat layout is missing: nothing was done."""
    function = _blas_axpy().get(param.dtype.char)
    if function is None or not (param.flags.c_contiguous and grad.flags.c_contiguous) or param.shape != grad.shape:
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
