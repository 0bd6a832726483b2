"""Pooling kernels against windows one by one, in machine code of every width and in the interpreter."""

import itertools

import numpy as np
import pytest

import rushlight
from rushlight.kernels.machine.host import host
from rushlight.kernels.planning.layout import layout_of
from rushlight.kernels.pooling import maxima, means
from rushlight.kernels.pooling.maxima import (
    adaptive_max_pool,
    max_pool,
    max_pool_gradient,
    max_pool_with_indices,
    places_gradient,
)
from rushlight.kernels.pooling.means import avg_pool, avg_pool_gradient, plan_equal_gradient, plan_equal_means
from rushlight.kernels.sampling.resampling import adaptive_avg_pool, adaptive_avg_pool_gradient

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")

# input, kernel, stride, padding, dilation, one more window at the end (ceil_mode)
CASES = [
    ((2, 3, 8, 8), 2, 2, 0, 1, 0),
    ((2, 3, 9, 11), 3, 2, 1, 1, 0),
    ((2, 3, 10, 12), 3, 2, 1, 1, 1),
    ((2, 3, 9, 40), 2, 3, 0, 2, 0),
    ((2, 3, 9, 37), 3, 1, 1, 1, 0),
    ((40, 3, 7, 7), 3, 2, 1, 1, 0),
    ((5, 2, 8, 8), 8, 8, 0, 1, 0),
    ((2, 2, 5, 6, 7), 2, 2, 1, 1, 0),
    ((2, 2, 5, 6, 7), 3, 1, 0, 1, 0),
    ((5, 2, 35), 3, 2, 1, 1, 0),
    ((3, 16, 6, 5), 2, 1, 0, 1, 0),
    ((2, 2, 5, 150), 4, 4, 0, 1, 0),
    ((2, 2, 11, 90), 5, 5, 2, 1, 0),
]


