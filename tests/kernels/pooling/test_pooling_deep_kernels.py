"""Pooling of channels_last images by kernels: what the operations give for contiguous ones, in channels_last."""

import math

import numpy as np
import pytest

import rushlight as rl
from rushlight.base.arrays import is_channels_last
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.pooling import deep as pooling_deep
from rushlight.kernels.pooling import maxima as pooling
from rushlight.kernels.pooling import means as pooling_mean
from rushlight.kernels.rows import reduce
from rushlight.kernels.sampling import resampling
from rushlight.ops import pool_max, pool_mean

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
WINDOWS = [  # kernel, stride, padding
    ((2, 2), (2, 2), (0, 0)),
    ((3, 3), (2, 2), (1, 1)),
    ((3, 2), (1, 3), (1, 0)),
    ((5, 1), (2, 1), (2, 0)),
]
SHAPES = [(2, 3, 9, 11), (1, 33, 8, 7), (2, 16, 12, 6)]


def images(shape, dtype="f4"):
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    if x.dtype.kind == "f":
        x[0, 1, 1, 1], x[0, 2, :4, :4] = np.nan, -np.inf
    return x


def deep(x):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)


def lengths_of(lengths, kernel, stride, padding):
    return tuple((n + 2 * p - k) // s + 1 for n, k, s, p in zip(lengths, kernel, stride, padding))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("window", WINDOWS)
def test_max_pool(window, shape, dtype):
    x, out = images(shape, dtype), lengths_of(shape[2:], *window)
    rest = (*window, (1, 1), out)
    found = pooling.max_pool(deep(x), *rest)
    expected, places = pooling.max_pool_with_indices(x, *rest)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, pool_max.max_pool_values.forward(x, *rest))
    assert is_channels_last(found) and found.dtype == dtype
    both = pooling.max_pool_with_indices(deep(x), *rest)
    np.testing.assert_array_equal(both[0], expected)
    np.testing.assert_array_equal(both[1], places)
    grad = images((*shape[:2], *out), dtype)
    for given in (grad, deep(grad)):
        gradient = pooling.max_pool_gradient(given, deep(x), *rest)
        np.testing.assert_array_equal(gradient, pooling.max_pool_gradient(grad, x, *rest))
        assert is_channels_last(gradient)
        np.testing.assert_array_equal(pooling.places_gradient(given, both[1], shape[2:]), gradient)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("window", [*WINDOWS, ((8, 6), (1, 1), (0, 0))])
@pytest.mark.parametrize("options", [(True, None), (False, None), (True, 5)])
def test_avg_pool(window, shape, dtype, options):
    x, out = np.nan_to_num(images(shape, dtype), neginf=0), lengths_of(shape[2:], *window)
    close = {"rtol": 2e-3 if dtype == "f2" else 1e-5, "atol": 2e-2 if dtype == "f2" else 1e-5}
    found = pooling_mean.avg_pool(deep(x), *window, out, *options)
    np.testing.assert_allclose(found, pool_mean.avg_pool.forward(x, *window, out, *options), **close)
    assert is_channels_last(found) or 1 in shape or 1 in out
    grad = np.nan_to_num(
        images((*shape[:2], *out), dtype) if min(out) > 3 else np.ones((*shape[:2], *out), dtype), neginf=0
    )
    gradient = pooling_mean.avg_pool_gradient(deep(grad), shape[2:], *window, *options)
    expected = pool_mean.avg_pool_gradient.forward(grad, shape[2:], *window, *options)
    np.testing.assert_allclose(gradient, expected, **close)


def test_volumes():
    x = np.random.default_rng(1).standard_normal((2, 5, 6, 7, 8)).astype("f4")
    rest = ((2, 3, 2), (2, 2, 1), (1, 1, 0)), (4, 4, 7)
    found = pooling.max_pool(deep(x), *rest[0], (1, 1, 1), rest[1])
    np.testing.assert_array_equal(found, pool_max.max_pool_values.forward(x, *rest[0], (1, 1, 1), rest[1]))
    mean = pooling_mean.avg_pool(deep(x), *rest[0], rest[1], True, None)
    np.testing.assert_allclose(mean, pool_mean.avg_pool.forward(x, *rest[0], rest[1], True, None), rtol=1e-5, atol=1e-6)
    assert mean.flags.c_contiguous  # as PyTorch gives it


