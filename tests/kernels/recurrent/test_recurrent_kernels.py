"""Kernels of recurrent layers against the operations' NumPy forms, in float64 where those would lose digits."""

import numpy as np
import pytest

from rushlight import set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.planning.registry import KERNELS
from rushlight.kernels.recurrent import (
    layers as recurrent,
)
from rushlight.kernels.recurrent import (
    programs as recurrent_programs,
)
from rushlight.kernels.recurrent import (
    rows as recurrent_rows,
)
from rushlight.kernels.recurrent import (
    tiles as recurrent_tiles,
)
from rushlight.kernels.recurrent import (
    vectors as recurrent_vectors,
)
from rushlight.ops import recurrent as ops
from rushlight.ops import recurrent_sequences as sequences

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
ABSENT = {"lstm": (), "gru": ("bias",), "tanh": ()}
SIZES = ((1, 1, 1), (3, 2, 5), (4, 7, 16), (3, 13, 33), (2, 32, 70))
SIZES += ((2, 1, 35), (2, 3, 397), (2, 13, 397))  # sums in several chains, in several pieces
SIZES += (
    (4, 26, 96),
    (3, 60, 96),
    (3, 12, 128),
    (2, 28, 256),
)  # on tiles, the last with a weight beyond a core's cache


def numbers(*shape, dtype="f8", seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def close(found, expected, dtype):
    assert found is not NotImplemented
    single = isinstance(found, np.ndarray)
    for a, b in zip((found,) if single else found, (expected,) if single else expected, strict=True):
        assert (a.shape, a.dtype, a.strides[-1]) == (b.shape, np.dtype(dtype), a.itemsize)
        scale = max(1.0, np.abs(b).max(initial=0))
        np.testing.assert_allclose(a, b, rtol=0, atol=scale * (3e-5 if dtype == "f4" else 1e-12))


def compare(kernel, operation, arguments, dtype):
    narrow = [a.astype(dtype) if isinstance(a, np.ndarray) else a for a in arguments]
    wide = [a.astype("f8") if isinstance(a, np.ndarray) else a for a in narrow]
    expected = operation.forward(*wide)
    close(kernel(*narrow), expected, dtype)
    return expected


@pytest.fixture(params=SIZES, ids=str)
def size(request):
    return request.param


@pytest.fixture(params=["f4", "f8"])
def dtype(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["forward", "reverse"])
def reverse(request):
    return request.param


def test_lstm(size, dtype, reverse):
    steps, rows, width = size
    gates, hidden, cell = numbers(steps, rows, 4 * width), numbers(rows, width), numbers(rows, width, seed=1)
    weight = numbers(4 * width, width) / width**0.5
    results = compare(recurrent.lstm_layer, ops.lstm_layer, (gates, hidden, cell, weight, reverse), dtype)
    d_outputs, d_cells = numbers(steps, rows, width, seed=2), numbers(steps, rows, width, seed=3)
    for given in ((d_outputs, d_cells), (d_outputs, None), (None, d_cells)):
        arguments = (*given, None, hidden, cell, weight, *results, reverse)
        compare(recurrent.lstm_backward, ops.lstm_layer_backward, arguments, dtype)


@pytest.mark.parametrize("inputs", [1, 20, 70])
@pytest.mark.parametrize("biases", [0, 1, 2])
def test_lstm_from_its_input_on(size, dtype, reverse, inputs, biases):
    steps, rows, width = size
    w_ih, w_hh = numbers(4 * width, inputs) / inputs**0.5, numbers(4 * width, width) / width**0.5
    given = [numbers(4 * width, seed=seed) if seed < biases else None for seed in range(2)]
    given_states = numbers(rows, width), numbers(rows, width, seed=1)
    input = numbers(rows, steps, inputs).transpose(1, 0, 2) if biases else numbers(steps, rows, inputs)
    for states in (given_states, (None, None)):
        arguments = (input, *states, w_ih, w_hh, *given, reverse)
        outputs, _, _, cells, values = compare(recurrent.lstm_sequence, sequences.lstm_sequence, arguments, dtype)
        d_outputs = numbers(steps, rows, width, seed=2)
        arguments = (d_outputs, None, None, *states, w_hh, outputs, cells, values, reverse, input)
        for wanted in (True, False):
            compare(recurrent.lstm_backward, sequences.lstm_sequence_backward, (*arguments, wanted), dtype)


def test_infinite_input_stays_in_its_row():
    steps, rows, width = 3, 30, 96
    input = numbers(steps, rows, 40, dtype="f4")
    input[1, 7, 3] = np.inf
    states = numbers(2, rows, width, dtype="f4")
    weights = [numbers(4 * width, size, dtype="f4") / np.float32(8) for size in (40, width)]
    arguments = (input, *states, *weights, None, None, False)
    for found, expected in zip(recurrent.lstm_sequence(*arguments), sequences.lstm_sequence.forward(*arguments)):
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        close(np.delete(found, 7, axis=1), np.delete(expected, 7, axis=1), "f4")


@pytest.mark.parametrize("inputs", [1, 20, 70])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("kind", ["gru", "tanh", "relu"])
def test_layers_of_one_state_from_their_input_on(size, dtype, reverse, inputs, biased, kind):
    steps, rows, width = size
    gates = 3 * width if kind == "gru" else width
    weights = numbers(gates, inputs) / inputs**0.5, numbers(gates, width) / width**0.5
    biases = (numbers(gates, seed=4), numbers(gates, seed=5)) if biased else (None, None)
    input = numbers(rows, steps, inputs).transpose(1, 0, 2) if biased else numbers(steps, rows, inputs)
    d_outputs, flags = numbers(steps, rows, width, seed=2), () if kind == "gru" else (kind == "relu",)
    name = "gru_sequence" if kind == "gru" else "rnn_sequence"
    for state in (numbers(rows, width), None):
        arguments = (input, state, *weights, *biases, *flags, reverse)
        outputs, _, *values = compare(KERNELS[name], getattr(sequences, name), arguments, dtype)
        flowing = (d_outputs, None, None) if kind == "gru" else (d_outputs,)
        name_of_gradient = f"{name}_backward"
        kernel, operation = KERNELS[name_of_gradient], getattr(sequences, name_of_gradient)
        for wanted in (True, False):
            arguments = (*flowing, state, weights[1], outputs, *values, *flags, reverse, input, wanted)
            compare(kernel, operation, arguments, dtype)


@pytest.mark.parametrize("biased", [False, True])
def test_gru(size, dtype, reverse, biased):
    steps, rows, width = size
    gates, hidden, weight = numbers(steps, rows, 3 * width), numbers(rows, width), numbers(3 * width, width)
    bias = numbers(3 * width) if biased else None
    results = compare(recurrent.gru_layer, ops.gru_layer, (gates, hidden, weight / width**0.5, bias, reverse), dtype)
    arguments = (numbers(steps, rows, width), None, None, hidden, weight / width**0.5, *results, reverse)
    compare(recurrent.gru_backward, ops.gru_layer_backward, arguments, dtype)


@pytest.mark.parametrize("rectified", [False, True])
def test_simple_layer(size, dtype, reverse, rectified):
    steps, rows, width = size
    gates, hidden, weight = numbers(steps, rows, width), numbers(rows, width), numbers(width, width) / width**0.5
    outputs = compare(recurrent.rnn_layer, ops.rnn_layer, (gates, hidden, weight, rectified, reverse), dtype)
    arguments = (numbers(steps, rows, width, seed=1), hidden, weight, outputs, rectified, reverse)
    compare(recurrent.rnn_backward, ops.rnn_layer_backward, arguments, dtype)


def test_steps_and_rows_may_lie_apart():
    gates = numbers(5, 4, 24, dtype="f4").transpose(1, 0, 2)
    hidden, weight = numbers(5, 6, dtype="f4"), numbers(24, 6, dtype="f4")
    results = recurrent.lstm_layer(gates, hidden, hidden, weight, False)
    close(results, ops.lstm_layer.forward(gates, hidden, hidden, weight, False), "f4")
    apart = numbers(5, 4, 12, dtype="f4")[:, :, ::2].transpose(1, 0, 2)
    known = hidden, hidden, weight, *results, False
    expected = ops.lstm_layer_backward.forward(apart, None, None, *known)
    close(recurrent.lstm_backward(apart, None, None, *known), expected, "f4")


def test_what_is_declined():
    whole = np.ones((2, 3, 8), np.int64)
    assert recurrent.lstm_layer(whole, whole[0, :, :2], whole[0, :, :2], whole[0].T[:, :2], False) is NotImplemented
    empty = numbers(2, 0, 8, dtype="f4")
    assert (
        recurrent.lstm_layer(empty, empty[0, :, :2], empty[0, :, :2], numbers(8, 2, dtype="f4"), False)
        is NotImplemented
    )


def test_not_a_number_stays_in_its_row():
    gates, hidden, weight = numbers(3, 4, 20, dtype="f4"), np.zeros((4, 20), np.float32), numbers(20, 20, dtype="f4")
    gates[0, 1, 3] = np.nan
    for rectified in (False, True):
        outputs = recurrent.rnn_layer(gates, hidden, weight, rectified, False)
        assert np.isnan(outputs[1:, 1]).all() and not np.isnan(outputs[:, [0, 2, 3]]).any()


@pytest.mark.parametrize("width", [96, 448])  # the weight in a core's cache, and beyond
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@np.errstate(invalid="ignore")
def test_not_a_number_stays_in_its_row_of_a_block(bad, width):
    """Where the tile unit makes NaN of a whole block's infinities, the block is computed again."""
    steps, rows = 3, 60
    gates, hidden = numbers(steps, rows, width, dtype="f4"), numbers(rows, width, dtype="f4")
    weight = np.abs(numbers(width, width, dtype="f4")) / 8
    hidden[33, 40] = bad
    outputs = recurrent.rnn_layer(gates, hidden, weight, True, False)
    assert not np.isfinite(outputs[:, 33]).any()

    def others(array):
        return np.delete(array, 33, axis=-2)

    expected = ops.rnn_layer.forward(gates, hidden, weight, True, False)
    np.testing.assert_array_equal(np.isnan(outputs), np.isnan(expected))
    close(others(outputs), others(expected), "f4")
    grad = numbers(steps, rows, width, dtype="f4", seed=1)
    grad[-1, 33, 40] = bad
    hidden[33, 40], outputs = 1.0, np.abs(numbers(steps, rows, width, dtype="f4", seed=2))
    found = recurrent.rnn_backward(grad, hidden, weight, outputs, True, False)
    expected = ops.rnn_layer_backward.forward(grad, hidden, weight, outputs, True, False)
    assert not np.isfinite(found[0][:-1, 33]).any()
    np.testing.assert_array_equal(np.isnan(found[0]), np.isnan(expected[0]))
    close(others(found[0]), others(expected[0]), "f4")
    close(others(found[1]), others(expected[1]), "f4")


@pytest.mark.parametrize("width", [200, 192, 256])  # on vectors, and on tiles where there are any
def test_threads_change_nothing(width):
    gates, hidden, weight = (
        numbers(6, 56, 4 * width, dtype="f4"),
        numbers(56, width, dtype="f4"),
        numbers(4 * width, width, dtype="f4") / 14,
    )
    found = []
    for threads in (1, 2):
        set_num_threads(threads)
        results = recurrent.lstm_layer(gates, hidden, hidden, weight, False)
        known = results[0], None, None, hidden, hidden, weight, *results, False
        gradients = recurrent.lstm_backward(*known)
        input = gates[:, :, :40]
        more = recurrent.lstm_sequence(input, hidden, hidden, gates[0, :40].T.copy(), weight, None, None, False)
        more += recurrent.lstm_backward(*known, input, True)
        found.append(b"".join(array.tobytes() for array in (*results, *gradients, *more)))
    assert found[0] == found[1]


def interpreted(kind, steps, rows, width, program, last):
    """The outputs of a forward program by the interpreter, and those of the operation."""
    gates = recurrent.CELLS[kind].gates
    given = {"hidden": numbers(rows, width, dtype="f4"), "cell": numbers(rows, width, dtype="f4", seed=1)}
    given["weight"] = numbers(gates * width, width, dtype="f4") / np.float32(width**0.5)
    given["gates"] = numbers(steps, rows, gates * width, dtype="f4")
    given |= {name: np.zeros((steps, rows, width), np.float32) for name in ("outputs", "cells", "inner")}
    given["values"] = np.zeros((steps, rows, gates * width), np.float32)
    given["scratch"], given["packed"] = np.zeros(32768, np.float32), np.zeros(65536, np.float32)
    pointers = [given[name] for name in recurrent_programs.pointer_names(kind, False, ABSENT[kind])]
    interpret(program, *pointers, rows * gates * width, gates * width, steps, rows, width, 0, 0, 1, *last)
    sums, hidden, cell, weight = (given[name] for name in ("gates", "hidden", "cell", "weight"))
    if kind == "lstm":
        return given["outputs"], ops.lstm_layer.forward(sums, hidden, cell, weight, False)[0]
    if kind == "gru":
        return given["outputs"], ops.gru_layer.forward(sums, hidden, weight, None, False)[0]
    return given["outputs"], ops.rnn_layer.forward(sums, hidden, weight, False, False)


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("kind", ["lstm", "gru", "tanh"])
@pytest.mark.parametrize("by_rows", [False, True])
def test_programs_of_all_widths(lanes, kind, by_rows):
    """With panels of one vector and of two, and tiles of two rows and of one."""
    rows, width = 5, 2 * lanes + 3
    program = recurrent_vectors.vector_program(
        kind, False, "f32", lanes, (2, 1), (2, 1), by_rows, by_rows, ABSENT[kind]
    )
    found, expected = interpreted(kind, 2, rows, width, program, (2, 16384))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["lstm", "gru", "tanh"])
