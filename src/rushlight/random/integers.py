"""Random integers: ``random_``, ``randint``, ``randperm``, ``fresh_seed``."""

from __future__ import annotations

import functools
import warnings

import numpy as np

from ..base.dtypes import from_numpy
from ..base.errors import hinted
from ..base.scalars import c_name, largest_float, name_of, no_place, number_array
from . import bulk, words
from .filling import FLOAT32, is_float, is_narrow_float, store, unsupported
from .generator import resolve

INT64 = np.dtype(np.int64)
_WORD = np.dtype(np.uint32)
_WIDE_RANGE = 1 << 28  # from here on PyTorch draws 64 bits an element: 32 would show the bias of the remainder
_INT64_LIMIT = 1 << 63
_HANDFUL = 128  # so few elements NumPy divides as quickly as anything
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
_INTEGER_TYPES = frozenset(("bool", "uint8", "int8", "int16", "int32", "int64"))


def randint(low, high, shape, dtype=INT64, generator=None):
    """An array of ``shape`` with integers in [low, high), as ``torch.randint``; any dtype that holds the bounds."""
    return random_(np.empty(shape, dtype), low, high, generator)


def random_(out, low=None, high=None, generator=None):
    """Fill ``out`` with random integers, as ``Tensor.random_``, and return it.

    ``random_(out)`` draws from the whole non-negative range of the type (of a floating type: the integers that it holds
    exactly), ``random_(out, low, high)`` from [low, high), ``random_(out, low)`` from ``low`` up to the type's largest.
    (``Tensor.random_(to)`` is ``random_(out, 0, to)``.) ``RuntimeError`` for an empty range or bounds outside the type.
    """
    generator = resolve(generator)
    dtype = out.dtype
    if low is None and high is None:
        return store(out, _unbounded(out.size, dtype, generator), bounded=True)
    if dtype.kind in "cW":
        check = "random_from_to_impl" if high is None else "check_random_bounds"
        raise RuntimeError(
            hinted(f"{check} handles only integral, floating-point and boolean types", "draw a real tensor first")
        )
    if dtype.itemsize == 1 and dtype.kind not in "bui":
        raise unsupported("random_from_to_range_calc" if high is None else "random_update_from_to", dtype)
    low = 0 if low is None else int(low)
    if high is None:
        base, span = low, _span_above(low, dtype)
    else:
        base, span = _checked_range(low, int(high), dtype)
    if out.size == 0:
        return out
    with generator.lock:
        if dtype == INT64 and out.flags.c_contiguous:
            _fill_remainders(generator.engine, out.ravel(), span, base)
            return out
        numbers = _remainders(generator.engine, out.size, span, base)
    if name_of(dtype) == "bool":
        numbers = numbers != 0
    elif is_narrow_float(dtype):
        numbers = numbers.astype(FLOAT32)
    return store(out, numbers, bounded=out.itemsize >= 4)


def fresh_seed(generator=None):
    """A 63-bit int to seed another generator with: the number that ``random_`` would draw into an int64."""
    generator = resolve(generator)
    with generator.lock:
        high, low = generator.engine.take(2).tolist()
    return (high << 32 | low) & _INT64_LIMIT - 1


def _unbounded(count, dtype, generator):
    name = name_of(dtype)
    if name in _DIGITS:
        bits, extra = _DIGITS[name], 1
    elif name in _INTEGER_TYPES:
        bits, extra = (1 if name == "bool" else 8 if name == "uint8" else 8 * dtype.itemsize - 1), 0
    else:
        raise unsupported("random_kernel_cpu", dtype)
    with generator.lock:
        numbers = _remainders(generator.engine, count, (1 << bits) + extra, 0, wide=bits > 31)
    if name == "bool":
        return numbers != 0
    return numbers.astype(FLOAT32) if is_narrow_float(dtype) else numbers


def _remainders(engine, count, span, base, wide=None):
    """``count`` int64 numbers: a random integer modulo ``span``, plus ``base`` (wrapping around as int64 does)."""
    result = np.empty(count, INT64)
    _fill_remainders(engine, result, span, base, wide)
    return result


