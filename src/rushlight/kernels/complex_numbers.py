"""Elementwise operations on complex numbers by kernels: sums as those of their parts, products and conjugates of their own."""

from __future__ import annotations

import numpy as np

from . import complex_functions
from .builder import Builder
from .host import host
from .kernel import compiled
from .program import Program

_PARTS = {np.dtype(np.complex64): ("f32", np.dtype(np.float32)), np.dtype(np.complex128): ("f64", np.dtype(np.float64))}
_BY_PARTS = frozenset(("add", "sub", "neg"))
_CONJUGATES = frozenset(("conjugate", "conj_physical_complex"))
_CHUNK = 1 << 13  # complex numbers
_ALONE = 1 << 14


def parts_of(array):
    """A contiguous array of complex numbers as real and imaginary parts, side by side along the last dimension."""
    return array.reshape(-1).view(_PARTS[array.dtype][1]).reshape(*array.shape, 2)


def whole_of(parts):
    """The contiguous complex numbers with these parts: the reverse of `parts_of`."""
    kind = np.dtype(np.complex64 if parts.dtype == np.float32 else np.complex128)
    return parts.reshape(-1).view(kind).reshape(parts.shape[:-1])


def program(scalar, lanes, mode):
    """``(x, y, out, count)``: ``count`` parts of complex numbers, alternately real and imaginary, multiplied ("products"), by
    the only number in ``y`` ("multiples"), or x with the signs of its imaginary parts changed ("conjugates")."""
    builder = Builder("complex", [*((name, f"{scalar}*") for name in ("x", "y", "out")), ("count", "i64")])
    x, y, out, count = builder.parameters
    signs = builder.constant((-1.0, 1.0) * (lanes // 2), f"{scalar}x{lanes}")
    even, odd = [lane // 2 * 2 for lane in range(lanes)], [lane // 2 * 2 + 1 for lane in range(lanes)]
    swapped = [lane ^ 1 for lane in range(lanes)]

    def fixed(number):
        real, imaginary = (builder.splat(builder.load(number, part), lanes) for part in (0, 1))
        return real, imaginary * signs

    factor = fixed(y) if mode == "multiples" else None

    def compute(at, mask, _):
        value = builder.load(x, at, lanes, mask)
        if mode == "conjugates":
            found = -(value * signs)
        else:
            if factor is None:
                other = builder.load(y, at, lanes, mask)
                real, imaginary = builder.shuffle(other, other, even), builder.shuffle(other, other, odd) * signs
            else:
                real, imaginary = factor
            found = value * real + builder.shuffle(value, value, swapped) * imaginary
        builder.store(found, out, at, mask)

    with builder.parallel((count + (2 * _CHUNK - 1)) // (2 * _CHUNK)) as chunk:
        first = chunk * (2 * _CHUNK)
        builder.for_lanes(first, builder.minimum(first + 2 * _CHUNK, count), lanes, compute)
    return Program("complex", [builder.function])


def _flat(mode, x, y, out):
    scalar, part = _PARTS[x.dtype]
    lanes = host().vector_bytes // part.itemsize
    kernel = compiled(("complex", scalar, lanes, mode), lambda: program(scalar, lanes, mode))
    (kernel.alone if out.size < _ALONE else kernel.threaded)(x, y, out, 2 * out.size)
    return out


def run(op, arrays, options, dtype, out, run_parts):
    """What an elementwise operation gives for complex arrays; NotImplemented without a program.

    The arguments are those of `elementwise.run`, which is ``run_parts``.
    """
    kind = arrays[-1].dtype if dtype is None else dtype
    large = [array for array in arrays if array is not None and array.ndim]
    if kind not in _PARTS or not large or any(a is None or a.dtype != kind for a in arrays):
        return NotImplemented
    shape = large[0].shape
    if any(a.shape != shape or not a.flags.c_contiguous for a in large):
        return NotImplemented
    if out is None:
        out = np.empty(shape, kind)
    elif out.dtype != kind or out.shape != shape or not out.flags.c_contiguous or _overlap(large, out):
        return NotImplemented
    if op.name in _BY_PARTS and len(large) == len(arrays):
        if any(isinstance(option, complex) for option in options):
            return NotImplemented
        found = run_parts(op, tuple(map(parts_of, arrays)), options, out=parts_of(out))
        return found if found is NotImplemented else out
    if op.name == "mul":
        if len(large) == 2:
            return _flat("products", *arrays, out)
        return _flat("multiples", large[0], next(a for a in arrays if not a.ndim), out)
    if op.name in _CONJUGATES:
        return _flat("conjugates", arrays[0], None, out)
    if len(large) < len(arrays) or any(o is not None for o in options):
        return NotImplemented
    return complex_functions.run(op.name, large, out)


def _overlap(arrays, out):
    """Whether an operand shares memory with the result and is not the result itself."""
    return any(array is not out and np.may_share_memory(array, out) for array in arrays)
