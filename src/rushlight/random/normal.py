"""Normal numbers: ``normal_``, ``randn``, ``normal`` with arrays of means and deviations, ``log_normal_``."""

from __future__ import annotations

import math
from math import cos, log1p, sin, sqrt

import numpy as np

from ..base.dtypes import from_numpy
from ..base.errors import hinted
from ..base.shapes import broadcast_shapes
from . import words
from .box_muller import few_standard, fill_normal
from .exact import elementwise, minus_log_of_rest, scale_and_shift, sin_cos
from .filling import FLOAT32, FLOAT64, is_float, is_narrow_float, real_parts, store, unsupported
from .generator import resolve

_TWO_PI = 2.0 * math.pi
_VECTOR_SIZE = 16


def randn(shape, dtype=FLOAT32, generator=None, mean=0.0, std=1.0):
    """An array of ``shape`` with normal numbers, as ``torch.randn``: any floating or complex NumPy dtype."""
    if dtype is FLOAT32 and mean == 0.0 and std == 1.0:
        generator = resolve(generator)
        with generator.lock:
            found = _few(generator, shape, math.prod(shape))
        if found is not None:
            return found.astype(FLOAT32)
    return normal_(np.empty(shape, dtype), mean, std, generator)


def _few(generator, shape, size):
    """Standard normal numbers as contiguous float32 arrays get, in the precision that they are made in; or None.

    They are not to be written to. None stands for what a block's own numbers do not serve.
    """
    if size < _VECTOR_SIZE:
        return _few_pairs(generator, shape, size)
    return None if size % 16 else few_standard(generator.engine, shape, size)


def _few_pairs(generator, shape, size):
    """``size`` numbers of the scalar stream, close to exact, not to be written to; None where they are better made singly."""
    if size % 2 or generator.next_normal is not None:
        return None
    return generator.engine.few(_pairs, shape, size, 2, 4, dear=True)


