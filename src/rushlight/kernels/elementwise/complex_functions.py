"""Formulas of complex numbers (`complex_formulas`) as kernels over contiguous arrays."""

from __future__ import annotations

import numpy as np

from ...base.arrays import address_of
from ...ops.numpy_math import numpy_math
from ..compiler.kernel import compiled
from ..compiler.trace import Emission
from ..language.builder import Builder
from ..language.program import Program
from ..language.value_types import vector
from ..machine.host import host
from .complex_formulas import FORMULAS
from .programs import STREAM_BYTES

SCALARS = {np.dtype(np.complex64): "f32", np.dtype(np.complex128): "f64"}
PARTS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
LETTERS = {"c": "c", "f": "r", "b": "m"}
_LIGHT_CHUNK, _CHUNK = 1 << 13, 1 << 11  # complex numbers
_LIGHT_ALONE, _ALONE = 1 << 14, 1 << 11


def _builder(name, kinds, scalar, extents):
    """A builder, the operands, where results go, and what takes notes: see `program`."""
    formula = FORMULAS[name]
    memory = {"complex": scalar, "real": scalar, "bool": "bool"}[formula.result]
    arrays = [(f"x{i}", "bool*" if kind == "m" else f"{scalar}*") for i, kind in enumerate(kinds)]
    arrays.append(("out", f"{memory}*"))
    arrays += [("marks", "bool*"), ("outside", "bool*")] if formula.checked else []
    builder = Builder(name, [*arrays, *extents])
    given, (out, *noted) = builder.parameters[: len(kinds)], builder.parameters[len(kinds) : len(arrays)]
    return builder, given, out, noted, builder.parameters[len(arrays) :]


