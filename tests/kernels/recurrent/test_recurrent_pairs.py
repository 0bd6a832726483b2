"""Recurrent layers in bfloat16 by the instruction for pairs: against float64 here, and in the interpreter everywhere."""

import numpy as np
import pytest
from test_recurrent_gradients import expected_gradients, found_gradients, spaced
from test_recurrent_kernels import numbers

from rushlight.kernels.machine import host
from rushlight.kernels.planning.registry import KERNELS
from rushlight.kernels.recurrent import layers as recurrent
from rushlight.ops import recurrent as layers
from rushlight.ops import recurrent_sequences as sequences

ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.skipif(host.host() is None, reason="no machine code without llvmlite")
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
KINDS = ["lstm", "gru", "rnn"]


def rounded(array):
    return array.astype(BFLOAT16) if isinstance(array, np.ndarray) else array


def wide(array):
    return array.astype("f8") if isinstance(array, np.ndarray) else array


def compare(module, name, arguments):
    """Run a kernel on rounded arguments, and its operation on the same numbers in float64; what the latter gives."""
    narrow = [rounded(array) for array in arguments]
    expected = getattr(module, name).forward(*map(wide, narrow))
    found = KERNELS[name](*narrow)
    assert found is not NotImplemented
    for a, b in zip(*((x,) if isinstance(x, np.ndarray) else x for x in (found, expected)), strict=True):
        assert (a.shape, a.dtype, a.strides[-1]) == (b.shape, BFLOAT16, 2)
        # A rounding of every number and of every step's states; gradients are sums of many.
        np.testing.assert_allclose(wide(a), b, rtol=0, atol=0.02 * max(1.0, np.abs(b).max()))
    return expected


def check_sequence(kind, steps, rows, inputs, size, reverse, biased, given_states):
    gates, states = {"lstm": (4, 2), "gru": (3, 1), "rnn": (1, 1)}[kind]
    flags = (False,) if kind == "rnn" else ()
    width = gates * size
    weights = numbers(width, inputs) / inputs**0.5, numbers(width, size) / size**0.5
    biases = (numbers(width, seed=4), numbers(width, seed=5)) if biased else (None, None)
    before = [numbers(rows, size, seed=seed) if given_states else None for seed in range(states)]
    input = numbers(steps, rows, inputs)
    name = f"{kind}_sequence"
    found = compare(sequences, name, (input, *before, *weights, *biases, *flags, reverse))
    outputs, values = found[0], found[1 + states :]
    flowing = (numbers(steps, rows, size, seed=2), *[None] * (0 if kind == "rnn" else 2))
    known = (*before, weights[1], outputs, *values, *flags, reverse, input)
    for wanted in (False, True):
        compare(sequences, f"{name}_backward", (*flowing, *known, wanted))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize(
    "size", [(1, 1, 2, 2), (3, 5, 7, 16), (4, 13, 70, 34), (2, 33, 20, 128), (2, 9, 300, 512), (3, 3, 6, 5)]
)
def test_sequences(kind, size, reverse):
    """The last of odd size, which takes single precision."""
    steps, rows, inputs, units = size
    for given in (False, True):
        check_sequence(kind, steps, rows, inputs, units, reverse, given, given)


@pytest.fixture
def dots(monkeypatch, interpreted):
    """The instruction, by the interpreter."""
    monkeypatch.setattr(host, "has_dots", lambda: True)
    interpreted()


@pytest.mark.parametrize("by_rows", [True, False], ids=["rows", "panels"])
@pytest.mark.parametrize("kind", KINDS)
def test_programs_in_the_interpreter(kind, by_rows, dots, monkeypatch):
    monkeypatch.setattr(recurrent, "_by_rows", lambda *sizes: by_rows)
    check_sequence(kind, 2, 9, 4, 18, False, True, True)
    check_sequence(
        kind, 2, 3, 3, 6, True, False, False
    )  # an odd number of rows in all steps, and of the input's features


@pytest.mark.parametrize("size", [(1, 1, 2, 1, 1), (5, 1, 6, 4, 3), (3, 3, 18, 5, 4), (2, 5, 6, 40, 3)], ids=str)
@pytest.mark.parametrize("way", ["here", "interpreted"])
def test_gradients_of_parameters(size, way, request):
    if way == "interpreted":
        request.getfixturevalue("dots")
    elif not host.has_dots():
        pytest.skip("no such instruction here")
    steps, rows, units, features, gates = size
    sums, other = (spaced(rounded(numbers(steps, rows, gates * units, seed=seed))) for seed in range(2))
    outputs, hidden = rounded(numbers(steps, rows, units, seed=2)), rounded(numbers(rows, units, seed=3))
    apart = rounded(numbers(rows, steps, features, seed=4)).transpose(1, 0, 2)
    for input in (None, apart):
        for reverse, biased, input_sums in ((False, False, None), (False, True, None), (True, True, other)):
            arguments = sums, outputs, hidden, reverse, biased, input, input_sums
            found = found_gradients(*arguments)
            for a, b in zip(found, expected_gradients(*arguments), strict=True):
                assert (a is None) == (b is None)
                if b is not None:
                    assert (a.shape, a.dtype) == (b.shape, BFLOAT16)
                    np.testing.assert_allclose(wide(a), b, rtol=2.0**-8, atol=1e-4)


def test_layers_without_their_input():
    gates, hidden, weight = numbers(4, 6, 80), numbers(6, 20), numbers(80, 20) / 5
    results = compare(layers, "lstm_layer", (gates, hidden, hidden, weight, True))
    d_outputs, d_cells = numbers(4, 6, 20, seed=2), numbers(4, 6, 20, seed=3)
    for flowing in ((d_outputs, d_cells), (d_outputs, None), (None, d_cells)):
        compare(layers, "lstm_layer_backward", (*flowing, None, hidden, hidden, weight, *results, True))
    gates, weight = gates[:, :, :60], weight[:60]
    results = compare(layers, "gru_layer", (gates, hidden, weight, numbers(60), False))
    compare(layers, "gru_layer_backward", (d_outputs, None, None, hidden, weight, *results, False))
    outputs = compare(layers, "rnn_layer", (gates[:, :, :20], hidden, weight[:20], True, False))
    compare(layers, "rnn_layer_backward", (d_outputs, hidden, weight[:20], outputs, True, False))


def test_not_a_number_and_infinity_stay_in_their_row():
    input, hidden, weights = numbers(3, 12, 6), numbers(12, 20), [numbers(80, size) / 5 for size in (6, 20)]
    input[1, 4, 2], input[1, 7, 0] = np.nan, np.inf
    arguments = [rounded(array) for array in (input, hidden, hidden, *weights)]
    outputs = wide(recurrent.lstm_sequence(*arguments, None, None, False)[0])
    assert np.isnan(outputs[1:, 4]).all() and not np.isnan(np.delete(outputs, (4, 7), axis=1)).any()
