"""Recurrent layers as kernels: LSTM, GRU and simple RNN over whole sequences, forward and backward."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base import settings
from ...base.processors import near_bytes, shared_cache_bytes
from ..language.value_types import NUMPY
from ..machine import host
from ..planning.layout import Layout, strided
from ..planning.plan import Launch, View
from ..planning.precision import in_single_precision
from ..planning.runner import plan_for
from ..products.matmul import plan_product_of
from ..products.tiles.panels import BLOCK, PANEL
from . import rows as recurrent_rows
from .cells import CELLS
from .gradients import NANOSECONDS, parameter_gradients, pitch_of
from .pieces import Pieces
from .programs import compute_scalar, pointer_names, stride_names
from .tiles import blocks_of_scratch, packed_words, tile_program
from .vectors import PANEL_VECTORS, TILE_ROWS, gates_of_sums, vector_program

_CHUNK_WORK = 1 << 18  # multiplications of a chunk from which it is worth handing out
_ALONE = 1 << 18  # multiplications of a step below which other threads are not called in
_FULL = 0.75  # of the rows that the tile unit takes, how many there must be for it to win (24 of 32: by a tenth)
_CACHE_BYTES = near_bytes()  # of packed weight that stays in a second-level cache beside what passes by
_VECTOR_CACHE_BYTES = near_bytes() * 3 // 4  # of weight in vectors that stays there
_INPUT_ROWS = 8  # from which reading the input's weight again at every step is cheaper than writing and reading gates
_NEAR_BYTES = shared_cache_bytes() * 3 // 4  # of both weights, up to which they come from that cache at every step
_FAR_UNITS = 1 << 13  # of a step, from which a cell's arrays are not in a near cache when it comes to them
_LEAST_BLOCK = 8  # rows that a vector of the weight serves
_LEAST_ROWS = 4  # of a thread that takes rows through all steps
_TILE_SIZE = 96  # hidden units from which it wins: below, vectors have the weight in the nearest cache


class _Way(NamedTuple):
    """How a layer is computed: the program, how many elements of packed weights all threads share and of scratch memory each
    one has, and into how many blocks the rows are cut, where a program asks."""

    build: object
    form: tuple
    packed: int
    own: int
    blocks: int = 0


def _way(kind, backward, scalar, rows, size, inputs, absent):
    gates = CELLS[kind].gates
    if not _tiles_pay(scalar, rows, size):
        return _with_vectors(kind, backward, scalar, rows, size, inputs, absent)
    if _fits_cache(gates, size, inputs):  # chunks are always of 16 rows
        packed = recurrent_rows.packed_words(size, inputs, gates)
        own = recurrent_rows.scratch_words(size, inputs, gates, backward)
        return _Way(recurrent_rows.row_program, (kind, backward, absent), packed, own)
    own = blocks_of_scratch(1 if backward else gates) * BLOCK  # chunks are always of 32 rows
    return _Way(tile_program, (kind, backward, absent), sum(packed_words(rows, size, gates)), own)


def _with_vectors(kind, backward, scalar, rows, size, inputs, absent):
    threads = settings.get_num_threads()
    lanes, gates = host.lanes(NUMPY[compute_scalar(scalar)].itemsize), CELLS[kind].gates
    vectors, sums = -(-size // lanes), gates_of_sums(kind, backward)
    panels, work = -(-vectors // PANEL_VECTORS), rows * size * size * gates
    pitch = sums * PANEL_VECTORS * lanes
    packed = panels * pitch * (size * (gates if backward else 1) + inputs) // (2 if scalar == "bf16" else 1)
    by_rows = _by_rows(gates, scalar, rows, size, inputs, threads)
    if by_rows:
        blocks = 1 if work < _ALONE else min(threads, rows)
    else:
        blocks = max(1, min(rows // _LEAST_BLOCK, work // panels // _CHUNK_WORK))
    most = -(-rows // blocks)
    common, own = (0, packed) if by_rows else (packed, 0)
    widths = (PANEL_VECTORS,) * (vectors >= PANEL_VECTORS) + (1,) * (vectors % PANEL_VECTORS)
    form = (
        kind,
        backward,
        scalar,
        lanes,
        widths,
        _heights(rows, blocks, most),
        by_rows,
        rows * size >= _FAR_UNITS,
        absent,
    )
    return _Way(vector_program, form, common, own + most * pitch, blocks)


def _tiles_pay(scalar, rows, size):
    """Whether the tile unit is there and wins over the vector units."""
    full = rows / (-(-rows // PANEL) * PANEL) >= _FULL and size % PANEL == 0 and size >= _TILE_SIZE
    return full and scalar == "f32" and host.host().has_tiles


def _fits_cache(gates, size, inputs=0):
    """Whether the packed weights stay in a core's cache from step to step."""
    return gates * size * (size + inputs) * 6 <= _CACHE_BYTES


