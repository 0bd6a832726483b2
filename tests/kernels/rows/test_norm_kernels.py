"""Layer, batch and group norm and their gradients by generated kernels, against float64."""

from itertools import product

import numpy as np
import pytest

import rushlight
from rushlight.kernels.machine.host import host
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.rows import norm

TOLERANCES = {np.float16: 4e-3, np.float32: 4e-6, np.float64: 1e-12}


def numbers(shape, dtype, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 2 + 1).astype(dtype)


def wide(value):
    return None if value is None else value.astype(float)


def assert_close(found, expected, kinds, tolerance):
    """Each array within a tolerance of the largest number of the expected one; shapes and dtypes as ``kinds``."""
    assert len(found) == len(expected) == len(kinds)
    for a, b, kind in zip(found, expected, kinds):
        assert (a.shape, a.dtype) == (kind.shape, kind.dtype)
        scale = max(1.0, np.abs(b).max())
        np.testing.assert_allclose(a.astype(float), b, rtol=tolerance, atol=tolerance * scale)


def affine_choices(shape, dtype):
    return ((numbers(shape, dtype, 5), numbers(shape, dtype, 6)), (numbers(shape, dtype, 5), None), (None, None))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(
    ("shape", "normalized"),
    [
        ((64, 10), (10,)),
        ((5, 40), (40,)),
        ((33, 100), (100,)),
        ((4, 7, 300), (7, 300)),
        ((3, 50000), (50000,)),
        ((1, 1), (1,)),
    ],
)
def test_layer_norm(shape, normalized, dtype):
    x, grad, tolerance = numbers(shape, dtype), numbers(shape, dtype, 1), TOLERANCES[dtype]
    forward, backward = TABLE["layer_norm_parts"].forward, TABLE["layer_norm_gradients"].forward
    for weight, bias in affine_choices(normalized, dtype):
        options = (normalized, weight, bias, 1e-5)
        exact = (normalized, wide(weight), wide(bias), 1e-5)
        found, expected = norm.layer_norm(x, *options), forward(wide(x), *exact)
        assert_close(found, expected, forward(x, *options), tolerance)
        gradients = norm.layer_norm_gradients(grad, x, *options, *found[1:])
        expected = backward(wide(grad), wide(x), *exact, *expected[1:])
        assert_close(gradients, expected, backward(grad, x, *options, *found[1:]), 10 * tolerance)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(
    ("shape", "normalized"),
    [((5, 3), (3,)), ((40, 64), (64,)), ((9, 50), (50,)), ((3, 5, 333), (333,)), ((4, 7, 300), (7, 300)), ((3, 50000), (50000,))],
)  # fmt: skip
def test_rms_norm(shape, normalized, dtype):
    x, grad, tolerance = numbers(shape, dtype), numbers(shape, dtype, 1), TOLERANCES[dtype]
    forward, backward = TABLE["rms_norm_parts"].forward, TABLE["rms_norm_gradients"].forward
    for weight, _ in affine_choices(normalized, dtype):
        options, exact = (normalized, weight, 1e-5), (normalized, wide(weight), 1e-5)
        found, expected = norm.rms_norm(x, *options), forward(wide(x), *exact)
        assert_close(found, expected, forward(x, *options), tolerance)
        gradients = norm.rms_norm_gradients(grad, x, *options, found[1])
        expected = backward(wide(grad), wide(x), *exact, expected[1])
        assert_close(gradients, expected, backward(grad, x, *options, found[1]), 10 * tolerance)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "shape",
    [
        (64, 10),
        (5, 40),
        (700, 33),
        (4, 3, 5, 5),
        (16, 3, 28, 28),
        (2, 3, 140, 140),
        (1, 6, 11),
        (3, 2, 1, 1),
        (6, 300),
        (300, 161),
    ],
)
def test_batch_norm(shape, training, dtype):
    x, grad, tolerance = numbers(shape, dtype), numbers(shape, dtype, 1) - dtype(1), TOLERANCES[dtype]
    forward, backward = TABLE["batch_norm_parts"].forward, TABLE["batch_norm_gradients"].forward
    kinds_kept = (np.float32, dtype) if dtype is np.float16 else (dtype,)
    for (weight, bias), kept in product(affine_choices(shape[1], dtype), kinds_kept):
        mean, variance = numbers(shape[1], kept, 7), np.abs(numbers(shape[1], kept, 8)) + kept(0.5)
        running, exact = [mean.copy(), variance.copy()], [wide(mean), wide(variance)]
        options = (training, 0.1, 1e-5)
        found = norm.batch_norm(x, weight, bias, *running, *options)
        expected = forward(wide(x), wide(weight), wide(bias), *exact, *options)
        kinds = forward(x, weight, bias, mean.copy(), variance.copy(), *options)
        assert_close(found, expected, kinds, tolerance)
        assert_close(running, exact, (mean, variance), tolerance)
        gradients = norm.batch_norm_gradients(grad, x, weight, training, 1e-5, *found[1:])
        expected = backward(wide(grad), wide(x), wide(weight), training, 1e-5, *expected[1:])
        kinds = backward(grad, x, weight, training, 1e-5, *found[1:])
        assert_close(gradients, expected, kinds, 10 * tolerance)


