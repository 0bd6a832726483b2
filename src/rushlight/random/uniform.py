"""Uniform numbers and coin flips: ``uniform_``, ``rand``, ``bernoulli_``, ``bernoulli``, dropout's mask."""

from __future__ import annotations

import math

import numpy as np

from ..base.dtypes import from_numpy
from ..base.errors import hinted
from ..base.scalars import c_name, largest_float, name_of, type_name
from . import words
from .exact import scale_and_shift
from .filling import (
    FLOAT32,
    FLOAT64,
    holds_all,
    is_float,
    is_narrow_float,
    memory_order,
    real_parts,
    store,
    unsupported,
)
from .generator import resolve


def rand(shape, dtype=FLOAT32, generator=None):
    """An array of ``shape`` with uniform numbers in [0, 1), as ``torch.rand``: any floating or complex NumPy dtype."""
    if dtype is FLOAT32:
        generator = resolve(generator)
        with generator.lock:
            found = words.few_floats(generator.engine, shape, math.prod(shape))
        if found is not None:
            return found.copy()
    return uniform_(np.empty(shape, dtype), 0.0, 1.0, generator)


def uniform_(out, low=0.0, high=1.0, generator=None):
    """Fill the array ``out`` with uniform numbers in [low, high), as ``Tensor.uniform_``, and return it.

    float16 and bfloat16 are float32 numbers rounded; both parts of a complex number are drawn. ``RuntimeError`` for
    bounds outside the type or in the wrong order, ``NotImplementedError`` for integer types.
    """
    generator = resolve(generator)
    target = real_parts(out)
    dtype = target.dtype
    if low != 0.0 or high != 1.0 or not is_float(dtype):
        low, high = float(low), float(high)
        _check_bounds(dtype, low, high)
    if target.size == 0:
        return out
    with generator.lock:
        engine = generator.engine
        if dtype == FLOAT32 and target.flags.c_contiguous:
            words.fill_floats(engine, target.ravel(), low, high)
        elif dtype == FLOAT64:
            contiguous = target.flags.c_contiguous
            values = target.ravel() if contiguous else np.empty(target.size)
            words.fill_doubles(engine, values)
            if low != 0.0 or high != 1.0:
                values[...] = scale_and_shift(values, high - low, low)
                words.wrap_to_low(values, low, high)
            if not contiguous:
                store(target, values, bounded=True)
        else:
            values = np.empty(target.size, FLOAT32)
            words.fill_floats(engine, values, low, high)
            if is_narrow_float(dtype):
                values = values.astype(dtype)
                words.wrap_to_low(values, dtype.type(low), dtype.type(high))
            store(target, values, bounded=True)
    return out


def _check_bounds(dtype, low, high):
    if not is_float(dtype):
        raise unsupported("check_uniform_bounds", dtype)
    limit = largest_float(dtype)
    for name, bound in (("from", low), ("to", high)):
        if not -limit <= bound <= limit:
            raise RuntimeError(
                hinted(
                    f"{name} is out of bounds for {c_name(dtype)}", f"{name}={bound:g}; the type reaches to {limit:g}"
                )
            )
    if low > high:
        raise RuntimeError(
            hinted(
                f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}",
                "pass the lower bound first",
            )
        )
    if not high - low <= limit:
        kind = from_numpy(dtype).legacy_name
        raise RuntimeError(
            hinted(
                f"uniform_ expects to-from <= std::numeric_limits<{kind}>::max(), but found to={high:g} and "
                f"from={low:g} which result in to-from to exceed the limit",
                "draw over half the range and double it, or use a wider type",
            )
        )


_ENDS = {dtype: (np.zeros((), dtype), np.ones((), dtype)) for dtype in (FLOAT32, FLOAT64)}
_ONES = {dtype: (word, end.view(word)) for word, (dtype, (_, end)) in zip((np.uint32, np.uint64), _ENDS.items())}
_COIN_DTYPES = frozenset(
    ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
)