def options(case):
    shape, kernel, stride, padding, dilation, more = case
    count = len(shape) - 2
    out = tuple((n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 + more for n in shape[2:])
    return (kernel,) * count, (stride,) * count, (padding,) * count, (dilation,) * count, out


def windows(lengths, kernel, stride, padding, dilation, out):
    """For each window its place in the output, and the places inside the plane that it covers, in order."""
    for at in itertools.product(*map(range, out)):
        places = []
        for tap in itertools.product(*map(range, kernel)):
            place = [a * s - p + t * d for a, s, p, t, d in zip(at, stride, padding, tap, dilation)]
            if all(0 <= i < n for i, n in zip(place, lengths)):
                places.append(tuple(place))
        yield at, places


def reference_max(input, *given):
    """(maxima, flat places): the first of the largest, the last NaN."""
    lengths, out = input.shape[2:], given[-1]
    best, found = np.empty((*input.shape[:2], *out), input.dtype), np.empty((*input.shape[:2], *out), np.int64)
    for at, places in windows(lengths, *given):
        flat = np.array([np.ravel_multi_index(place, lengths) for place in places])
        for plane in itertools.product(*map(range, input.shape[:2])):
            values = input[plane].reshape(-1)[flat]
            nans = np.flatnonzero(np.isnan(values))
            chosen = nans[-1] if nans.size else values.argmax()
            best[plane + at], found[plane + at] = values[chosen], flat[chosen]
    return best, found


def sample(case, dtype, special=True):
    random = np.random.default_rng(0)
    input = random.integers(-9, 9, case[0]).astype(dtype) / 4
    if special:
        flat = input.reshape(-1)
        flat[5::17], flat[3::29], flat[4::31] = np.nan, -np.inf, np.inf
        input[0, 0] = -np.inf
    return input, random.standard_normal((*case[0][:2], *options(case)[-1])).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", [c for c in CASES if c[1] < 8], ids=str)
def test_max_pool(case, dtype):
    input, grad = sample(case, dtype)
    given = options(case)
    best, places = reference_max(input, *given)
    np.testing.assert_array_equal(max_pool(input, *given), best)
    found = max_pool_with_indices(input, *given)
    np.testing.assert_array_equal(found[0], best)
    np.testing.assert_array_equal(found[1], places)
    assert found[0].dtype == dtype and found[1].dtype == np.int64
    wanted = np.zeros(input.shape, np.float64).reshape(*input.shape[:2], -1)
    for plane in itertools.product(*map(range, input.shape[:2])):
        np.add.at(wanted[plane], places[plane].reshape(-1), grad[plane].reshape(-1))
    wanted = wanted.reshape(input.shape)
    np.testing.assert_allclose(max_pool_gradient(grad, input, *given), wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(places_gradient(grad, places, input.shape[2:]), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("counting, divisor", [(True, None), (False, None), (True, 3)])
@pytest.mark.parametrize("case", [c for c in CASES if c[4] == 1], ids=str)
def test_mean_pool(case, counting, divisor, dtype):
    input, grad = sample(case, dtype, special=False)
    kernel, stride, padding, _, out = given = options(case)
    lengths = input.shape[2:]
    wanted, wanted_gradient = np.zeros(grad.shape), np.zeros(input.shape)
    for at, places in windows(lengths, *given):
        if counting:
            sides = [
                min(a * s - p + k, n + p) - (a * s - p) for a, s, p, k, n in zip(at, stride, padding, kernel, lengths)
            ]
            count = np.prod(sides)
        else:
            count = len(places)
        for place in places:
            wanted[(..., *at)] += input[(..., *place)] / (divisor or count)
            wanted_gradient[(..., *place)] += grad[(..., *at)] / (divisor or count)
    found = avg_pool(input, kernel, stride, padding, out, counting, divisor)
    gradient = avg_pool_gradient(grad, lengths, kernel, stride, padding, counting, divisor)
    assert found.dtype == gradient.dtype == dtype
    tolerance = 1e-6 if dtype is np.float32 else 1e-14
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * 10)
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=tolerance, atol=tolerance * 10)


def test_adaptive_pools_where_windows_are_alike():
    input, _ = sample(((2, 3, 8, 12), 2, 2, 0, 1, 0), np.float32, special=False)
    blocks = input.reshape(2, 3, 4, 2, 4, 3)
    np.testing.assert_allclose(adaptive_avg_pool(input, (4, 4)), blocks.mean((3, 5)), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(adaptive_max_pool(input, (4, 4))[0], blocks.max((3, 5)))
    grad = np.arange(96, dtype=np.float32).reshape(2, 3, 4, 4)
    wanted = (grad / 6).repeat(2, 2).repeat(3, 3)
    np.testing.assert_allclose(adaptive_avg_pool_gradient(grad, (8, 12)), wanted, rtol=1e-6)
    for plan in (plan_equal_means, adaptive_max_pool.plan):
        assert plan(layout_of(input), (3, 4)) is None
    assert plan_equal_gradient(layout_of(grad), (9, 12)) is None


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
@pytest.mark.parametrize("case", [((1, 2, 4, 6), 2, 2, 0, 1, 0), ((1, 2, 5, 4), 3, 2, 1, 1, 0), ((1, 2, 4, 7), 3, 1, 1, 1, 0), ((1, 1, 6, 71), 2, 7, 0, 1, 0)], ids=str)  # fmt: skip
def test_interpreter_agrees_and_stays_inside(case, vector_bytes, monkeypatch, interpreted):
    if vector_bytes > host().vector_bytes:
        pytest.skip("wider than the machine's")
    for module in (maxima, means):
        monkeypatch.setattr(module, "lanes_for", lambda scalar: vector_bytes // 4)
    input, grad = sample(case, np.float32)
    finite, given = sample(case, np.float32, special=False)[0], options(case)

    def all_kernels():
        yield max_pool(input, *given)
        yield from max_pool_with_indices(input, *given)
        yield max_pool_gradient(grad, input, *given)
        yield avg_pool(finite, *given[:3], given[4], False, None)
        yield avg_pool_gradient(grad, input.shape[2:], *given[:3], True, None)

    machine = list(all_kernels())
    interpreted()
    for found, wanted in zip(all_kernels(), machine, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_threads_change_nothing():
    case = ((4, 9, 37, 41), 3, 2, 1, 1, 0)
    input, grad = sample(case, np.float32)
    given = options(case)

    def all_kernels():
        best, places = max_pool_with_indices(input, *given)
        return (
            best,
            places,
            max_pool_gradient(grad, input, *given),
            avg_pool(input, *given[:3], given[4], True, None),
            avg_pool_gradient(grad, input.shape[2:], *given[:3], True, None),
        )

    threads = rushlight.get_num_threads()
    try:
        rushlight.set_num_threads(1)
        alone = all_kernels()
        rushlight.set_num_threads(2)
        for a, b in zip(alone, all_kernels()):
            np.testing.assert_array_equal(a, b)
    finally:
        rushlight.set_num_threads(threads)


def test_declines_what_it_has_no_program_for():
    given = ((2, 2), (2, 2), (0, 0), (1, 1), (2, 2))
    x = np.ones((1, 2, 4, 4), np.float32)
    for input in (x.astype(np.complex64), x.astype(np.int64), x[:0], x.astype(">f4")):
        assert max_pool(input, *given) is NotImplemented
        assert avg_pool(input, *given[:3], (2, 2), True, None) is NotImplemented
    assert max_pool(x, (3, 3), (1, 1), (1, 1), (2, 2), (2, 2)) is NotImplemented  # padding and dilation
    assert avg_pool(x, *given[:3], (2, 2), True, 0) is NotImplemented  # the operation raises
