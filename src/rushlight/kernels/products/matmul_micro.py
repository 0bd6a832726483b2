"""The micro-kernel of products: a block of rows x vectors of C, held in registers over all of k; and its epilogue."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from ..language.builder import Builder
from ..language.value_types import vector
from .matmul_packing import PAIRS


def _relu(builder, x):
    return builder.maximum(builder.value(0, x.type), x)  # in this order NaN stays NaN


def _gelu(builder, x):
    return x * 0.5 * (builder.math("erf", x * 0.7071067811865476) + 1.0)


def _silu(builder, x):
    return x * builder.math("sigmoid", x)


ACTIVATIONS = {
    "relu": _relu,
    "gelu": _gelu,
    "silu": _silu,
    "sigmoid": lambda builder, x: builder.math("sigmoid", x),
    "tanh": lambda builder, x: builder.math("tanh", x),
}


class Epilogue(NamedTuple):
    """What happens to a sum of products before it is stored: activation(alpha * sum + bias + addend).

    With a gate instead, the sum becomes 0 where that is 0 or less.

    Attributes:
        scaled: whether there is an alpha.
        bias: None, "row" (one number for each column, added to every row) or "column".
        addend: whether a matrix of C's shape is added (its rows may be broadcast).
        activation: None or a name in ACTIVATIONS.
        gate: whether the matrix in the addend's place is a gate.
    """

    scaled: bool = False
    bias: str | None = None
    addend: bool = False
    activation: str | None = None
    gate: bool = False


PLAIN = Epilogue()


def micro_kernel(
    storage, compute, lanes, rows, vectors, a_form, epilogue, resumes, whole=None, packed=None, given=None, padded=False
):
    """Function that computes ``rows`` rows and up to ``vectors`` vectors of C.

    Its parameters:
        a, lda: the first of A's rows and the step between rows (``a_form`` "rows": each contiguous over k), or the step
            between columns ("columns": the rows' elements for one k lie side by side).
        b, ldb: the panel of B and the step between its rows.
        c, ldc: where the block goes and the step between rows.
        depth: how many k; columns: how many of the block's columns there are.
        resume, final (with ``resumes``): add to what C holds; apply the epilogue.
        bias, addend, ld_addend, alpha: for the epilogue, at this block's place.

    The first ``whole`` vectors (by default all but the last) must lie within the columns; the others may be cut off. Where
    B is ``padded``, its rows can be read as whole vectors all the same: a mask would take a register in the innermost loop.
    ``packed`` is the type of B, and of A in "columns" (by default ``compute``), ``given`` that of A in "rows", the bias
    and the addend (by default ``storage``). With ``PAIRS`` one k of ``depth`` is a pair of them.
    """
    packed, given = packed or compute, given or storage
    parameters = [("a", f"{given if a_form == 'rows' else packed}*"), ("lda", "i64")]
    parameters += [("b", f"{packed}*"), ("ldb", "i64"), ("c", f"{storage}*")]
    parameters += [("ldc", "i64"), ("depth", "i64"), ("columns", "i64"), ("resume", "i64"), ("final", "i64")]
    parameters += [("bias", f"{given}*"), ("addend", f"{given}*"), ("ld_addend", "i64"), ("alpha", compute)]
    builder = Builder(f"micro_{rows}x{vectors}", parameters)
    a, lda, b, ldb, c, ldc, depth, columns, resume, final, *extra = builder.parameters
    whole, rounds = vectors - 1 if whole is None else whole, packed == PAIRS and storage == "bf16"
    masks = [None if j < whole else builder.first_lanes(columns - j * lanes, lanes) for j in range(vectors)]
    c_rows = [builder.offset(c, ldc * r) for r in range(rows)]

    sums = _products(builder, a, lda, b, ldb, depth, rows, lanes, [None] * vectors if padded else masks, a_form)

    def resumed():
        """The sums with what C holds. It is added last: short chains of additions round less than one over all of k."""
        places = itertools.product(c_rows, range(vectors))
        return [total + builder.load(row, j * lanes, lanes, masks[j]) for total, (row, j) in zip(sums, places)]

    if resumes:
        sums = builder.choose(resume > 0, resumed, lambda: sums)

    def narrow(value):
        return builder.round_bfloat16(value) if rounds else builder.convert(value, storage)

    def store(values):
        for r, row in enumerate(c_rows):
            for j in range(vectors):
                builder.store(narrow(values[r * vectors + j]), row, j * lanes, masks[j])

    def finish():
        store(_finished(builder, sums, rows, masks, lanes, compute, epilogue, extra))

    if resumes and epilogue != PLAIN:
        with builder.when(final > 0):
            finish()
        with builder.when(final <= 0):
            store(sums)
    else:
        finish()
    return builder.function


def _products(builder, a, lda, b, ldb, depth, rows, lanes, masks, a_form):
    """The loop over k: each element of A's column against each vector of B's row."""
    vectors, pairs = len(masks), b.type.element.scalar == PAIRS
    start = [builder.constant(0, vector("f32" if pairs else b.type.element.scalar, lanes))] * (rows * vectors)
    multiply = builder.dot if pairs else builder.fma
    a_rows = [builder.offset(a, lda * r) for r in range(rows)]
    moving = [b] if a_form == "rows" else [b, a]
    with builder.loop(0, depth, 1, [*moving, *start]) as k:
        b_row = k.carry[0]
        sums = k.carry[len(moving) :]
        right = [builder.load(b_row, j * lanes, lanes, masks[j]) for j in range(vectors)]
        for r in range(rows):
            if a_form == "columns":
                left = builder.load(k.carry[1], r)
            elif pairs:
                left = builder.bitcast(builder.load(a_rows[r], k.index * 2, 2), PAIRS)
            else:
                left = builder.load(a_rows[r], k.index)
            left = builder.splat(left, lanes)
            for j in range(vectors):
                sums[r * vectors + j] = multiply(left, right[j], sums[r * vectors + j])
        steps = [ldb] if a_form == "rows" else [ldb, lda]
        k.carry = [*(builder.offset(p, s) for p, s in zip(k.carry, steps)), *sums]
    return k.results[len(moving) :]


def _finished(builder, sums, rows, masks, lanes, compute, epilogue, extra):
    """The values to be stored: the epilogue applied to the sums."""
    bias, addend, ld_addend, alpha = extra
    vectors = len(masks)

    def loaded(pointer, index, mask):
        return builder.convert(builder.load(pointer, index, lanes, mask), compute)

    if epilogue.bias == "row":
        biases = [loaded(bias, j * lanes, masks[j]) for j in range(vectors)]
    values = []
    for r in range(rows):
        if epilogue.bias == "column":
            biases = [builder.splat(builder.convert(builder.load(bias, r), compute), lanes)] * vectors
        if epilogue.addend or epilogue.gate:
            addend_row = builder.offset(addend, ld_addend * r)
        for j in range(vectors):
            value = sums[r * vectors + j]
            if epilogue.scaled:
                value = value * builder.splat(alpha, lanes)
            if epilogue.bias:
                value = value + biases[j]
            if epilogue.addend:
                value = value + loaded(addend_row, j * lanes, masks[j])
            if epilogue.activation:
                value = ACTIVATIONS[epilogue.activation](builder, value)
            if epilogue.gate:
                zero = builder.constant(0, value.type)
                value = builder.select(loaded(addend_row, j * lanes, masks[j]) <= zero, zero, value)
            values.append(value)
    return values


def finisher(epilogue, lanes):
    """``finish`` of ``matmul_packing.turning`` and its parameters, for sums that were computed transposed.

    What lies along the lanes there are C's columns, so a bias is one vector. There is no addend.
    """

    def finish(builder, values, mask, extra):
        bias, alpha = extra
        if epilogue.scaled:
            values = values * builder.splat(alpha, lanes)
        if epilogue.bias:
            values = values + builder.convert(builder.load(bias, 0, lanes, mask), values.type.scalar)
        if epilogue.activation:
            values = ACTIVATIONS[epilogue.activation](builder, values)
        return values

    return finish