def bernoulli_(out, p=0.5, generator=None):
    """Fill ``out`` with ones (probability ``p``) and zeros, as ``Tensor.bernoulli_``, and return it.

    ``p`` is a number, or an array that broadcasts to ``out`` with a probability for each element. A number draws two
    words an element, an array one (two where it is float64): the streams differ, as PyTorch's do.
    """
    if isinstance(p, np.ndarray):
        return _bernoulli_each(out, p, resolve(generator))
    p = float(p)
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(
            hinted(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}", "p is the probability of a one")
        )
    if out.size == 0:
        return out
    if name_of(out.dtype) not in _COIN_DTYPES:
        raise unsupported("bernoulli_scalar_cpu_", out.dtype)
    return store(out, keep_mask(out.size, p, generator), bounded=True)


def keep_mask(shape, probability, generator=None):
    """Booleans that are true with ``probability``: the draw behind dropout and ``bernoulli_`` with a number."""
    generator = resolve(generator)
    count = shape if isinstance(shape, int) else math.prod(shape)
    with generator.lock:
        return words.below(generator.engine, count, float(probability)).reshape(shape)


def keep_mask_like(array, probability, generator=None):
    """``keep_mask`` in the shape and memory order of ``array``, which is the order PyTorch's dropout draws in."""
    if array.size and array.flags.c_contiguous:
        return keep_mask(array.shape, probability, generator)
    return bernoulli_(np.empty_like(array, dtype=np.bool_), probability, generator)


def bernoulli(probabilities, generator=None):
    """Ones and zeros in the shape and dtype of ``probabilities``, as ``torch.bernoulli``."""
    out = np.empty(probabilities.shape, probabilities.dtype)
    return _bernoulli_each(out, probabilities, resolve(generator))


def _bernoulli_each(out, probabilities, generator):
    if probabilities.dtype not in _ENDS and not is_float(probabilities.dtype):
        raise unsupported("bernoulli_tensor_cpu_p_", probabilities.dtype)
    if out.dtype not in _ENDS and name_of(out.dtype) not in _COIN_DTYPES:
        raise unsupported("bernoulli_tensor_cpu_self_", out.dtype)
    target, wanted = memory_order(out, _expanded(probabilities, out.shape))
    if wanted.dtype.itemsize < 4:
        wanted = wanted.astype(FLOAT32)
    if not _are_probabilities(wanted):
        raise RuntimeError(
            hinted(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  "
                "If so, please report an enhancement request to PyTorch.)",
                "every probability must lie in [0, 1]; NaN does not",
            )
        )
    with generator.lock:
        few = words.few_doubles if wanted.dtype == FLOAT64 else words.few_floats
        uniform = few(generator.engine, target.shape, out.size)
        if uniform is None:
            uniform = rand(target.shape, wanted.dtype, generator)
    target[...] = uniform < wanted
    return out


def _are_probabilities(array):
    """Whether all of a float32 or float64 array is in [0, 1]: numbers above 0 are in the order of their bits."""
    word, one = _ONES[array.dtype]
    if holds_all(array.view(word) <= one):
        return True
    impossible, certain = _ENDS[array.dtype]
    return holds_all((array >= impossible) & (array <= certain))  # where there is a negative zero


def _expanded(array, shape):
    if array.shape == shape:
        return array
    missing = len(shape) - array.ndim
    for axis in range(-1, -array.ndim - 1, -1):
        length = array.shape[axis]
        if missing < 0 or (length != 1 and length != shape[axis]):
            break
    else:
        return np.broadcast_to(array, shape)
    if missing < 0:
        first_line = (
            f"expand({type_name(from_numpy(array.dtype))}{{{list(array.shape)}}}, size={list(shape)}): "
            f"the number of sizes provided ({len(shape)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({array.ndim})"
        )
    else:
        first_line = (
            f"The expanded size of the tensor ({shape[axis]}) must match the existing size ({length}) at non-singleton "
            f"dimension {len(shape) + axis}.  Target sizes: {list(shape)}.  Tensor sizes: {list(array.shape)}"
        )
    raise RuntimeError(hinted(first_line, "the probabilities must broadcast to the tensor that is filled"))
