"""Joined tensors and copies under another shape, by kernels and by NumPy."""

import numpy as np
import pytest

from rushlight.kernels import copies
from rushlight.kernels.host import host
from rushlight.ops.join import cat
from rushlight.ops.view import reshape_copy

pytestmark = pytest.mark.skipif(host() is None, reason="needs llvmlite")

SHAPES = [([(3, 4)], 0), ([(3, 4), (5, 4), (0, 4)], 0), ([(3, 4), (3, 1)], -1), ([(2, 3, 5), (2, 7, 5)], 1),
          ([(40, 300), (40, 17)], 1), ([(70_000,), (3,)], 0), ([(2, 3, 4, 5), (2, 3, 4, 5)], 1)]  # fmt: skip


@pytest.mark.parametrize(("shapes", "dim"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "float16"])
def test_cat(shapes, dim, dtype):
    random = np.random.default_rng(0)
    arrays = [(random.standard_normal(shape) * 3).astype(dtype) for shape in shapes]
    turned = [np.asfortranarray(array) for array in arrays]
    for given in (arrays, turned, [array[::-1] for array in arrays]):
        found, expected = copies.cat(given, dim), cat.forward(given, dim)
        assert found is not NotImplemented
        assert found.dtype == expected.dtype
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, expected)


def test_what_cat_leaves_to_numpy():
    plain = np.ones((2, 3), "float32")
    for other in (
        plain.astype("float64"),
        np.ones((2, 3, 1), "float32"),
        np.ones((3, 3), "float32"),
        np.ones(0, "float32"),
    ):
        assert copies.cat([plain, other], 1) is NotImplemented
    assert copies.cat([plain, plain], 2) is NotImplemented
    pixels = np.moveaxis(np.ones((2, 4, 5, 3), "float32"), -1, 1)
    assert copies.cat([pixels, pixels], 1) is NotImplemented


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
def test_reshape_copy(dtype):
    array = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).astype(dtype).transpose(2, 0, 3, 1)
    found = copies.reshape_copy(array, (8, 15))
    if found is not NotImplemented:
        np.testing.assert_array_equal(found, reshape_copy.forward(array, (8, 15)))
        assert found.flags.c_contiguous and not np.shares_memory(found, array)
    else:
        assert dtype == "complex64"