def _fill_remainders(engine, result, span, base, wide=None):
    """Fill a flat int64 array with what ``_remainders`` gives."""
    count = result.size
    wide = span >= _WIDE_RANGE if wide is None else wide
    if count <= _HANDFUL and not wide:
        result[...] = np.remainder(engine.take(count), number_array(_WORD, span))
        if base:
            result += base
        return
    kernels = bulk.kernels(count, 5)
    if kernels is not None and not wide and abs(base) < _INT64_LIMIT - span:
        for start in range(0, count, words.CHUNK):
            part = result[start : start + words.CHUNK]
            kernels.remainders(engine.take(part.size), part, span, base)
        return
    offset = base if span < 1 << 64 else 0  # all 64 bits at once are taken as they come
    for start in range(0, count, words.CHUNK):
        part = result[start : start + words.CHUNK]
        drawn = words.integers64(engine, part.size) if wide else engine.take(part.size)
        part[...] = _modulo(drawn, span)
        if offset:
            part += offset


def _modulo(drawn, span):
    """``drawn % span`` for an unsigned array; NumPy divides by a number many at a time, but takes remainders singly."""
    if span >> 8 * drawn.itemsize:
        return drawn
    if span & (span - 1) == 0:
        return drawn & np.array(span - 1, drawn.dtype)
    divisor = np.array(span, drawn.dtype)
    quotient = drawn // divisor
    quotient *= divisor
    return np.subtract(drawn, quotient, quotient)


def _largest(dtype):
    """The largest integer that ``random_`` without an upper bound gives."""
    name = name_of(dtype)
    if name in _DIGITS:
        return 1 << _DIGITS[name]
    return min(_limits(dtype)[1], _INT64_LIMIT - 1)


def _span_above(low, dtype):
    largest = _largest(dtype)
    if not is_float(dtype):
        _check_bound("from", low, dtype)
    if low > largest:
        raise RuntimeError(
            hinted(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got "
                f"from={low} > to_inc={largest}",
                f"the largest number that random_ draws into {c_name(dtype)} is {largest}",
            )
        )
    if is_float(dtype):
        _check_bound("from", low, dtype)
    return largest - low + 1


@functools.cache
def _limits(dtype):
    """The smallest and the largest number of a type."""
    if dtype.kind == "b":
        return 0, 1
    if is_float(dtype):
        largest = largest_float(dtype)
        return -largest, largest
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _checked_range(low, high, dtype):
    """The first number and how many there are, after PyTorch's checks; floating types may narrow the range."""
    if low >= high:
        raise _empty_range(low, high)
    if dtype is INT64 and low >= -_INT64_LIMIT and high <= _INT64_LIMIT:
        return low, high - low
    if is_float(dtype):
        low, high = _representable(low, high, _DIGITS[name_of(dtype)])
        if low >= high:
            raise RuntimeError(
                hinted(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                    f"from={low} >= to={high}",
                    f"{c_name(dtype)} cannot tell these bounds apart",
                )
            )
    _check_bound("from", low, dtype)
    _check_bound("to - 1", high - 1, dtype)
    return low, high - low


def _representable(low, high, digits):
    """Bounds moved inwards to integers that a type of ``digits`` bits holds, where rounding would leave the range."""
    if _rounded(low + 1, digits) < low:
        low = _rounded(low + 1, digits) + (1 << (abs(low + 1).bit_length() - digits))
    if _rounded(high - 1, digits) >= high:
        high = _rounded(high - 1, digits) - (1 << (abs(high - 1).bit_length() - digits))
    return low, high


def _rounded(value, digits):
    """``value`` rounded to ``digits`` significant bits, ties to even."""
    spare = abs(value).bit_length() - digits
    if spare <= 0:
        return value
    quotient, rest = divmod(value, 1 << spare)
    half = 1 << (spare - 1)
    return (quotient + (rest > half or (rest == half and quotient & 1))) << spare


def _check_bound(name, value, dtype):
    lowest, highest = _limits(dtype)
    if not lowest <= value <= highest:
        raise RuntimeError(
            hinted(f"{name} is out of bounds for {c_name(dtype)}", f"{value} is not in [{lowest}, {highest}]")
        )
    digits = _DIGITS.get(name_of(dtype))
    if digits is not None and not -(1 << digits) <= value <= 1 << digits:
        warnings.warn(
            f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {c_name(dtype)} can "
            "support discrete uniform distribution only within this range. This warning will become an error in "
            "version 1.7 release, please fix the code in advance",
            UserWarning,
            stacklevel=5,
        )