def test_batch_norm_without_running_statistics():
    x = numbers((20, 7, 9), np.float32)
    found = norm.batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    expected = TABLE["batch_norm_parts"].forward(wide(x), None, None, None, None, True, 0.1, 1e-5)
    assert_close(found, expected, found, 4e-6)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(
    ("shape", "groups"),
    [
        ((64, 10), 2),
        ((5, 40, 7), 4),
        ((4, 6, 5, 5), 3),
        ((2, 32, 14, 14), 8),
        ((2, 4, 140, 140), 2),
        ((3, 6, 40), 6),
        ((3, 6, 40), 1),
    ],
)
def test_group_norm(shape, groups, dtype):
    x, grad, tolerance = numbers(shape, dtype), numbers(shape, dtype, 1) - dtype(1), TOLERANCES[dtype]
    forward, backward = TABLE["group_norm_parts"].forward, TABLE["group_norm_gradients"].forward
    for weight, bias in affine_choices(shape[1], dtype):
        found = norm.group_norm(x, weight, bias, groups, 1e-5)
        expected = forward(wide(x), wide(weight), wide(bias), groups, 1e-5)
        assert_close(found, expected, forward(x, weight, bias, groups, 1e-5), tolerance)
        gradients = norm.group_norm_gradients(grad, x, weight, groups, 1e-5, *found[1:])
        expected = backward(wide(grad), wide(x), wide(weight), groups, 1e-5, *expected[1:])
        kinds = backward(grad, x, weight, groups, 1e-5, *found[1:])
        assert_close(gradients, expected, kinds, 10 * tolerance)


def test_what_is_declined():
    x = numbers((8, 6, 4), np.float32)
    assert norm.layer_norm(x.T, (8,), None, None, 1e-5) is NotImplemented
    assert norm.layer_norm(x[:0], (4,), None, None, 1e-5) is NotImplemented
    assert norm.layer_norm(x.astype(np.int32), (4,), None, None, 1e-5) is NotImplemented
    assert norm.batch_norm(x.T, None, None, None, None, True, 0.1, 1e-5) is NotImplemented
    assert norm.group_norm(x[:, ::2], None, None, 3, 1e-5) is NotImplemented


def test_threads_change_nothing():
    x, grad = numbers((40, 3, 1000), np.float32), numbers((40, 3, 1000), np.float32, 1)
    weight = numbers((1000,), np.float32, 2)
    found, before = [], rushlight.get_num_threads()
    try:
        for threads in (1, 2, 5):
            rushlight.set_num_threads(threads)
            layer = norm.layer_norm(x, (1000,), weight, weight, 1e-5)
            batch = norm.batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
            results = [*layer, *norm.layer_norm_gradients(grad, x, (1000,), weight, weight, 1e-5, *layer[1:]), *batch]
            results += norm.batch_norm_gradients(grad, x, None, True, 1e-5, *batch[1:])
            found.append(b"".join(r.tobytes() for r in results))
    finally:
        rushlight.set_num_threads(before)
    assert found[0] == found[1] == found[2]