def program(name, kinds, scalar, width, stream=False):
    """``(x0, ..., out, count, chunk, head)``: a function of ``count`` complex numbers whose parts are ``scalar``.

    ``kinds`` has a letter for each operand: c for complex numbers, r for real ones, n for one complex number, m for a mask. A
    formula that does not hold everywhere has ``marks`` and ``outside`` behind ``out``: they get for each number, and for each
    chunk, whether it does not hold there. ``chunk``, ``head`` and ``stream`` are those of `programs.flat`.
    """
    extents = [("count", "i64"), ("chunk", "i64"), ("head", "i64")]
    builder, given, out, noted, (count, chunk, head) = _builder(name, kinds, scalar, extents)
    elements = _Elements(builder, FORMULAS[name], kinds, given, out, noted[:1], scalar, width, stream)
    with builder.parallel((count - head + chunk - 1) // chunk) as number:
        first = head + number * chunk
        end = builder.minimum(first + chunk, count)
        whole = first + (end - first) // width * width
        none = elements.none()
        with builder.loop(first, whole, width, none) as loop:
            loop.carry = elements.compute(loop.index, None, loop.carry)
        with builder.loop(0, 2, 1, loop.results) as piece:  # the head, in the first chunk, and what is left behind
            is_head = piece.index.equals(0)
            left = builder.select(is_head, builder.select(number.equals(0), head, 0), end - whole)
            at, before = builder.select(is_head, 0, whole), piece.carry
            piece.carry = builder.choose(left > 0, lambda: elements.compute(at, left, before), lambda: before)
        for wrong in piece.results:
            builder.store(builder.reduce(wrong, "or"), noted[1], number)
    return Program(name, [builder.function])


def rows_program(name, kinds, scalar, width):
    """``(x0, ..., out, starts, rows, columns, share, block)``: as `program`, of operands that are broadcast or have gaps.

    The result has ``rows`` of ``columns`` numbers; ``starts`` (i64*) holds for each operand and row where its numbers begin, in
    elements of its memory; n is for one number in each row. A chunk is ``block`` columns of ``share`` rows.
    """
    extents = [("starts", "i64*"), *((extent, "i64") for extent in ("rows", "columns", "share", "block"))]
    builder, given, out, noted, (starts, rows, columns, share, block) = _builder(name, kinds, scalar, extents)
    blocks = (columns + block - 1) // block
    stored = 2 if FORMULAS[name].result == "complex" else 1
    with builder.parallel((rows + share - 1) // share * blocks) as number:
        first, column = number // blocks * share, number % blocks * block
        end = builder.minimum(column + block, columns)
        none = [builder.constant(False, f"boolx{width}") for _ in noted[:1]]
        with builder.loop(first, builder.minimum(first + share, rows), 1, none) as row:
            moved = [
                builder.offset(pointer, builder.load(starts, rows * i + row.index)) for i, pointer in enumerate(given)
            ]
            place = row.index * columns
            marks = [builder.offset(each, place) for each in noted[:1]]
            into = builder.offset(out, place * stored)
            elements = _Elements(builder, FORMULAS[name], kinds, moved, into, marks, scalar, width, False)

            def compute(at, mask, carry):
                return elements.compute(at, None if mask is None else end - at, carry)

            row.carry = builder.for_lanes(column, end, width, compute, row.carry)
        for wrong in row.results:
            builder.store(builder.reduce(wrong, "or"), noted[1], number)
    return Program(name, [builder.function])


class _Elements:
    """Loads of operands, the formula, the store of its result."""

    def __init__(self, builder, formula, kinds, pointers, out, marks, scalar, width, stream):
        self.builder, self.formula, self.kinds, self.pointers, self.out = builder, formula, kinds, pointers, out
        self.marks, self.width, self.stream = marks, width, stream
        self.computed = scalar if formula.light else "f64"
        lanes = range(width)
        self.even, self.odd = [2 * lane for lane in lanes], [2 * lane + 1 for lane in lanes]
        self.mixed = [lane // 2 + lane % 2 * width for lane in range(2 * width)]
        self.numbers = {}  # the parts of operands that are one number
        for i, kind in enumerate(kinds):
            if kind == "n":
                parts = (builder.convert(builder.load(pointers[i], part), self.computed) for part in (0, 1))
                self.numbers[i] = [builder.splat(part, width) for part in parts]

    def none(self):
        """What `compute` carries at first: where formulas hold nowhere wrong, nothing."""
        return [self.builder.constant(False, f"boolx{self.width}") for _ in self.marks]

    def compute(self, at, left, wrong):
        """The results from ``at`` on, ``left`` of them (None: a whole vector); returns with ``wrong`` in which lanes the
        formula did not hold."""
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
        for marks, before in zip(self.marks, wrong):
            outside = ~holds.value
            builder.store(outside, marks, at, masks[1])
            return [before | (outside if left is None else outside & masks[1])]
        return []

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


def _kernel(name, letters, kind, build, *options):
    """The kernel, (chunk, size from which on all threads help) and width of a function of numbers of a dtype."""
    light = FORMULAS[name].light
    width = host().vector_bytes // (PARTS[kind].itemsize if light else 8)
    key = ("complex function", build.__name__, name, letters, SCALARS[kind], width, *options)
    kernel = compiled(key, lambda: build(name, letters, SCALARS[kind], width, *options))
    return kernel, (_LIGHT_CHUNK, _LIGHT_ALONE) if light else (_CHUNK, _ALONE), width


def run(name, arrays, out, otherwise=None):
    """Fill ``out`` with a function of contiguous arrays of its shape, of one complex dtype or its real one, masks, and complex
    numbers as arrays without dimensions. ``otherwise(*arrays)`` computes it for elements where the formula does not hold."""
    kind = out.dtype if out.dtype.kind == "c" else next(a.dtype for a in arrays if a.dtype.kind == "c")
    letters = "".join(LETTERS[a.dtype.kind] if a.ndim else "n" for a in arrays)
    stream = sum(a.nbytes for a in arrays) + out.nbytes > STREAM_BYTES and not any(a is out for a in arrays)
    kernel, (chunk, alone), width = _kernel(name, letters, kind, program, stream)
    size, stored = out.size, width * out.itemsize
    head = 0 if size < alone else min(-address_of(out) % stored // out.itemsize, size)
    call = kernel.alone if size < alone else kernel.threaded
    if not FORMULAS[name].checked:
        call(*arrays, out, size, chunk, head)
        return out
    kept = [a.copy() if a is out else a for a in arrays]
    marks, outside = np.empty(out.shape, np.bool_), np.empty(-(-(size - head) // chunk), np.bool_)
    call(*arrays, out, marks, outside, size, chunk, head)
    return _completed(out, marks, outside, kept, kind, otherwise)


def run_rows(name, arrays, letters, starts, columns, out, otherwise=None):
    """`run` for operands as `rows_program` takes them; their first elements are where ``starts`` count from."""
    kind = out.dtype if out.dtype.kind == "c" else next(a.dtype for a in arrays if a.dtype.kind == "c")
    kernel, (chunk, alone), _ = _kernel(name, letters, kind, rows_program)
    rows, block = out.size // columns, min(chunk, columns)
    share = max(1, chunk // columns)
    call = kernel.alone if out.size < alone else kernel.threaded
    noted = []
    if FORMULAS[name].checked:
        noted = [np.empty(out.shape, np.bool_), np.empty(-(-rows // share) * -(-columns // block), np.bool_)]
    call(*arrays, out, *noted, starts, rows, columns, share, block)
    return _completed(out, *noted, arrays, kind, otherwise) if noted else out


def _completed(out, marks, outside, arrays, kind, otherwise):
    """The result with what NumPy gives for the elements that are marked."""
    if outside.any():
        picked = [np.broadcast_to(a, out.shape)[marks].astype(kind, copy=False) if a.ndim else a for a in arrays]
        with np.errstate(all="ignore"):
            out[marks] = otherwise(*picked)
    return out


def on_numpy(op, options):
    """How NumPy computes an operation with these options, as a function of arrays."""
    if op.with_number is not None and options:
        return lambda base, *_: op.with_number(base, *options)
    if op.numpy is not None:
        return lambda *arrays: op.numpy(*arrays, *options)
    return lambda *arrays: op.element(numpy_math, *arrays, *options)
