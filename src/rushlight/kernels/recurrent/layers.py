"""Recurrent layers as kernels: LSTM, GRU and simple RNN over whole sequences, forward and backward."""

from __future__ import annotations

import functools
import math
from operator import itemgetter

import numpy as np

from ...base import settings
from ...base.processors import near_bytes, shared_cache_bytes
from ..compiler.kernel import compiled, pool
from ..elementwise.half_precision import by_single_precision
from ..language.value_types import NUMPY, scalar_of
from ..machine import host
from ..machine.scratch import aligned, scratch
from ..planning.registry import kernel_for
from ..products.matmul import product
from ..products.tiles.panels import BLOCK, PANEL
from . import rows as recurrent_rows
from .cells import CELLS
from .gradients import parameter_gradients, pitch_of
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
_ALIGNED_FROM = 1 << 18  # elements: 128 samples of 128 units, 32 steps: 5 % less of a training step
_LEAST_BLOCK = 8  # rows that a vector of the weight serves
_LEAST_ROWS = 4  # of a thread that takes rows through all steps
_TILE_SIZE = 96  # hidden units from which it wins: below, vectors have the weight in the nearest cache


class _Plan:
    """A layer's program for given sizes, ready to run."""

    __slots__ = ("blocks", "packed", "pick", "run", "scratch_size", "strided")

    def __init__(self, kind, backward, scalar, rows, size, inputs, absent, threads):
        gates = CELLS[kind].gates
        work = rows * size * size * gates
        if not _tiles_pay(scalar, rows, size):
            kernel = self._with_vectors(kind, backward, scalar, rows, size, inputs, absent, threads)
        elif _fits_cache(gates, size, inputs):
            kernel = self._with_rows(kind, backward, size, inputs, absent)
        else:
            kernel = self._with_tiles(kind, backward, rows, size, absent)
        self.run = kernel.alone if work < _ALONE else kernel.threaded
        self.pick = itemgetter(*pointer_names(kind, backward, absent))
        self.strided = [name[: -len("_step")] for name in stride_names(kind, backward, absent)[::2]]

    def _with_rows(self, kind, backward, size, inputs, absent):
        gates = CELLS[kind].gates
        self.blocks = 0  # chunks are always of 16 rows
        self.scratch_size = recurrent_rows.scratch_words(size, inputs, gates, backward)
        self.packed = recurrent_rows.packed_words(size, inputs, gates)
        key = f"{kind}_layer{'_backward' * backward}", "rows", absent
        return compiled(key, lambda: recurrent_rows.row_program(kind, backward, absent))

    def _with_tiles(self, kind, backward, rows, size, absent):
        gates = CELLS[kind].gates
        self.blocks = 0  # chunks are always of 32 rows
        self.scratch_size = blocks_of_scratch(1 if backward else gates) * BLOCK
        self.packed = sum(packed_words(rows, size, gates))
        key = f"{kind}_layer{'_backward' * backward}", "tiles", absent
        return compiled(key, lambda: tile_program(kind, backward, absent))

    def _with_vectors(self, kind, backward, scalar, rows, size, inputs, absent, threads):
        lanes, gates = host.lanes(NUMPY[compute_scalar(scalar)].itemsize), CELLS[kind].gates
        vectors, sums = -(-size // lanes), gates_of_sums(kind, backward)
        panels, work = -(-vectors // PANEL_VECTORS), rows * size * size * gates
        pitch = sums * PANEL_VECTORS * lanes
        packed = panels * pitch * (size * (gates if backward else 1) + inputs) // (2 if scalar == "bf16" else 1)
        by_rows = _by_rows(gates, scalar, rows, size, inputs, threads)
        if by_rows:
            self.blocks = 1 if work < _ALONE else min(threads, rows)
        else:
            self.blocks = max(1, min(rows // _LEAST_BLOCK, work // panels // _CHUNK_WORK))
        most = -(-rows // self.blocks)
        self.packed, self.scratch_size = (0, packed) if by_rows else (packed, 0)
        self.scratch_size += most * pitch
        widths = (PANEL_VECTORS,) * (vectors >= PANEL_VECTORS) + (1,) * (vectors % PANEL_VECTORS)
        heights = _heights(rows, self.blocks, most)
        options = scalar, lanes, widths, heights, by_rows, rows * size >= _FAR_UNITS, absent
        key = f"{kind}_layer{'_backward' * backward}", *options
        return compiled(key, lambda: vector_program(kind, backward, *options))


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


_plan = functools.lru_cache(1024)(_Plan)


def _run(kind, backward, given, steps, rows, size, reverse, inputs=0):
    """Run a layer; ``given`` has its arrays by name (None for absent ones)."""
    weight = given["weight"]
    _check_sizes(kind, given, rows, size, inputs)
    absent = tuple([name for name, array in given.items() if array is None])
    plan = _plan(kind, backward, scalar_of(weight.dtype), rows, size, inputs, absent, settings.get_num_threads())
    work = scratch("recurrent", plan.packed + plan.scratch_size * pool().scratch_areas, _compute_dtype(weight.dtype))
    given["packed"], given["scratch"] = work, work[plan.packed :]
    strides, itemsize = [], weight.itemsize
    for name in plan.strided:
        of_step, of_row, _ = given[name].strides
        strides += (of_step // itemsize, of_row // itemsize)
    first, direction = (steps - 1, -1) if reverse else (0, 1)
    plan.run(*plan.pick(given), *strides, steps, rows, size, inputs, first, direction, plan.blocks, plan.scratch_size)


def _check_sizes(kind, given, rows, size, inputs):
    """Refuse arrays of other sizes than the program takes for granted: the last place before it reads and writes them."""
    width = CELLS[kind].gates * size
    expected = {"weight": (width, size), "w_ih": (width, inputs), "bias": (width,)}
    expected |= dict.fromkeys(("hidden", "cell"), (rows, size))
    for name, shape in expected.items():
        array = given.get(name)
        if array is not None and array.shape != shape:
            raise RuntimeError(f"a recurrent layer's {name} has the shape {array.shape}, not {shape}")


def _readable(array):
    """The array as the programs read it: neighbouring columns, whole elements between rows; copied if need be."""
    if array is None or (array.strides[-1] == array.itemsize and array.flags.aligned):
        return array
    return np.ascontiguousarray(array)


def _fits(weight, *arrays):
    """Whether all arrays hold numbers of one type that there are programs for: of bfloat16, where pairs are multiplied, and
    the hidden states are a whole number of them."""
    dtype = weight.dtype
    if not all(a is None or (a.dtype == dtype and a.size) for a in arrays):
        return False
    scalar = scalar_of(dtype)
    return scalar in ("f32", "f64") or (scalar == "bf16" and weight.shape[1] % 2 == 0 and host.has_dots())


def _compute_dtype(dtype):
    return NUMPY[compute_scalar(scalar_of(dtype))]


def _contiguous(array):
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.ascontiguousarray(array)


@kernel_for("lstm_layer")
@by_single_precision()
def lstm_layer(gates, hidden, cell, weight, reverse):
    if not _fits(weight, gates, hidden, cell):
        return NotImplemented
    steps, rows, width = gates.shape
    given = {"gates": _readable(gates), "weight": _contiguous(weight)}
    return _run_lstm("lstm", given, hidden, cell, steps, rows, width // 4, reverse)


@kernel_for("gru_layer")
@by_single_precision()
def gru_layer(gates, hidden, weight, bias, reverse):
    if not _fits(weight, gates, hidden, bias):
        return NotImplemented
    steps, rows, width = gates.shape
    size = width // 3
    outputs = np.empty((steps, rows, size), gates.dtype)
    inner, values = _internal(outputs.shape, gates.dtype), _internal(gates.shape, gates.dtype)
    given = {"gates": _readable(gates), "hidden": _contiguous(hidden), "weight": _contiguous(weight)}
    given |= {"bias": bias if bias is None else _contiguous(bias), "outputs": outputs, "values": values, "inner": inner}
    _run("gru", False, given, steps, rows, size, reverse)
    return outputs, values, inner


@kernel_for("rnn_layer")
@by_single_precision()
def rnn_layer(gates, hidden, weight, rectified, reverse):
    if not _fits(weight, gates, hidden):
        return NotImplemented
    steps, rows, size = gates.shape
    outputs = np.empty(gates.shape, gates.dtype)
    given = {"gates": _readable(gates), "hidden": _contiguous(hidden), "weight": _contiguous(weight)}
    given["outputs"] = outputs
    _run("relu" if rectified else "tanh", False, given, steps, rows, size, reverse)
    return outputs


def _sums_gradient(like):
    """An array for the gradient of gates' sums: (steps, N, gates), its rows as `parameter_gradients` wants them."""
    steps, rows, width = like.shape
    pitch = pitch_of(width, like.dtype)
    return aligned(steps * rows * pitch, like.dtype).reshape(steps, rows, pitch)[:, :, :width]


def _internal(shape, dtype):
    """An array that no user sees: a large one begins on a cache line, so that each of its vectors lies in one."""
    count = math.prod(shape)
    return np.empty(shape, dtype) if count < _ALIGNED_FROM else aligned(count, dtype).reshape(shape)


def _carry(like):
    """Zeros of the shape of a state, for what flows from step to step beside the sums; good until the next call."""
    found = scratch("recurrent_carry", like.size, _compute_dtype(like.dtype))[: like.size]
    found.fill(0)
    return found.reshape(like.shape)


@kernel_for("lstm_layer_backward")
@by_single_precision()
def lstm_layer_backward(*arguments):
    found = _run_lstm_backward(*arguments, None, True)
    if found is NotImplemented:
        return found
    sums, _, d_w_hh, _, *d_states = found
    return sums, *d_states, d_w_hh


def _run_lstm_backward(
    d_outputs, d_cells, d_values, hidden, cell, weight, outputs, cells, values, reverse, input, states
):
    """The gradients of the gates' sums, of both weights and a bias (None without an input) and, if wanted, of both states;
    NotImplemented without a program."""
    if d_values is not None or not _fits(weight, values, d_outputs, d_cells, hidden, cell):
        return NotImplemented
    steps, rows, size = outputs.shape
    weight, outputs = _contiguous(weight), _contiguous(outputs)
    hidden, cell = _or_zeros(hidden, rows, weight), _or_zeros(cell, rows, weight)
    sums, carry = _sums_gradient(values), _carry(hidden)
    d_hidden = np.empty_like(hidden) if states else None
    given = {"d_outputs": _readable(d_outputs), "d_cells": _readable(d_cells), "hidden": hidden, "weight": weight}
    given |= {"cell": cell, "cells": _contiguous(cells), "values": _contiguous(values)}
    given |= {"sums": sums, "carry": carry, "d_hidden": d_hidden}
    _run("lstm", True, given, steps, rows, size, reverse)
    d_w_hh, d_w_ih, d_bias, _ = parameter_gradients(sums, outputs, hidden, reverse, input is not None, _readable(input))
    return sums, d_w_ih, d_w_hh, d_bias, *((d_hidden, carry.astype(weight.dtype)) if states else ())


def _projected(input, weight, biases):
    """(steps, N, gates) of (steps, N, size): the input's part of all gates, in the input's own order of memory."""
    swap = not input.flags.c_contiguous
    rows = input.transpose(1, 0, 2) if swap else input
    bias = sum(biases[1:], biases[0]) if biases else None
    found = product(np.ascontiguousarray(rows).reshape(-1, input.shape[2]), weight.T, bias=bias)
    gates = found.reshape(*rows.shape[:2], -1)
    return gates.transpose(1, 0, 2) if swap else gates


@kernel_for("lstm_sequence")
@by_single_precision()
def lstm_sequence(input, hidden, cell, w_ih, w_hh, b_ih, b_hh, reverse):
    found = _run_lstm_sequence(input, hidden, cell, w_ih, w_hh, b_ih, b_hh, reverse)
    if found is NotImplemented:
        return found
    outputs, cells, values = found
    return outputs, _last(outputs, reverse), _last(cells, reverse), cells, values


def _last(states, reverse):
    """The state after the last step that is taken: (1, N, size), in memory of its own."""
    return states[:1].copy() if reverse else states[-1:].copy()


def _run_lstm_sequence(input, hidden, cell, w_ih, w_hh, b_ih, b_hh, reverse):
    biases = [_contiguous(bias) for bias in (b_ih, b_hh) if bias is not None]
    if not _fits(w_hh, input, hidden, cell, w_ih, *biases):
        return NotImplemented
    (steps, rows, inputs), size, dtype = input.shape, w_hh.shape[1], input.dtype
    hidden, cell = _or_zeros(hidden, rows, w_hh), _or_zeros(cell, rows, w_hh)
    if _tiles_pay(scalar_of(dtype), rows, size):
        at_once = _fits_cache(4, size, inputs)
    elif dtype.itemsize == 2:  # only so the input's part of the gates is not rounded
        at_once = rows >= _INPUT_ROWS or inputs <= 2 * size
        input, w_ih = _even(input), _even(w_ih)
    else:
        at_once = rows >= _INPUT_ROWS and inputs <= 2 * size and w_ih.nbytes + w_hh.nbytes <= _NEAR_BYTES
    if not at_once:
        return lstm_layer(_projected(input, _contiguous(w_ih), biases), hidden, cell, w_hh, reverse)
    given = {"input": _readable(input), "w_ih": _contiguous(w_ih), "weight": _contiguous(w_hh)}
    given |= {"bias": sum(biases[1:], biases[0]) if biases else None}
    return _run_lstm("lstm_sequence", given, hidden, cell, steps, rows, size, reverse, input.shape[2])


def _even(array):
    """The array, with zeros as one more column where it has an odd number of them: whole pairs."""
    columns = array.shape[-1]
    if columns % 2 == 0:
        return array
    found = np.zeros((*array.shape[:-1], columns + 1), array.dtype)
    found[..., :columns] = array
    return found


def _or_zeros(state, rows, weight):
    """The state before the first step, contiguous: zeros for None."""
    return np.zeros((rows, weight.shape[1]), weight.dtype) if state is None else _contiguous(state)


def _run_lstm(kind, given, hidden, cell, steps, rows, size, reverse, inputs=0):
    """Run an LSTM layer forward; the hidden and cell states after every step and the gates' values."""
    outputs = np.empty((steps, rows, size), hidden.dtype)
    cells, values = (_internal((steps, rows, count * size), hidden.dtype) for count in (1, 4))
    given |= {"hidden": _contiguous(hidden), "cell": _contiguous(cell)}
    given |= {"outputs": outputs, "cells": cells, "values": values}
    _run(kind, False, given, steps, rows, size, reverse, inputs)
    return outputs, cells, values


@kernel_for("lstm_sequence_backward")
@by_single_precision()
def lstm_sequence_backward(*arguments):
    input, weight = arguments[-2], arguments[5]
    return _run_lstm_backward(*arguments) if _fits(weight, input) else NotImplemented


@kernel_for("gru_sequence")
@by_single_precision()
def gru_sequence(input, hidden, w_ih, w_hh, b_ih, b_hh, reverse):
    if not _fits(w_hh, input, w_ih, b_ih, b_hh, hidden):
        return NotImplemented
    gates = _projected(input, _contiguous(w_ih), [] if b_ih is None else [_contiguous(b_ih)])
    outputs, values, inner = gru_layer(gates, _or_zeros(hidden, input.shape[1], w_hh), w_hh, b_hh, reverse)
    return outputs, _last(outputs, reverse), values, inner


@kernel_for("gru_layer_backward")
@by_single_precision()
def gru_layer_backward(*arguments):
    found = _run_gru_backward(*arguments, None, True)
    if found is NotImplemented:
        return found
    d_gates, _, d_w_hh, _, d_bias, d_hidden = found
    return d_gates, d_hidden, d_w_hh, d_bias


@kernel_for("gru_sequence_backward")
@by_single_precision()
def gru_sequence_backward(*arguments):
    input, weight = arguments[-2], arguments[4]
    return _run_gru_backward(*arguments) if _fits(weight, input) else NotImplemented


def _run_gru_backward(d_outputs, d_values, d_inner, hidden, weight, outputs, values, inner, reverse, input, states):
    """The gradients of the gates, of both weights and both biases (None for the input's without one) and, if wanted, of the
    first state; NotImplemented without a program."""
    if d_values is not None or d_inner is not None or not _fits(weight, values, d_outputs, hidden):
        return NotImplemented
    steps, rows, size = outputs.shape
    weight, outputs, hidden = _contiguous(weight), _contiguous(outputs), _or_zeros(hidden, rows, weight)
    sums, d_gates = _sums_gradient(values), _sums_gradient(values)
    d_hidden = np.empty_like(hidden) if states else None
    given = {"d_outputs": _readable(d_outputs), "hidden": hidden, "weight": weight, "outputs": outputs}
    given |= {"values": _contiguous(values), "inner": _contiguous(inner), "sums": sums, "d_gates": d_gates}
    given |= {"carry": _carry(hidden), "d_hidden": d_hidden}
    _run("gru", True, given, steps, rows, size, reverse)
    input_sums = None if input is None else d_gates
    d_w_hh, d_w_ih, d_b_hh, d_b_ih = parameter_gradients(
        sums, outputs, hidden, reverse, True, _readable(input), input_sums
    )
    return d_gates, d_w_ih, d_w_hh, d_b_ih, d_b_hh, *((d_hidden,) if states else ())


@kernel_for("rnn_sequence")
@by_single_precision()
def rnn_sequence(input, hidden, w_ih, w_hh, b_ih, b_hh, rectified, reverse):
    biases = [_contiguous(bias) for bias in (b_ih, b_hh) if bias is not None]
    if not _fits(w_hh, input, w_ih, hidden, *biases):
        return NotImplemented
    gates = _projected(input, _contiguous(w_ih), biases)
    outputs = rnn_layer(gates, _or_zeros(hidden, input.shape[1], w_hh), w_hh, rectified, reverse)
    return outputs, _last(outputs, reverse)


@kernel_for("rnn_layer_backward")
@by_single_precision()
def rnn_layer_backward(*arguments):
    found = _run_rnn_backward(*arguments, None, True)
    if found is NotImplemented:
        return found
    sums, _, d_weight, _, d_hidden = found
    return sums, d_hidden, d_weight


@kernel_for("rnn_sequence_backward")
@by_single_precision()
def rnn_sequence_backward(*arguments):
    input, weight = arguments[-2], arguments[2]
    return _run_rnn_backward(*arguments) if _fits(weight, input) else NotImplemented


def _run_rnn_backward(grad, hidden, weight, outputs, rectified, reverse, input, states):
    """The gradients of the sums, of both weights and a bias (None without an input) and, if wanted, of the first state;
    NotImplemented without a program."""
    if not _fits(weight, outputs, grad, hidden):
        return NotImplemented
    steps, rows, size = outputs.shape
    weight, outputs, hidden = _contiguous(weight), _contiguous(outputs), _or_zeros(hidden, rows, weight)
    sums, d_hidden = _sums_gradient(outputs), np.empty_like(hidden) if states else None
    given = {"d_outputs": _readable(grad), "hidden": hidden, "weight": weight, "outputs": outputs}
    given |= {"sums": sums, "d_hidden": d_hidden}
    _run("relu" if rectified else "tanh", True, given, steps, rows, size, reverse)
    d_w_hh, d_w_ih, d_bias, _ = parameter_gradients(sums, outputs, hidden, reverse, input is not None, _readable(input))
    return sums, d_w_ih, d_w_hh, d_bias, *((d_hidden,) if states else ())
