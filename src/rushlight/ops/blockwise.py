"""Elementwise work on large arrays: in blocks that stay in the cache, and choices without branches."""

import numpy as np

ndarray = np.ndarray
BLOCK = 65536  # elements computed at a time
FEW = 2048  # with so few elements NumPy's own functions are as fast

_INTEGERS = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def in_blocks(formula):
    """``formula`` of arrays and other values as one that takes large arrays block by block.

    A formula of many steps then writes its intermediate results to the cache, not to memory. Arrays of one shape,
    contiguous, are cut; 0-dim arrays and other values go with every block; anything else is computed at once.
    """

    def call(*values):
        shape = None
        for value in values:
            if value.__class__ is ndarray and value.ndim:
                if shape is None:
                    if value.size <= 2 * BLOCK:
                        return formula(*values)
                    shape, size = value.shape, value.size
                if value.shape != shape or not value.flags.c_contiguous:
                    return formula(*values)
        if shape is None:
            return formula(*values)
        flat = [v.reshape(-1) if v.__class__ is ndarray and v.ndim else v for v in values]
        found = None
        for start in range(0, size, BLOCK):
            stop = start + BLOCK
            part = formula(*[v[start:stop] if v.__class__ is ndarray and v.ndim else v for v in flat])
            if found is None:
                found = np.empty(size, part.dtype)
            found[start:stop] = part
        return found.reshape(shape)

    return call


def select(condition, first, second):
    """``np.where`` without branches, which mispredicted cost far more than the bit operations here."""
    if condition.__class__ is not ndarray or condition.size <= FEW or condition.dtype.kind != "b":
        return np.where(condition, first, second)
    arrays = [v for v in (first, second) if v.__class__ is ndarray and v.ndim]
    integer = _INTEGERS.get(arrays[0].itemsize) if arrays and arrays[0].dtype.kind in "fVi" else None
    if integer is None or not condition.flags.c_contiguous:
        return np.where(condition, first, second)
    dtype = arrays[0].dtype
    for array in arrays:
        if array.dtype is not dtype or array.shape != condition.shape or not array.flags.c_contiguous:
            return np.where(condition, first, second)
    bits = []
    for value in (first, second):
        if value.__class__ is not ndarray:
            if dtype.kind == "i" and value.__class__ is float:
                return np.where(condition, first, second)
            value = np.array(value, dtype)
        elif value.dtype is not dtype:
            return np.where(condition, first, second)
        bits.append(value.reshape(-1).view(integer) if value.ndim else value.view(integer))
    found = np.empty(condition.size, integer)
    flags = condition.reshape(-1).view(np.int8)
    for start in range(0, condition.size, BLOCK):
        stop = start + BLOCK
        one, other = (b[start:stop] if b.ndim else b for b in bits)
        _select_bits(flags[start:stop], one, other, found[start:stop])
    return found.view(dtype).reshape(condition.shape)


def _select_bits(flags, first, second, out):
    """Into ``out`` the bits of ``first`` where a flag is 1, those of ``second`` where it is 0."""
    if first.ndim == 0 and first == 0:
        np.bitwise_and(np.subtract(flags, 1).astype(out.dtype), second, out)
        return
    mask = np.negative(flags).astype(out.dtype)
    if second.ndim == 0 and second == 0:
        np.bitwise_and(mask, first, out)
        return
    np.bitwise_xor(first, second, out)
    np.bitwise_and(out, mask, out)
    np.bitwise_xor(out, second, out)


def larger(x, low, out=None):
    """The larger of elements and a bound, the element where they are equal: -0 is not 0.

    Of equals NumPy's maximum gives the second, but of float16 the first.
    """
    return np.maximum(x, low, out=out) if x.dtype.char == "e" else np.maximum(low, x, out=out)


def smaller(x, high, out=None):
    """The smaller of elements and a bound, the element where they are equal."""
    return np.minimum(x, high, out=out) if x.dtype.char == "e" else np.minimum(high, x, out=out)


def bounded(x, low=None, high=None):
    """``x`` with a lower and an upper bound, numbers or arrays, either of which may be None; the upper one wins."""
    if x.__class__ is ndarray and x.size > FEW and x.dtype.kind == "f" and x.flags.c_contiguous:
        numbers = all(b is None or b.__class__ is not ndarray or b.ndim == 0 for b in (low, high))
        if numbers:
            return _bounded_by_numbers(x, low, high)
    if x.dtype.char == "e":
        x = x if low is None else larger(x, low)
        return x if high is None else smaller(x, high)
    x = x if low is None else np.maximum(low, x)  # as `larger`
    return x if high is None else np.minimum(high, x)


def _bounded_by_numbers(x, low, high):
    """The same with full arrays in place of the numbers, for which NumPy has vector instructions."""
    flat = x.reshape(-1)
    found = np.empty_like(flat)
    lows, highs = (None if b is None else np.full(min(flat.size, BLOCK), b, x.dtype) for b in (low, high))
    for start in range(0, flat.size, BLOCK):
        part, target = flat[start : start + BLOCK], found[start : start + BLOCK]
        if lows is not None:
            larger(part, lows[: part.size], target)
            part = target
        if highs is not None:
            smaller(part, highs[: part.size], target)
    return found.reshape(x.shape)