def _pairs(engine, phase):
    """The scalar stream's numbers of a block's groups of four words, the first of which begins at word ``phase``."""
    uniform = words.doubles_of_block(engine, phase)
    return _pairs_of(uniform[: uniform.size // 2 * 2], exact=False)


def _pairs_of(uniform, exact):
    """Normal numbers of pairs of uniform ones, an angle and what gives a radius each."""
    radius = minus_log_of_rest(uniform[1::2], exact)
    radius *= -2.0
    np.sqrt(radius, radius)
    sine, cosine = sin_cos(_TWO_PI * uniform[0::2])
    numbers = np.empty(uniform.size)
    np.multiply(radius, cosine, numbers[0::2])
    np.multiply(radius, sine, numbers[1::2])
    return numbers


def normal_(out, mean=0.0, std=1.0, generator=None):
    """Fill the array ``out`` with normal numbers, as ``Tensor.normal_``, and return it.

    PyTorch has two streams: contiguous arrays of 16 elements and more are made 16 at a time, all others one by one, in
    memory order, with the second number of a pair kept for the next call. Both parts of a complex number are drawn,
    with half the variance each. ``RuntimeError`` for a negative ``std``.
    """
    generator = resolve(generator)
    mean, std = float(mean), float(std)
    if not std >= 0.0:
        raise RuntimeError(
            hinted(
                f"normal expects std >= 0.0, but found std {std:g}", "std is the standard deviation, not the variance"
            )
        )
    target = real_parts(out)
    if target is not out:
        std /= math.sqrt(2.0)
    dtype, size = target.dtype, target.size
    if not is_float(dtype):
        raise unsupported("normal_kernel_cpu", dtype)
    if size == 0:
        return out
    with generator.lock:
        if dtype is FLOAT32 and mean == 0.0 and std == 1.0 and target.flags.c_contiguous:
            found = _few(generator, target.shape, size)
            if found is not None:
                np.copyto(target, found, casting="same_kind")
                return out
        if size < _VECTOR_SIZE or not target.flags.c_contiguous:
            bounded = dtype.itemsize >= 4 and std < 1e30 > abs(mean)
            store(target, _shifted_normals(generator, size, mean, std, dtype == FLOAT64), bounded)
        elif dtype == FLOAT32:
            fill_normal(generator.engine, target.ravel(), mean, std)
        elif dtype == FLOAT64:
            _fill_normal_double(generator.engine, target.ravel(), mean, std)
        else:
            values = np.empty(size, FLOAT32)
            fill_normal(generator.engine, values, mean, std, tail_first=False)
            store(target, values)
    return out


def _shifted_normals(generator, count, mean, std, exact):
    if count > 32:
        return scale_and_shift(many_normals(generator, count, exact), std, mean)
    numbers = None if exact else _few_pairs(generator, (count,), count)
    if numbers is None:
        numbers = np.array(few_normals(generator, count))
    return numbers if mean == 0.0 and std == 1.0 else scale_and_shift(numbers, std, mean)


def few_normals(generator, count):
    """``count`` standard normal numbers of the scalar stream, as Python floats."""
    numbers = []
    if count and generator.next_normal is not None:
        numbers.append(generator.next_normal)
        generator.next_normal = None
    missing = count - len(numbers)
    uniform = iter(words.double_list(generator.engine, missing + missing % 2))
    for angle, radius in zip(uniform, uniform):
        radius = sqrt(-2.0 * log1p(-radius))
        angle *= _TWO_PI
        numbers.append(radius * cos(angle))
        numbers.append(radius * sin(angle))
    if missing % 2:
        generator.next_normal = numbers.pop()
    return numbers


def many_normals(generator, count, exact):
    """``count`` standard normal numbers of the scalar stream as a float64 array.

    ``exact`` asks for the C library's logarithm; without it the last bit may differ, which float32 never shows.
    """
    kept, generator.next_normal = ([generator.next_normal], None) if generator.next_normal is not None else ([], None)
    missing = count - len(kept)
    uniform = words.doubles(generator.engine, missing + missing % 2)
    if missing % 2:
        last = math.sqrt(-2.0 * math.log1p(-float(uniform[-1])))  # kept in the state, so exact in any case
        generator.next_normal = last * math.sin(_TWO_PI * float(uniform[-2]))
    numbers = _pairs_of(uniform, exact)[:missing]
    return np.concatenate((kept, numbers)) if kept else numbers


def _fill_normal_double(engine, flat, mean, std):
    whole = flat.size // 16 * 16
    flat[:whole] = _box_muller_double(words.doubles(engine, whole), mean, std)
    if whole != flat.size:
        words.doubles(engine, flat.size - whole)  # drawn and dropped, as PyTorch does
        flat[-16:] = _box_muller_double(words.doubles(engine, 16), mean, std)


def _box_muller_double(uniform, mean, std):
    rows = uniform.reshape(-1, 2, 8)
    radius = elementwise(math.log, (1.0 - rows[:, 0]).reshape(-1))
    radius *= -2.0
    np.sqrt(radius, radius)
    sine, cosine = sin_cos((_TWO_PI * rows[:, 1]).reshape(-1))
    rows[:, 0] = (radius * cosine).reshape(-1, 8)
    rows[:, 1] = (radius * sine).reshape(-1, 8)
    return scale_and_shift(uniform, std, mean)


def log_normal_(out, mean=1.0, std=2.0, generator=None):
    """Fill ``out`` with ``exp`` of normal numbers (``std`` > 0), as ``Tensor.log_normal_``, and return it."""
    generator = resolve(generator)
    mean, std = float(mean), float(std)
    if not std > 0.0:
        raise RuntimeError(
            hinted(
                f"log_normal_ expects std > 0.0, but found std={std:g}", "std is that of the underlying normal numbers"
            )
        )
    if not is_float(out.dtype):
        raise unsupported("log_normal_cpu", out.dtype)
    exact = out.dtype == FLOAT64
    with generator.lock:
        values = _shifted_normals(generator, out.size, mean, std, exact)
    with np.errstate(over="ignore"):
        values = elementwise(_exponential, values) if exact else np.exp(values)
    return store(out, values)


def _exponential(value):
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def normal(mean, std, generator=None):
    """Normal numbers with their own mean or deviation each, as ``torch.normal`` with one or two tensors.

    ``mean`` and ``std`` are arrays that broadcast, or one of them a number. The result has the dtype of ``mean`` where
    that is an array, else of ``std``. ``RuntimeError`` where a deviation is negative, NaN or complex.
    """
    pattern = mean if isinstance(mean, np.ndarray) else std
    if isinstance(std, np.ndarray):
        if std.dtype.kind == "c":
            raise RuntimeError(
                hinted(
                    "normal expects standard deviation to be non-complex", f"std is a tensor of {from_numpy(std.dtype)}"
                )
            )
        if std.size and not std.min() >= 0:
            raise RuntimeError(
                hinted("normal expects all elements of std >= 0.0", f"the smallest element is {std.min()}")
            )
        shape = broadcast_shapes(mean.shape, std.shape) if isinstance(mean, np.ndarray) else std.shape
        out = normal_(np.empty(shape, pattern.dtype), 0.0, 1.0, generator)
        np.multiply(out, _operand(std, out), out, casting="unsafe")
    else:
        out = normal_(np.empty(mean.shape, pattern.dtype), 0.0, std, generator)
    np.add(out, _operand(mean, out), out, casting="unsafe")
    return out


def _operand(value, out):
    """``value`` as PyTorch's arithmetic sees it: an array without dimensions does not widen the computation."""
    if isinstance(value, np.ndarray) and value.ndim == 0 < out.ndim and out.dtype.kind != "c":
        return value.astype(FLOAT32 if is_narrow_float(out.dtype) else out.dtype)
    return value
