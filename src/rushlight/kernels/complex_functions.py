"""Formulas of complex numbers (`complex_formulas`) as kernels over contiguous arrays."""

from __future__ import annotations

import numpy as np

from ..base.arrays import address_of
from ..ops.numpy_math import numpy_math
from .builder import Builder
from .complex_formulas import FORMULAS
from .elementwise_programs import STREAM_BYTES
from .host import host
from .kernel import compiled
from .program import Program
from .trace import Emission
from .value_types import vector

SCALARS = {np.dtype(np.complex64): "f32", np.dtype(np.complex128): "f64"}
PARTS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
_LETTERS = {"c": "c", "f": "r", "b": "m"}
_LIGHT_CHUNK, _CHUNK = 1 << 13, 1 << 11  # complex numbers
_LIGHT_ALONE, _ALONE = 1 << 14, 1 << 11


def program(name, kinds, scalar, width, stream=False):
    """``(x0, ..., out, count, chunk, head)``: a function of ``count`` complex numbers whose parts are ``scalar``.

    ``kinds`` has a letter for each operand: c for complex numbers, r for real ones, n for one complex number, m for a mask. A
    formula that does not hold everywhere has ``marks`` and ``outside`` behind ``out``: they get for each number, and for each
    chunk, whether it does not hold there. ``chunk``, ``head`` and ``stream`` are those of `elementwise_programs.flat`.
    """
    formula = FORMULAS[name]
    memory = {"complex": scalar, "real": scalar, "bool": "bool"}[formula.result]
    arrays = [(f"x{i}", "bool*" if kind == "m" else f"{scalar}*") for i, kind in enumerate(kinds)]
    arrays.append(("out", f"{memory}*"))
    arrays += [] if not formula.checked else [("marks", "bool*"), ("outside", "bool*")]
    builder = Builder(name, [*arrays, ("count", "i64"), ("chunk", "i64"), ("head", "i64")])
    *pointers, count, chunk, head = builder.parameters
    given, (out, *noted) = pointers[: len(kinds)], pointers[len(kinds) :]
    elements = _Elements(builder, formula, kinds, given, out, scalar, width, stream)

    def compute(at, left):
        """Returns in which lanes the formula does not hold."""
        wrong = elements.compute(at, left)
        if noted:
            mask = None if left is None else builder.first_lanes(left, width)
            builder.store(wrong, noted[0], at, mask)
            return [wrong if mask is None else wrong & mask]
        return []

    with builder.parallel((count - head + chunk - 1) // chunk) as number:
        first = head + number * chunk
        end = builder.minimum(first + chunk, count)
        whole = first + (end - first) // width * width
        none = [builder.constant(False, f"boolx{width}") for _ in noted[:1]]
        with builder.loop(first, whole, width, none) as loop:
            loop.carry = [a | b for a, b in zip(loop.carry, compute(loop.index, None))]
        with builder.loop(0, 2, 1, loop.results) as piece:  # the head, in the first chunk, and what is left behind
            is_head = piece.index.equals(0)
            left = builder.select(is_head, builder.select(number.equals(0), head, 0), end - whole)
            at = builder.select(is_head, 0, whole)
            before = piece.carry
            found = builder.choose(left > 0, lambda: compute(at, left), lambda: none)
            piece.carry = [a | b for a, b in zip(before, found)]
        for wrong in piece.results:
            builder.store(builder.reduce(wrong, "or"), noted[1], number)
    return Program(name, [builder.function])


class _Elements:
    """Loads of operands, the formula, the store of its result."""

    def __init__(self, builder, formula, kinds, pointers, out, scalar, width, stream):
        self.builder, self.formula, self.kinds, self.pointers, self.out = builder, formula, kinds, pointers, out
        self.width, self.stream = width, stream
        self.computed = scalar if formula.light else "f64"
        lanes = range(width)
        self.even, self.odd = [2 * lane for lane in lanes], [2 * lane + 1 for lane in lanes]
        self.mixed = [lane // 2 + lane % 2 * width for lane in range(2 * width)]
        self.numbers = {}  # the parts of operands that are one number
        for i, kind in enumerate(kinds):
            if kind == "n":
                parts = (builder.convert(builder.load(pointers[i], part), self.computed) for part in (0, 1))
                self.numbers[i] = [builder.splat(part, width) for part in parts]

    def compute(self, at, left):
        """The results from ``at`` on, ``left`` of them (None: a whole vector); returns in which lanes they are wrong."""
        builder, width = self.builder, self.width
        masks = {1: None, 2: None}
        if left is not None:
            masks = {count: builder.first_lanes(left * count, width * count) for count in masks}
        m, parts = Emission(builder, vector(self.computed, width)), []
        for i, kind in enumerate(self.kinds):
            parts += self._parts(m, i, kind, at, masks)
        *found, holds = self.formula.parts(m, *parts)
        if self.formula.result == "bool":
            values = [found[0].value]
        else:
            values = [builder.convert(m.lifted(part, m.type), self.out.type.element.scalar) for part in found]
        if len(values) == 2:
            self._store(builder.shuffle(*values, self.mixed), at * 2, masks[2])
        else:
            self._store(values[0], at, masks[1])
        return None if holds is None else ~holds.value

    def _parts(self, m, i, kind, at, masks):
        builder = self.builder
        if kind == "n":
            return [m.element(part) for part in self.numbers[i]]
        if kind == "m":
            return [m.element(builder.load(self.pointers[i], at, self.width, masks[1]))]
        if kind == "r":
            return [
                m.element(builder.convert(builder.load(self.pointers[i], at, self.width, masks[1]), self.computed)),
                0.0,
            ]
        loaded = builder.load(self.pointers[i], at * 2, 2 * self.width, masks[2])
        sides = (builder.shuffle(loaded, loaded, side) for side in (self.even, self.odd))
        return [m.element(builder.convert(side, self.computed)) for side in sides]

    def _store(self, value, at, mask):
        if self.stream and mask is None:
            self.builder.store(value, self.out, at, stream=True, align=value.type.size)
        else:
            self.builder.store(value, self.out, at, mask)


def result_dtype(name, kind):
    """The dtype of a function's result for complex numbers of a dtype."""
    return {"complex": kind, "real": PARTS[kind], "bool": np.dtype(np.bool_)}[FORMULAS[name].result]


def run(name, arrays, out, otherwise=None):
    """Fill ``out`` with a function of contiguous arrays of its shape, of one complex dtype or its real one, masks, and complex
    numbers as arrays without dimensions. ``otherwise(*arrays)`` computes it for elements where the formula does not hold."""
    formula = FORMULAS[name]
    kind = out.dtype if out.dtype.kind == "c" else next(a.dtype for a in arrays if a.dtype.kind == "c")
    kinds = "".join(_LETTERS[a.dtype.kind] if a.ndim else "n" for a in arrays)
    scalar, size = SCALARS[kind], out.size
    width = host().vector_bytes // (PARTS[kind].itemsize if formula.light else 8)
    chunk, alone = (_LIGHT_CHUNK, _LIGHT_ALONE) if formula.light else (_CHUNK, _ALONE)
    moved = sum(a.nbytes for a in arrays) + out.nbytes
    stream = moved > STREAM_BYTES and not any(a is out for a in arrays)
    kernel = compiled(
        ("complex function", name, kinds, scalar, width, stream), lambda: program(name, kinds, scalar, width, stream)
    )
    stored = width * out.itemsize
    head = 0 if size < alone else min(-address_of(out) % stored // out.itemsize, size)
    run = kernel.alone if size < alone else kernel.threaded
    if not formula.checked:
        run(*arrays, out, size, chunk, head)
        return out
    marks, outside = np.empty(size, np.bool_), np.empty(-(-(size - head) // chunk), np.bool_)
    kept = [a.copy() if a is out else a for a in arrays]
    run(*arrays, out, marks, outside, size, chunk, head)
    if outside.any():
        places = np.flatnonzero(marks)
        picked = [a if not a.ndim else a.reshape(-1)[places].astype(kind, copy=False) for a in kept]
        with np.errstate(all="ignore"):
            out.reshape(-1)[places] = otherwise(*picked)
    return out


def on_numpy(op, options):
    """How NumPy computes an operation with these options, as a function of arrays."""
    if op.with_number is not None and options:
        return lambda *arrays: op.with_number(*arrays, *options)
    if op.numpy is not None:
        return lambda *arrays: op.numpy(*arrays, *options)
    return lambda *arrays: op.element(numpy_math, *arrays, *options)
