"""Winograd's convolutions: against float64 sums over taps, in machine code of every width and in the interpreter."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.convolution import winograd, winograd_gradient
from rushlight.kernels.convolution.forward import convolution, convolution_input_gradient
from rushlight.kernels.convolution.weight_gradient import convolution_weight_gradient
from rushlight.kernels.language.text import read, write
from rushlight.kernels.language.verify import verify
from rushlight.kernels.machine import scratch
from rushlight.kernels.machine.host import host

from test_convolution_kernels import all_three, check, launched, names_of, narrow, operands, reference  # isort: skip # noqa: F401

pytestmark = pytest.mark.skipif(host() is None or host().has_tiles, reason="needs llvmlite, and no tile unit")

ONES = (1, 1)


def case(samples, channels, out_channels, height, width, padding):
    return (samples, channels, height, width), (out_channels, channels, 3, 3), ONES, padding, ONES, 1


CASES = [
    case(12, 16, 16, 8, 8, (1, 1)),
    case(4, 20, 40, 9, 31, (0, 0)),
    case(100, 33, 17, 3, 3, (0, 1)),
    case(2, 24, 65, 34, 35, (1, 0)),
    case(1, 48, 18, 1, 400, (1, 1)),
    case(3, 16, 30, 15, 14, (2, 2)),  # the gradient's windows begin inside
    case(2, 18, 25, 13, 17, (3, 4)),  # windows outside of the source
    case(12, 150, 130, 7, 7, (1, 1)),  # sums in two steps, output channels in two groups
]


WINOGRADS = [["winograd"], ["winograd"], ["winograd_gradient"]]


@pytest.fixture
def always(monkeypatch, fresh_plans):
    """Winograd for whatever it can compute."""
    for room in (winograd, winograd_gradient):
        monkeypatch.setattr(room, "_pays", lambda *numbers: True)


@pytest.mark.parametrize("shapes", CASES, ids=str)
def test_against_sums_over_taps(shapes):
    (input, weight, bias, grad), options = operands(shapes, np.float32)
    found, d_input, d_weight = reference(input, weight, grad, *options)
    check(convolution(input, weight, None, *options), found, np.float32)
    check(convolution(input, weight, bias, *options), found + bias.reshape(-1, 1, 1), np.float32)
    check(convolution_input_gradient(grad, weight, input.shape, *options), d_input, np.float32)
    check(convolution_weight_gradient(grad, input, weight.shape, *options), d_weight, np.float32)


def test_these_cases_are_winograds():
    for shapes in CASES:
        assert [*map(names_of, launched(shapes, np.float32))] == WINOGRADS


@pytest.mark.parametrize(
    "shapes, dtype",
    [
        (((8, 16, 8, 8), (16, 16, 3, 3), (2, 1), ONES, ONES, 1), np.float32),
        (((8, 16, 8, 8), (16, 16, 3, 3), ONES, ONES, (1, 2), 1), np.float32),
        (((8, 32, 8, 8), (32, 16, 3, 3), ONES, ONES, ONES, 2), np.float32),
        (((8, 16, 8, 8), (16, 16, 3, 5), ONES, ONES, ONES, 1), np.float32),
        (((8, 16, 8, 8), (16, 16, 5, 3), ONES, ONES, ONES, 1), np.float32),
        (((8, 16, 3, 8, 8), (16, 16, 1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1), 1), np.float32),
        (((8, 16, 8, 8), (16, 16, 3, 3), ONES, ONES, ONES, 1), np.float64),  # rounds once where 1e-16 counts
        (((8, 3, 8, 8), (16, 3, 3, 3), ONES, ONES, ONES, 1), np.float32),
        (((1, 16, 8, 8), (16, 16, 3, 3), ONES, ONES, ONES, 1), np.float32),
    ],
    ids=str,
)
def test_others_are_not(shapes, dtype):
    for plan, name in zip(launched(shapes, dtype), ("correlation", "correlation", "weight_gradient")):
        assert set(names_of(plan)) == {name}


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("shapes", [case(1, 5, 10, 5, 6, (1, 1)), case(2, 3, 17, 3, 35, (2, 0))], ids=str)
def test_interpreter_agrees_and_stays_inside(shapes, vector_bytes, always, narrow, interpreted):  # noqa: F811
    narrow(vector_bytes)
    machine = []
    for found, wanted in all_three(shapes):
        check(found, wanted, np.float32)
        machine.append(found)
    for plan in launched(shapes, np.float32):
        program = plan.launches[0].build(*plan.launches[0].form)
        verify(program)
        assert write(read(write(program))) == write(program)
    assert [*map(names_of, launched(shapes, np.float32))] == WINOGRADS
    interpreted()
    for (found, _), wanted in zip(all_three(shapes), machine, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_whole_numbers_are_exact():
    """Halves and quarters of whole numbers are: pictures of zeros stay zeros, and counts count."""
    random = np.random.default_rng(3)
    input = random.integers(-8, 9, (4, 16, 12, 13)).astype(np.float32)
    input[:, :, 3:9, :] = 0
    weight = random.integers(-8, 9, (24, 16, 3, 3)).astype(np.float32)
    found, _, _ = reference(input, weight, np.zeros((4, 24, 12, 13)), ONES, ONES, ONES, 1)
    np.testing.assert_array_equal(convolution(input, weight, None, ONES, ONES, ONES, 1), found)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
def test_special_values_reach_their_windows_alone(value):
    """An infinity that were a NaN in the windows beside its own would be a wrong result; so would an overflow."""
    input, weight = np.ones((2, 16, 12, 20), np.float32), np.full((16, 16, 3, 3), 0.25, np.float32)
    input[0, 3, 2, 18:] = value
    options = (ONES, ONES, ONES, 1)
    wanted, _, _ = reference(input, weight, np.zeros((2, 16, 12, 20)), *options)
    found = convolution(input, weight, None, *options)
    np.testing.assert_allclose(found, wanted.astype(np.float32), rtol=1e-5)
    assert np.isfinite(found[1]).all() and np.isfinite(found[0, :, 4:]).all()


def test_an_infinity_stays_one_in_the_weights_gradient():
    grad, input = np.ones((4, 16, 16, 16), np.float32), np.ones((4, 20, 18, 18), np.float32)
    input[2, 5, 7, 8] = np.inf
    found = convolution_weight_gradient(grad, input, (16, 20, 3, 3), ONES, (0, 0), ONES, 1)
    wanted = np.full(found.shape, 4 * 16 * 16, np.float32)
    wanted[:, 5] = np.inf
    np.testing.assert_array_equal(found, wanted)


def test_what_other_shapes_left_in_memory_changes_nothing():
    """Scratch memory is used again, and some lanes are computed from what lies there."""
    (input, weight, bias, _), options = operands(CASES[0], np.float32)
    first = convolution(input, weight, bias, *options)
    for area in [area for (_, dtype), area in scratch._kept.__dict__.items() if dtype == np.float32]:
        area[...] = np.nan
    np.testing.assert_array_equal(convolution(input, weight, bias, *options), first)


def test_threads_change_nothing():
    (input, weight, bias, grad), options = operands(CASES[3], np.float32)
    threads, results = rushlight.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            rushlight.set_num_threads(count)
            found = convolution(input, weight, bias, *options)
            d_input = convolution_input_gradient(grad, weight, input.shape, *options)
            results.append((found, d_input, convolution_weight_gradient(grad, input, weight.shape, *options)))
    finally:
        rushlight.set_num_threads(threads)
    for found in results[1:]:
        for a, b in zip(results[0], found):
            np.testing.assert_array_equal(a, b)


def test_errors_are_those_of_plain_sums():
    """Against float64, on numbers of one size: the transforms' sums cost no more than summing in another order."""
    random = np.random.default_rng(5)
    input = random.standard_normal((4, 64, 20, 20)).astype(np.float32)
    weight = (random.standard_normal((64, 64, 3, 3)) / 24).astype(np.float32)
    options = (ONES, ONES, ONES, 1)
    wanted, _, _ = reference(input, weight, np.zeros((4, 64, 20, 20)), *options)
    error = convolution(input, weight, None, *options) - wanted
    assert np.abs(error).max() < 4e-6 and np.sqrt((error**2).mean()) < 4e-7