@pytest.mark.parametrize("make", [recurrent_tiles.tile_program, recurrent_rows.row_program])
def test_programs_of_the_tile_unit(kind, make):
    program = make(kind, False, ABSENT[kind])
    found, expected = interpreted(kind, 2, 2, 32, program, (0, 8192))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("fits_cache", [True, False], ids=["rows", "tiles"])
@pytest.mark.parametrize("kind", ["lstm", "gru", "tanh"])
def test_layers_on_the_tile_unit_of_other_machines(kind, fits_cache, monkeypatch, interpreted):
    """What a machine with a tile unit runs, forward and backward, by the interpreter."""
    monkeypatch.setattr(recurrent, "_tiles_pay", lambda scalar, rows, size: True)
    monkeypatch.setattr(recurrent, "_fits_cache", lambda *sizes: fits_cache)
    interpreted()
    steps, rows, width, gates = 2, 18, 32, recurrent.CELLS[kind].gates
    sums, weight = numbers(steps, rows, gates * width), numbers(gates * width, width) / width**0.5
    hidden, grad = numbers(rows, width), numbers(steps, rows, width, seed=2)
    if kind == "lstm":
        given = sums, hidden, numbers(rows, width, seed=1), weight, False
        results = compare(recurrent.lstm_layer, ops.lstm_layer, given, "f4")
        given = grad, None, None, *given[1:4], *results, False
        compare(recurrent.lstm_backward, ops.lstm_layer_backward, given, "f4")
        w_ih = numbers(gates * width, 20) / 5
        given = numbers(steps, rows, 20), hidden, numbers(rows, width, seed=1), w_ih, weight, None, None, False
        compare(recurrent.lstm_sequence, sequences.lstm_sequence, given, "f4")
    elif kind == "gru":
        results = compare(recurrent.gru_layer, ops.gru_layer, (sums, hidden, weight, None, False), "f4")
        given = grad, None, None, hidden, weight, *results, False
        compare(recurrent.gru_backward, ops.gru_layer_backward, given, "f4")
    else:
        outputs = compare(recurrent.rnn_layer, ops.rnn_layer, (sums, hidden, weight, False, False), "f4")
        compare(recurrent.rnn_backward, ops.rnn_layer_backward, (grad, hidden, weight, outputs, False, False), "f4")
