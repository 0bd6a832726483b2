"""Sorting kernels: against NumPy's stable sort, for every dtype, ties, zeros of both signs, NaN, rows and dimensions."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels import sorting, watching
from rushlight.kernels.host import host

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")
DTYPES = ["f4", "f8", "i8", "i4", "i2", "i1", "u1", "u8", "?"]


def numbers(shape, dtype):
    random = np.random.default_rng(1)
    if np.dtype(dtype).kind == "f":
        found = random.standard_normal(shape).astype(dtype)
        found.reshape(-1)[::7] = np.round(found.reshape(-1)[::7])  # ties, -0.0 among them
        found.reshape(-1)[::31] = np.inf
        found.reshape(-1)[::37] = -np.nan
        found.reshape(-1)[::41] = np.nan
        return found
    limits = np.iinfo("u1" if dtype == "?" else dtype)
    found = random.integers(limits.min, limits.max, shape, dtype=limits.dtype, endpoint=True)
    return (found % 2).astype(dtype) if dtype == "?" else found


def check(found, x, axis, descending):
    values, places = found
    turned = np.flip(x, axis) if descending else x
    wanted = np.argsort(turned, axis=axis, kind="stable")
    if descending:
        wanted = x.shape[axis] - 1 - np.flip(wanted, axis)
    np.testing.assert_array_equal(places, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, axis))
    assert values.dtype == x.dtype


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(37, 99), (3, 5000), (140_001,)])
def test_rows(shape, dtype, descending):
    x = numbers(shape, dtype)
    check(sorting.in_order(x, descending), x, -1, descending)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_dimensions(dim):
    x = numbers((70, 80, 90), "f4")
    with watching() as seen:
        found = rl.from_numpy(x).sort(dim, descending=True)
    assert seen
    check([each.numpy() for each in found], x, dim, True)


def test_few_different_integers_take_few_passes():
    x = np.random.default_rng(0).integers(-5, 300, 20_000)
    check(sorting.in_order(x), x, 0, False)
    x = np.full(5000, -(1 << 62))
    check(sorting.in_order(x), x, 0, False)


def test_short_rows_are_declined():
    assert sorting.sort_pair(np.zeros((1000, 8)), 1, False, False) is NotImplemented