@pytest.mark.parametrize("view", [deep, lambda x: np.asfortranarray(x), lambda x: np.repeat(x, 2, 3)[..., ::2]])
def test_dilated_windows_and_other_layouts(view):
    x = images((2, 3, 9, 11))
    for rest in (((2, 2), (1, 1), (0, 0), (2, 1), (7, 10)), ((2, 2), (1, 1), (0, 0), (1, 1), (8, 10))):
        expected = pool_max.max_pool_values.forward(x, *rest)
        np.testing.assert_array_equal(pooling.max_pool(view(x), *rest), expected)


@pytest.mark.parametrize("mode", ["largest", "places", "mean", "shares", "picked"])
def test_programs_agree_with_the_interpreter(mode):
    source = np.random.default_rng(2).integers(-9, 9, (2, 4, 5, 6)).astype("f4")
    tables = pooling_deep.tables_of((4, 5), (2, 3), (2, 2), (2, 2), (0, 1))
    places = np.random.default_rng(3).integers(0, 6, source.shape)
    divisor = np.arange(1.0, 30.0, dtype="f4")
    sizes = (2, 6, 1, 4, 5, 1, 2, 3, 1)
    results = []
    for lanes in (4, 16):
        found, at = np.zeros((2, 2, 3, 6), "f4"), places.copy()
        program = pooling_deep.windows_program("f32", lanes, mode)
        interpret(program, source, found, at if mode in ("places", "picked") else None, divisor, tables, *sizes)
        results.append((found, at))
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


@pytest.mark.parametrize("dims", [(0,), (1,), (2, 3), (0, 1, 2, 3)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions_of_other_orders_of_dimensions(dims, keepdim):
    x = np.random.default_rng(0).standard_normal((3, 40, 20, 30)).astype("f4")
    for order in ((0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 2, 3)):
        turned = x.transpose(order)
        found = reduce.mean(turned, dims, keepdim, None)
        np.testing.assert_allclose(found, turned.mean(dims, keepdims=keepdim), rtol=1e-4, atol=1e-6)
        assert found.flags.c_contiguous
    assert reduce.argmax(turned, None, False) == turned.argmax()
    np.testing.assert_array_equal(reduce.argmax(turned, 1, False), turned.argmax(1))


def test_pooling_in_a_graph():
    x = rl.randn(2, 8, 10, 12).contiguous(memory_format=rl.channels_last).requires_grad_()
    y = rl.nn.functional.max_pool2d(x, 3, 2, 1)
    assert y.is_contiguous(memory_format=rl.channels_last)
    y.sum().backward()
    assert x.grad.is_contiguous(memory_format=rl.channels_last)
    assert x.grad.sum().item() == math.prod(y.shape)


VOLUMES = {
    "max_pool": lambda x: pooling.max_pool(x, (3,) * 3, (2,) * 3, (0,) * 3, (1,) * 3, (1, 4, 4)),
    "max_pool_with_indices": lambda x: pooling.max_pool_with_indices(
        x, (3,) * 3, (2,) * 3, (0,) * 3, (1,) * 3, (1, 4, 4)
    ),
    "max_pool_gradient": lambda x: pooling.max_pool_gradient(x, x, (1,) * 3, (1,) * 3, (0,) * 3, (1,) * 3, x.shape[1:]),
    "adaptive_max_pool": lambda x: pooling.adaptive_max_pool(x, (4, 3, 3)),
    "avg_pool": lambda x: pooling_mean.avg_pool(x, (3,) * 3, (2,) * 3, (0,) * 3, (1, 4, 4), True, None),
    "avg_pool_gradient": lambda x: pooling_mean.avg_pool_gradient(
        x, (9, 19, 19), (3,) * 3, (2,) * 3, (0,) * 3, True, None
    ),
    "adaptive_avg_pool": lambda x: resampling.adaptive_avg_pool(x, (3, 5, 2)),
    "adaptive_avg_pool, equal": lambda x: resampling.adaptive_avg_pool(x, (2, 3, 3)),
    "adaptive_avg_pool_gradient": lambda x: resampling.adaptive_avg_pool_gradient(x, (5, 11, 12)),
}


@pytest.mark.parametrize("name", VOLUMES)
def test_one_volume_without_samples(name):
    """Volumes (C, D, H, W) have as many dimensions as images (N, C, H, W), and may lie in memory as those in channels_last do."""
    x = np.random.default_rng(0).random((3, 4, 9, 9), np.float32)
    found, expected = VOLUMES[name](deep(x)), VOLUMES[name](x)
    for one, other in zip(*([v] if isinstance(v, np.ndarray) else v for v in (found, expected))):
        np.testing.assert_array_equal(one, other)
