"""Kernels of a recurrent cell's gates against the operations' NumPy forms in float64, and their programs interpreted."""

import numpy as np
import pytest

from rushlight import set_num_threads
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.recurrent import steps as recurrent_steps
from rushlight.ops import recurrent_cells as ops

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
NAMES = ("lstm_gates", "gru_gates")
SIZES = ((1, 1), (4, 8), (3, 33), (70, 129))


def numbers(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def arguments_of(name, rows, size):
    gates = 4 if name == "lstm_gates" else 3
    return numbers(rows, gates * size), numbers(rows, gates * size, seed=1), numbers(rows, size, seed=2)


def gradients_of(name, state, values, given):
    """The backward operation's arguments, with the gradients ``given`` of the first results."""
    present = [numbers(*state.shape, seed=3 + k) if there else None for k, there in enumerate(given)]
    return (*present, None, *((state,) if name == "lstm_gates" else ()), values)


def compare(name, arguments, dtype):
    narrow = [None if a is None else a.astype(dtype) for a in arguments]
    expected = getattr(ops, name).forward(*(None if a is None else a.astype("f8") for a in narrow))
    found = getattr(recurrent_steps, name)(*narrow)
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, np.dtype(dtype))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-5 if dtype == "f4" else 1e-13)
    return expected


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_step_and_its_gradients(name, size, dtype):
    arguments = arguments_of(name, *size)
    values = compare(name, arguments, dtype)[-1]
    for given in ((1, 1), (1, 0), (0, 1)) if name == "lstm_gates" else ((1,),):
        compare(f"{name}_backward", gradients_of(name, arguments[2], values, given), dtype)


@pytest.mark.parametrize("name", NAMES)
def test_layouts(name):
    turned = [np.asfortranarray(a) for a in arguments_of(name, 5, 40)]
    values = compare(name, turned, "f4")[-1]
    state = np.broadcast_to(np.ones(40), (5, 40))  # the gradient of a sum
    known = (np.asfortranarray(values),) if name == "gru_gates" else (turned[2], np.asfortranarray(values))
    compare(f"{name}_backward", (state, *((None,) * (len(known))), *known), "f8")


@pytest.mark.parametrize("name", NAMES)
def test_threads_change_nothing(name):
    arguments = [a.astype("f4") for a in arguments_of(name, 300, 100)]
    found = []
    for count in (1, 2):
        set_num_threads(count)
        found.append(getattr(recurrent_steps, name)(*arguments))
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_programs(name):
    rows, size, kind = 3, 7, name[:-6]
    arguments = arguments_of(name, rows, size)
    expected = getattr(ops, name).forward(*arguments)
    found = [np.empty_like(a) for a in expected]
    program = recurrent_steps.step_program(kind, False, "f64", 4, ())
    interpret(
        program, *(a.ravel() for a in arguments), *(a.reshape(-1) for a in found), rows, size, 2, order="reversed"
    )
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def test_what_is_left_to_numpy():
    sums, state = numbers(2, 12), numbers(2, 3)
    values, gradient = numbers(2, 15), numbers(2, 3)
    half = [a.astype("f2") for a in (sums, sums, state)]
    assert recurrent_steps.lstm_gates(*half) is NotImplemented
    assert recurrent_steps.lstm_gates(sums, sums, state.astype("f4")) is NotImplemented
    assert recurrent_steps.lstm_gates(sums[:0], sums[:0], state[:0]) is NotImplemented
    assert recurrent_steps.lstm_gates_backward(None, None, values, state, values) is NotImplemented
    assert recurrent_steps.gru_gates_backward(gradient, values, values) is NotImplemented