def _by_rows(gates, scalar, rows, size, inputs, threads):
    """Whether each thread takes some rows, since the weights stay in its cache and there are rows enough."""
    fits = gates * size * (size + inputs) * NUMPY[scalar].itemsize <= _VECTOR_CACHE_BYTES
    return fits and (rows >= _LEAST_ROWS * threads or rows * size * size * gates < _ALONE)


def _heights(rows, blocks, most):
    """The heights of the tiles that blocks of rows, of ``most`` at most, are cut into: one, or two that differ by 1."""
    tiles = -(-most // TILE_ROWS[host.vector_registers()])
    low, high = rows // blocks // tiles, -(-most // tiles)
    return (high,) if low == high else (high, low)


def _launch(pieces, kind, backward, names, steps, rows, size, reverse, inputs=0):
    """Add the launch of a layer to the pieces of its plan, among which are the arrays of these names."""
    layouts = {name: pieces.layouts[name] for name in names}
    _check_sizes(kind, layouts, rows, size, inputs)
    absent = tuple([name for name, layout in layouts.items() if layout is None])
    way = _way(kind, backward, layouts["weight"].scalar, rows, size, inputs, absent)
    strides = []
    for name in stride_names(kind, backward, absent)[::2]:
        strides += layouts[name.removesuffix("_step")].steps[:2]
    own = [("scratch", way.own, pieces.compute)]
    if way.packed:
        own.append(("packed", 0, pieces.compute, way.packed))
    pointers = [None if name == "packed" and not way.packed else name for name in pointer_names(kind, backward, absent)]
    first, direction = (steps - 1, -1) if reverse else (0, 1)
    arguments = *pointers, *strides, steps, rows, size, inputs, first, direction, way.blocks, way.own
    nanoseconds = rows * size * size * CELLS[kind].gates * NANOSECONDS  # of a step: all threads meet after each
    pieces.launch(Launch(way.build, way.form, arguments, nanoseconds, f"{kind}_layer{'_backward' * backward}"), own)


def _check_sizes(kind, given, rows, size, inputs):
    """Refuse arrays of other sizes than the program takes for granted: the last place before it reads and writes them."""
    width = CELLS[kind].gates * size
    expected = {"weight": (width, size), "w_ih": (width, inputs), "bias": (width,)}
    expected |= dict.fromkeys(("hidden", "cell"), (rows, size))
    for name, shape in expected.items():
        array = given.get(name)
        if array is not None and array.shape != shape:
            raise RuntimeError(f"a recurrent layer's {name} has the shape {array.shape}, not {shape}")


def _pieces(weight, *layouts):
    """The Pieces of a plan for arrays that all hold numbers of one type that there are programs for (of bfloat16, where pairs
    are multiplied, and the hidden states are a whole number of them); else None."""
    if not all(a is None or (a.dtype == weight.dtype and a.size) for a in layouts):
        return None
    scalar = weight.scalar
    fits = scalar in ("f32", "f64") or (scalar == "bf16" and weight.shape[1] % 2 == 0 and host.has_dots())
    return Pieces(weight.dtype) if fits else None


# ---------------------------------------------------------------- forward

_FORWARD = {
    "lstm": ("gates", "weight", "hidden", "cell", "outputs", "cells", "values"),
    "lstm_sequence": ("input", "w_ih", "weight", "bias", "hidden", "cell", "outputs", "cells", "values"),
    "gru": ("gates", "hidden", "weight", "bias", "outputs", "values", "inner"),
    **dict.fromkeys(("tanh", "relu"), ("gates", "hidden", "weight", "outputs")),
}
_INTERNAL = {
    "cells": 1,
    "inner": 1,
    "values": None,
}  # results that no user sees -> numbers for each unit, None for the gates'


def _forward(pieces, kind, steps, rows, size, reverse, inputs=0):
    """Add a layer's results and its launch; its operands are there."""
    gates, names = CELLS[kind].gates, _FORWARD[kind]
    pieces.result("outputs", (steps, rows, size))
    for name in names:
        if name in _INTERNAL:
            pieces.internal(name, (steps, rows, (_INTERNAL[name] or gates) * size))
    _launch(pieces, kind, False, names, steps, rows, size, reverse, inputs)


def _plan_layer(kind, reverse, gates, **operands):
    """The Plan of a layer from the sums of its gates on."""
    pieces = _pieces(operands["weight"], gates, *operands.values())
    if pieces is None:
        return None
    pieces.row_by_row(gates=gates)
    pieces.plain(**operands)
    steps, rows, width = gates.shape
    _forward(pieces, kind, steps, rows, width // CELLS[kind].gates, reverse)
    return pieces.plan(*pieces.own)


@plan_for("lstm_layer")
@in_single_precision()
def lstm_layer(gates: Layout, hidden: Layout, cell: Layout, weight: Layout, reverse):
    return _plan_layer("lstm", reverse, gates, hidden=hidden, cell=cell, weight=weight)


@plan_for("gru_layer")
@in_single_precision()
def gru_layer(gates: Layout, hidden: Layout, weight: Layout, bias: Layout | None, reverse):
    return _plan_layer("gru", reverse, gates, hidden=hidden, weight=weight, bias=bias)


@plan_for("rnn_layer")
@in_single_precision()
def rnn_layer(gates: Layout, hidden: Layout, weight: Layout, rectified, reverse):
    return _plan_layer("relu" if rectified else "tanh", reverse, gates, hidden=hidden, weight=weight)


def _add_bias(pieces, name, *biases):
    """Add the sum of those biases, "b_ih" and "b_hh", that are there, under a name."""
    given = {each: layout for each, layout in zip(("b_ih", "b_hh"), biases) if layout is not None}
    pieces.layouts[name] = None
    if len(given) == 2:
        pieces.make(name, biases[0].plain(), np.add, *given)
        return
    for each, layout in given.items():
        pieces.views[name] = View(each)
        pieces.plain(**{name: layout})


def _add_gates(pieces, input, w_ih, biases):
    """Add (steps, N, gates), the input's part of all gates with the biases, in the input's own order of memory."""
    (steps, rows, inputs), width, order = input.shape, w_ih.shape[0], (1, 0, 2)
    swaps = not input.is_plain and input.turned(order).is_plain
    pieces.plain(input=input.turned(order) if swaps else input)
    given = "input", Layout((steps * rows, inputs), pieces.dtype)
    gates = "gates", Layout((steps * rows, width), pieces.dtype)
    pieces.plain(w_ih=w_ih)
    _add_bias(pieces, "added", *biases)
    bias = pieces.layouts["added"] and "added"
    pieces.plans.append(plan_product_of(given, ("w_ih", pieces.layouts["w_ih"], True), gates, bias))
    pieces.scratch.append(("gates", steps * rows * width, pieces.dtype))
    whole = Layout((rows, steps, width) if swaps else (steps, rows, width), pieces.dtype)
    pieces.layouts["gates"] = whole.turned(order) if swaps else whole


@plan_for("lstm_sequence")
@in_single_precision()
def lstm_sequence(
    input: Layout, hidden: Layout | None, cell: Layout | None, w_ih: Layout, weight: Layout, b_ih: Layout | None,
    b_hh: Layout | None, reverse,
):  # fmt: skip
    pieces = _pieces(weight, input, hidden, cell, w_ih, b_ih, b_hh)
    if pieces is None:
        return None
    (steps, rows, inputs), size, itemsize = input.shape, weight.shape[1], weight.dtype.itemsize
    pieces.states(rows, size, hidden=hidden, cell=cell)
    if _tiles_pay(weight.scalar, rows, size):
        at_once = _fits_cache(4, size, inputs)
    elif itemsize == 2:  # only so the input's part of the gates is not rounded
        at_once = rows >= _INPUT_ROWS or inputs <= 2 * size
        input, w_ih = _evened(pieces, input=input), _evened(pieces, w_ih=w_ih)
    else:
        near = (w_ih.size + weight.size) * itemsize <= _NEAR_BYTES
        at_once = rows >= _INPUT_ROWS and inputs <= 2 * size and near
    pieces.plain(weight=weight)
    if at_once:
        pieces.row_by_row(input=input)
        pieces.plain(w_ih=w_ih)
        _add_bias(pieces, "bias", b_ih, b_hh)
        _forward(pieces, "lstm_sequence", steps, rows, size, reverse, input.shape[2])
    else:
        _add_gates(pieces, input, w_ih, (b_ih, b_hh))
        _forward(pieces, "lstm", steps, rows, size, reverse)
    pieces.last("last_hidden", "outputs", reverse)
    pieces.last("last_cell", "cells", reverse)
    return pieces.plan("outputs", "last_hidden", "last_cell", "cells", "values")


def _evened(pieces, **operand):
    """The Layout of an operand, with zeros as one more column where it has an odd number of them: whole pairs."""
    ((name, layout),) = operand.items()
    *lengths, columns = layout.shape
    if columns % 2:
        layout = Layout((*lengths, columns + 1), layout.dtype)
        pieces.make(name, layout, _even, name)
    return layout


def _even(array):
    found = np.zeros((*array.shape[:-1], array.shape[-1] + 1), array.dtype)
    found[..., :-1] = array
    return found


def _plan_sequence(kind, reverse, input, hidden, w_ih, biases, returned, **operands):
    """The Plan of a layer of one state from its input on; ``biases`` are added to the input's part of the gates."""
    weight = operands["weight"]
    pieces = _pieces(weight, input, w_ih, hidden, *biases, *operands.values())
    if pieces is None:
        return None
    (steps, rows, _), size = input.shape, weight.shape[1]
    pieces.states(rows, size, hidden=hidden)
    pieces.plain(**operands)
    _add_gates(pieces, input, w_ih, biases)
    _forward(pieces, kind, steps, rows, size, reverse)
    pieces.last("last_hidden", "outputs", reverse)
    return pieces.plan("outputs", "last_hidden", *returned)


@plan_for("gru_sequence")
@in_single_precision()
def gru_sequence(
    input: Layout,
    hidden: Layout | None,
    w_ih: Layout,
    weight: Layout,
    b_ih: Layout | None,
    bias: Layout | None,
    reverse,
):
    given = input, hidden, w_ih, (b_ih, None), ("values", "inner")
    return _plan_sequence("gru", reverse, *given, weight=weight, bias=bias)


@plan_for("rnn_sequence")
@in_single_precision()
def rnn_sequence(
    input: Layout, hidden: Layout | None, w_ih: Layout, weight: Layout, b_ih: Layout | None, b_hh: Layout | None, rectified,
    reverse,
):  # fmt: skip
    given = input, hidden, w_ih, (b_ih, b_hh), ()
    return _plan_sequence("relu" if rectified else "tanh", reverse, *given, weight=weight)


# ---------------------------------------------------------------- backward


def _backward(pieces, kind, names, reverse, states):
    """Add a layer's launch and, if ``states`` are wanted, the gradient of the hidden one; its operands are there, and what it
    writes beside."""
    steps, rows, size = pieces.layouts["outputs"].shape
    if states:
        pieces.result("d_hidden", (rows, size))
    pieces.layouts.setdefault("d_hidden", None)
    _launch(pieces, kind, True, (*names, "d_hidden"), steps, rows, size, reverse)


def _sums(pieces, gates):
    """The Layout of gradients of gates' sums: (steps, N, gates), their rows as `parameter_gradients` wants them."""
    (steps, rows, size), itemsize = pieces.layouts["outputs"].shape, pieces.dtype.itemsize
    pitch = pitch_of(gates * size, pieces.dtype)
    return strided((steps, rows, gates * size), pieces.dtype, (rows * pitch * itemsize, pitch * itemsize, itemsize))


@plan_for("lstm_layer_backward", "lstm_sequence_backward")
@in_single_precision()
def lstm_backward(
    d_outputs: Layout | None, d_cells: Layout | None, d_values: Layout | None, hidden: Layout | None, cell: Layout | None,
    weight: Layout, outputs: Layout, cells: Layout, values: Layout, reverse, input: Layout | None = None, states=True,
):  # fmt: skip
    """The gradients of the gates' sums, of both weights, a bias and, if wanted, both states; of a layer without its input
    those of the sums, the states and the weight."""
    pieces = _pieces(weight, values, d_outputs, d_cells, hidden, cell, input) if d_values is None else None
    if pieces is None:
        return None
    rows, size = outputs.shape[1:]
    pieces.row_by_row(d_outputs=d_outputs, d_cells=d_cells)
    pieces.states(rows, size, hidden=hidden, cell=cell)
    pieces.plain(weight=weight, outputs=outputs, cells=cells, values=values)
    pieces.laid("sums", _sums(pieces, 4))
    pieces.carry(rows, size, states)
    names = "d_outputs", "d_cells", "hidden", "weight", "cell", "cells", "values", "sums", "carry"
    _backward(pieces, "lstm", names, reverse, states)
    parameter_gradients(pieces, reverse, input is not None, input)
    if input is None:
        return pieces.plan("sums", "d_hidden", "carry", "d_w_hh")
    return pieces.plan("sums", "d_w_ih", "d_w_hh", "d_bias", *(("d_hidden", "carry") if states else ()))


@plan_for("gru_layer_backward", "gru_sequence_backward")
@in_single_precision()
def gru_backward(
    d_outputs: Layout | None, d_values: Layout | None, d_inner: Layout | None, hidden: Layout | None, weight: Layout,
    outputs: Layout, values: Layout, inner: Layout, reverse, input: Layout | None = None, states=True,
):  # fmt: skip
    """The gradients of the gates, of both weights, both biases and, if wanted, the first state; of a layer without its input
    those of the gates, the state, the weight and its bias."""
    pieces = _pieces(weight, values, d_outputs, hidden, input) if d_values is None and d_inner is None else None
    if pieces is None:
        return None
    rows, size = outputs.shape[1:]
    pieces.row_by_row(d_outputs=d_outputs)
    pieces.states(rows, size, hidden=hidden)
    pieces.plain(weight=weight, outputs=outputs, values=values, inner=inner)
    pieces.laid("d_gates", _sums(pieces, 3))
    pieces.laid("sums", _sums(pieces, 3), is_result=False)
    pieces.carry(rows, size, False)
    names = "d_outputs", "hidden", "weight", "outputs", "values", "inner", "sums", "d_gates", "carry"
    _backward(pieces, "gru", names, reverse, states)
    parameter_gradients(pieces, reverse, True, input, "sums" if input is None else "d_gates")
    if input is None:
        return pieces.plan("d_gates", "d_hidden", "d_w_hh", "d_bias")
    wanted = ("d_hidden",) if states else ()
    return pieces.plan("d_gates", "d_w_ih", "d_w_hh", "d_input_bias", "d_bias", *wanted)


@plan_for("rnn_layer_backward", "rnn_sequence_backward")
@in_single_precision()
def rnn_backward(
    d_outputs: Layout, hidden: Layout | None, weight: Layout, outputs: Layout, rectified, reverse, input: Layout | None = None,
    states=True,
):  # fmt: skip
    """The gradients of the sums, of both weights, a bias and, if wanted, the first state; of a layer without its input those of
    the sums, the state and the weight."""
    pieces = _pieces(weight, outputs, d_outputs, hidden, input)
    if pieces is None:
        return None
    pieces.row_by_row(d_outputs=d_outputs)
    pieces.states(*outputs.shape[1:], hidden=hidden)
    pieces.plain(weight=weight, outputs=outputs)
    pieces.laid("sums", _sums(pieces, 1))
    names = "d_outputs", "hidden", "weight", "outputs", "sums"
    _backward(pieces, "relu" if rectified else "tanh", names, reverse, states)
    parameter_gradients(pieces, reverse, input is not None, input)
    if input is None:
        return pieces.plan("sums", "d_hidden", "d_w_hh")
    return pieces.plan("sums", "d_w_ih", "d_w_hh", "d_bias", *(("d_hidden",) if states else ()))