def _empty_range(low, high):
    return RuntimeError(
        hinted(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}",
            "the upper bound is not among the numbers drawn; it must be at least one above the lower",
        )
    )


# ---------------------------------------------------------------- permutations

_PERMUTATION_TYPES = frozenset(
    ("uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
)
_PERMUTATION_LIMIT = 0xFFFFFFFF // 20
_SHORT, _FEW = 16, 400  # lengths up to which no kernel is asked, and up to which Python is quicker than NumPy


def randperm(n, dtype=INT64, generator=None):
    """The numbers 0 .. n-1 in random order, as ``torch.randperm``: Fisher and Yates's shuffle, one word a step.

    ``RuntimeError`` where ``dtype`` cannot hold n-1 exactly, and for n of 214,748,364 and more.
    """
    generator = resolve(generator)
    if dtype != INT64 or not 0 <= n < _PERMUTATION_LIMIT:
        _check_permutation(n, np.dtype(dtype))
    with generator.lock:
        drawn = generator.engine.take(max(n - 1, 0))
    kernels = None if n <= _SHORT else bulk.kernels(n, n // 10)
    if kernels is not None:
        order = kernels.shuffled(drawn, n)
    else:
        order = _shuffle_one_by_one(drawn, n) if n < _FEW else _shuffle(drawn, n)
    return order if order.dtype == dtype else order.astype(dtype)


def _check_permutation(n, dtype):
    if n < 0:
        raise RuntimeError(
            hinted(f"Trying to create tensor with negative dimension {n}: [{n}]", "randperm(n) takes n >= 0")
        )
    if name_of(dtype) not in _PERMUTATION_TYPES:
        raise unsupported("randperm", dtype)
    if name_of(dtype) in _DIGITS:
        limit = (1 << _DIGITS[name_of(dtype)]) + 1
        if n > limit:
            kind = from_numpy(dtype).legacy_name
            raise RuntimeError(hinted(f"n cannot be greater than {limit} for {kind} type.", "use dtype=torch.int64"))
    elif n > _limits(dtype)[1] + 1:
        raise no_place(dtype, f"{n - 1} needs a wider dtype")
    if n >= _PERMUTATION_LIMIT:
        raise RuntimeError(
            hinted(
                f"randperm of {n} elements is not supported: the largest is {_PERMUTATION_LIMIT - 1}",
                "PyTorch changes its algorithm there; permute in parts",
            )
        )


def _shuffle_one_by_one(drawn, n):
    order = list(range(n))
    for step, word in enumerate(drawn.tolist()):
        other = step + word % (n - step)
        order[step], order[other] = order[other], order[step]
    return np.array(order, INT64)


def _shuffle(drawn, n):
    """The same permutation without a loop over steps.

    Step k exchanges places k and target[k] >= k and leaves place k alone for ever. So what ends in place k is what lay
    in target[k] just before: the number that the latest earlier step with that target moved there, or target[k] itself.
    A step moves the number that lay in its own place, and the same rule finds that one: chains of steps, followed by
    doubling. Sorting steps by target shows, for each, the step before it with the same target.
    """
    steps = np.arange(n)
    key = steps.copy()
    key[: n - 1] += np.remainder(drawn, np.arange(n, 1, -1, dtype=np.uint32))
    bits = n.bit_length()
    key <<= bits
    key |= steps
    key.sort()
    step = key & ((1 << bits) - 1)
    target = key >> bits
    same = target[1:] == target[:-1]
    before = np.full(n, -1)
    before[1:] = np.where(same, step[:-1], -1)
    last = np.append(np.flatnonzero(~same), n - 1)  # for each target, its last step ...
    place, mover = target.take(last), step.take(last)
    mover = np.where(mover == place, before.take(last), mover)  # ... before the step of that place itself
    moved = steps
    moved[place] = np.where(mover < 0, place, mover)  # the step whose number a step moves, or its own place
    while True:
        further = moved.take(moved)
        if np.array_equal(further, moved):
            break
        moved = further
    order = np.empty(n, INT64)
    order[step] = np.where(before < 0, target, moved.take(before, mode="wrap"))
    return order
