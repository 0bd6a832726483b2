"""Recurrent layers as kernels: LSTM, GRU and simple RNN over whole sequences, forward and backward."""

from __future__ import annotations

import functools

import numpy as np

from . import host
from .kernel import compiled, pool
from .matmul import product
from .recurrent_cells import CELLS
from .recurrent_programs import backward_program, forward_program, panel_vectors, pointer_names, stride_names
from .recurrent_tiles import blocks_of_scratch, packed_words, tile_program
from .routing import kernel_for
from .scratch import scratch
from .tiles.panels import BLOCK, PANEL
from .value_types import NUMPY, scalar_of

_TILE_COST = 0.7  # what a tile costs besides its rows' products, in rows
_CHUNK_WORK = 1 << 18  # multiplications of a chunk from which it is worth handing out
_ALONE = 1 << 18  # multiplications of a step below which other threads are not called in
_FULL = 0.75  # of the rows that the tile unit takes, how many there must be for it to win (24 of 32: by a tenth)
_TILE_SIZE = 96  # hidden units from which it wins: below, vectors have the weight in the nearest cache


class _Plan:
    """A layer's program for given sizes, ready to run."""

    __slots__ = ("blocks", "packed", "pointers", "run", "scratch_size", "strides")

    def __init__(self, kind, backward, scalar, rows, size, absent):
        gates = CELLS[kind].gates
        work = rows * size * size * gates
        prepare = self._with_tiles if _tiles_pay(scalar, rows, size) else self._with_vectors
        kernel = prepare(kind, backward, scalar, rows, size, absent)
        self.run = kernel.alone if work < _ALONE else kernel.threaded
        self.pointers = pointer_names(kind, backward, absent)
        self.strides = stride_names(kind, backward, absent)

    def _with_tiles(self, kind, backward, scalar, rows, size, absent):
        gates = CELLS[kind].gates
        self.blocks = 0  # chunks are always of 32 rows
        self.scratch_size = blocks_of_scratch(1 if backward else gates) * BLOCK
        self.packed = sum(packed_words(rows, size, gates))
        key = f"{kind}_layer{'_backward' * backward}", "tiles", absent
        return compiled(key, lambda: tile_program(kind, backward, absent))

    def _with_vectors(self, kind, backward, scalar, rows, size, absent):
        lanes = host.lanes(NUMPY[scalar].itemsize)
        unit_vectors, vectors = panel_vectors(kind, backward)
        tile_rows = _tile_rows(rows, 24 // vectors)
        panels = -(-size // (unit_vectors * lanes))
        work = rows * size * size * CELLS[kind].gates
        self.blocks = max(1, min(rows // tile_rows, work // panels // _CHUNK_WORK))
        rows_of_block = -(-(rows // tile_rows) // self.blocks) * tile_rows + tile_rows
        self.scratch_size = rows_of_block * vectors * lanes
        self.packed = panels * vectors * lanes * size
        program = backward_program if backward else forward_program
        key = (f"{kind}_layer{'_backward' * backward}", scalar, lanes, tile_rows, absent)
        return compiled(key, lambda: program(kind, scalar, lanes, tile_rows, absent))


def _tiles_pay(scalar, rows, size):
    """Whether the tile unit is there and wins over the vector units."""
    full = rows / (-(-rows // PANEL) * PANEL) >= _FULL and size % PANEL == 0 and size >= _TILE_SIZE
    return full and scalar == "f32" and host.host().has_tiles


def _tile_rows(rows, most):
    """How many rows to multiply at once, so that few are multiplied twice."""
    if rows <= most:
        return rows
    return min(range(most, most // 2, -1), key=lambda height: -(-rows // height) * (height + _TILE_COST))


_plan = functools.lru_cache(1024)(_Plan)


def _run(kind, backward, given, steps, rows, size, reverse):
    """Run a layer; ``given`` has its arrays by name (None for absent ones)."""
    weight = given["weight"]
    absent = tuple([name for name, array in given.items() if array is None])
    plan = _plan(kind, backward, scalar_of(weight.dtype), rows, size, absent)
    work = scratch("recurrent", plan.packed + plan.scratch_size * pool().scratch_areas, weight.dtype)
    given["packed"], given["scratch"] = work, work[plan.packed :]
    pointers = [given[name] for name in plan.pointers]
    strides = []
    for name in plan.strides[::2]:
        array = given[name[: -len("_step")]]
        strides += [array.strides[0] // array.itemsize, array.strides[1] // array.itemsize]
    first, direction = (steps - 1, -1) if reverse else (0, 1)
    plan.run(*pointers, *strides, steps, rows, size, first, direction, plan.blocks, plan.scratch_size)


def _readable(array):
    """The array as the programs read it: neighbouring columns, whole elements between rows; copied if need be."""
    if array is None or (array.strides[-1] == array.itemsize and array.flags.aligned):
        return array
    return np.ascontiguousarray(array)


def _fits(*arrays):
    """Whether all arrays hold numbers of one type that there are programs for."""
    dtype = arrays[0].dtype
    return dtype in (np.float32, np.float64) and all(a is None or a.dtype == dtype for a in arrays) and arrays[0].size


def _contiguous(array):
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.ascontiguousarray(array)


@kernel_for("lstm_layer")
def lstm_layer(gates, hidden, cell, weight, reverse):
    if not _fits(gates, hidden, cell, weight):
        return NotImplemented
    steps, rows, width = gates.shape
    size = width // 4
    outputs, cells = np.empty((2, steps, rows, size), gates.dtype)
    values = np.empty(gates.shape, gates.dtype)
    given = {"gates": _readable(gates), "hidden": _contiguous(hidden), "cell": _contiguous(cell)}
    given |= {"weight": _contiguous(weight), "outputs": outputs, "cells": cells, "values": values}
    _run("lstm", False, given, steps, rows, size, reverse)
    return outputs, cells, values


@kernel_for("gru_layer")
def gru_layer(gates, hidden, weight, bias, reverse):
    if not _fits(gates, hidden, weight, bias):
        return NotImplemented
    steps, rows, width = gates.shape
    size = width // 3
    outputs, inner = np.empty((steps, rows, size), gates.dtype), np.empty((steps, rows, size), gates.dtype)
    values = np.empty(gates.shape, gates.dtype)
    given = {"gates": _readable(gates), "hidden": _contiguous(hidden), "weight": _contiguous(weight)}
    given |= {"bias": bias if bias is None else _contiguous(bias), "outputs": outputs, "values": values, "inner": inner}
    _run("gru", False, given, steps, rows, size, reverse)
    return outputs, values, inner


@kernel_for("rnn_layer")
def rnn_layer(gates, hidden, weight, rectified, reverse):
    if not _fits(gates, hidden, weight):
        return NotImplemented
    steps, rows, size = gates.shape
    outputs = np.empty(gates.shape, gates.dtype)
    given = {"gates": _readable(gates), "hidden": _contiguous(hidden), "weight": _contiguous(weight)}
    given["outputs"] = outputs
    _run("relu" if rectified else "tanh", False, given, steps, rows, size, reverse)
    return outputs


def _weight_gradient(sums, outputs, hidden, reverse):
    """The gradient of the weight that multiplied the state before every step, from that of the sums."""
    width, size = sums.shape[2], hidden.shape[1]
    later, first = (sums[:-1], sums[-1]) if reverse else (sums[1:], sums[0])
    before = outputs[1:] if reverse else outputs[:-1]
    found = np.empty((width, size), sums.dtype)
    product(first.T, hidden, found)
    if len(before):
        product(later.reshape(-1, width).T, before.reshape(-1, size), found, accumulate=True)
    return found


@kernel_for("lstm_layer_backward")
def lstm_layer_backward(d_outputs, d_cells, d_values, hidden, cell, weight, outputs, cells, values, reverse):
    if d_values is not None or not _fits(values, d_outputs, d_cells, hidden, cell, weight):
        return NotImplemented
    steps, rows, size = outputs.shape
    hidden, weight, outputs = _contiguous(hidden), _contiguous(weight), _contiguous(outputs)
    sums, d_hidden, d_cell = np.empty(values.shape, values.dtype), np.empty_like(hidden), np.zeros_like(hidden)
    given = {"d_outputs": _readable(d_outputs), "d_cells": _readable(d_cells), "hidden": hidden, "weight": weight}
    given |= {"cell": _contiguous(cell), "cells": _contiguous(cells), "values": _contiguous(values)}
    given |= {"sums": sums, "carry": d_cell, "d_hidden": d_hidden}
    _run("lstm", True, given, steps, rows, size, reverse)
    return sums, d_hidden, d_cell, _weight_gradient(sums, outputs, hidden, reverse)


@kernel_for("gru_layer_backward")
def gru_layer_backward(d_outputs, d_values, d_inner, hidden, weight, outputs, values, inner, reverse):
    if d_values is not None or d_inner is not None or not _fits(values, d_outputs, hidden, weight):
        return NotImplemented
    steps, rows, size = outputs.shape
    hidden, weight, outputs = _contiguous(hidden), _contiguous(weight), _contiguous(outputs)
    sums, d_gates = np.empty(values.shape, values.dtype), np.empty(values.shape, values.dtype)
    d_hidden = np.empty_like(hidden)
    given = {"d_outputs": _readable(d_outputs), "hidden": hidden, "weight": weight, "outputs": outputs}
    given |= {"values": _contiguous(values), "inner": _contiguous(inner), "sums": sums, "d_gates": d_gates}
    given |= {"carry": np.zeros_like(hidden), "d_hidden": d_hidden}
    _run("gru", True, given, steps, rows, size, reverse)
    d_bias = product(np.ones((1, steps * rows), sums.dtype), sums.reshape(-1, sums.shape[2])).reshape(-1)
    return d_gates, d_hidden, _weight_gradient(sums, outputs, hidden, reverse), d_bias


@kernel_for("rnn_layer_backward")
def rnn_layer_backward(grad, hidden, weight, outputs, rectified, reverse):
    if not _fits(outputs, grad, hidden, weight):
        return NotImplemented
    steps, rows, size = outputs.shape
    hidden, weight, outputs = _contiguous(hidden), _contiguous(weight), _contiguous(outputs)
    sums, d_hidden = np.empty(outputs.shape, outputs.dtype), np.empty_like(hidden)
    given = {"d_outputs": _readable(grad), "hidden": hidden, "weight": weight, "outputs": outputs}
    given |= {"sums": sums, "d_hidden": d_hidden}
    _run("relu" if rectified else "tanh", True, given, steps, rows, size, reverse)
    return sums, d_hidden, _weight_gradient(sums, outputs, hidden, reverse)
