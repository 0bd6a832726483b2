"""Sorting and searching kernels: against NumPy's stable sort, for every dtype, ties, zeros of both signs, NaN, rows and dimensions."""

import itertools

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels import watching
from rushlight.kernels.machine.host import host
from rushlight.kernels.sorting import radix as sorting
from rushlight.kernels.sorting import searching
from rushlight.ops.table import TABLE

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


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "?"])
@pytest.mark.parametrize("shape", [(37, 99), (3, 70, 20), (140_001,)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_modes(shape, dtype, keepdim):
    x = numbers(shape, dtype)
    x = (x // 16 * 16 if x.dtype.kind in "iu" else np.round(x)).astype(dtype)
    for dim in range(x.ndim):
        if x.shape[dim] >= 64:
            found = sorting.mode_pair(x, dim, keepdim)
            for mine, wanted in zip(found, TABLE["mode_pair"].forward(x, dim, keepdim)):
                assert (mine.shape, mine.dtype) == (wanted.shape, wanted.dtype)
                np.testing.assert_array_equal(mine, wanted)


def test_few_different_integers_take_few_passes():
    x = np.random.default_rng(0).integers(-5, 300, 20_000)
    check(sorting.in_order(x, False), x, 0, False)
    x = np.full(5000, -(1 << 62))
    check(sorting.in_order(x, False), x, 0, False)


def test_short_rows_are_declined():
    assert sorting.sort_pair(np.zeros((1000, 8)), 1, False, False) is NotImplemented


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique(dtype):
    x = numbers((40, 170), dtype)
    x = np.where(x != x, 3, x).astype(dtype)
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    for found, wanted in zip(sorting.unique_parts(x, None, False, True, True), (values, inverse, counts), strict=True):
        np.testing.assert_array_equal(found, wanted)
    for found, wanted in zip(sorting.unique_parts(x, None, False, False, True), (values, counts), strict=True):
        np.testing.assert_array_equal(found, wanted)
    (found,) = sorting.unique_parts(x, None, False, False, False)
    np.testing.assert_array_equal(found, values)
    nan = rl.tensor([np.nan, 1.0] * 5000)
    assert nan.unique().shape == (5001,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 7, 6800, 70_001])
def test_unique_consecutive(size, dtype):
    x = np.repeat(numbers((size,), dtype), 3)[:size]
    if dtype[0] == "f":
        x[size // 2 :: 97] = np.nan
    for inverse, counts in itertools.product((False, True), repeat=2):
        found = sorting.unique_parts(x, None, True, inverse, counts)
        wanted = TABLE["unique_parts"].forward(x, None, True, inverse, counts)
        assert len(found) == len(wanted) == 1 + inverse + counts
        for ours, theirs in zip(found, wanted):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("length", [1, 2, 3, 31, 32, 33, 1000])
def test_search(length, dtype, right):
    random = np.random.default_rng(length)
    sequence = np.sort(random.integers(-300, 300, length)).astype(dtype)
    values = random.integers(-310, 310, 5000).astype(dtype)
    wanted = np.searchsorted(sequence, values, "right" if right else "left")
    found = searching.search_positions(sequence, values, False, right)
    np.testing.assert_array_equal(found, wanted)
    assert searching.search_positions(sequence, values, True, right).dtype == np.int32
    rows, several = np.stack([sequence, sequence + 5]), np.stack([values, values])
    found = searching.search_positions(rows, several, False, right)
    np.testing.assert_array_equal(found[0], wanted)
    np.testing.assert_array_equal(found[1], np.searchsorted(rows[1], values, "right" if right else "left"))


def test_nan_is_behind_all_elements():
    x = rl.tensor([np.nan, 1.0] * 1000)
    assert rl.searchsorted(rl.tensor([0.0, 1.0, 2.0]), x)[:2].tolist() == [3, 1]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_rows_along_any_dimension_of_any_order_in_memory(order, dtype):
    x = numbers((10, 65, 66), dtype).transpose(order)
    for axis in range(3):
        for descending in (False, True):
            check([each.numpy() for each in rl.from_numpy(x).sort(axis, descending, stable=True)], x, axis, descending)
