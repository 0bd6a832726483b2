"""Sums, products and dot products of complex arrays by kernels, against NumPy."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.kernels.rows import complex_reductions, losses, reduce

pytestmark = pytest.mark.skipif(host() is None, reason="no machine code without llvmlite")
REFERENCES = {"sum": np.sum, "prod": np.prod, "dot": np.dot, "vdot": np.vdot}


def numbers(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    return np.exp(1j * random.uniform(-3, 3, shape)).astype(dtype)  # products stay in range


KERNELS = {
    "sum": lambda x: reduce.sum(x, None, False, None),
    "prod": lambda x: reduce.prod_all(x, None),
    "dot": complex_reductions.dot,
    "vdot": complex_reductions.vdot,
}


def operands(name, count, dtype):
    return [numbers(count, dtype, seed) for seed in range(2 if "dot" in name else 1)]


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("count", [1, 7, 64, 1000, 16385, 100_003])
@pytest.mark.parametrize("name", REFERENCES)
def test_reductions(name, count, dtype):
    arrays = operands(name, count, dtype)
    found = KERNELS[name](*arrays)
    expected = REFERENCES[name](*(array.astype(np.clongdouble) for array in arrays))
    assert found.shape == () and found.dtype == dtype
    assert abs(found - expected) <= 2 * np.finfo(dtype).eps * (np.sqrt(count) + 8 + abs(expected))


@pytest.mark.parametrize("scalar", ["f32", "f64"])
@pytest.mark.parametrize("name", REFERENCES)
def test_programs_by_the_interpreter(name, scalar):
    dtype = {"f32": "c8", "f64": "c16"}[scalar]
    arrays = operands(name, 11, dtype)
    work, out = np.empty(1, dtype), np.empty(1, dtype)
    flat = [array.view(array.real.dtype) for array in (*arrays, work, out)]
    interpret(complex_reductions.program(name, scalar, 4), *flat, 11, 2.0)
    np.testing.assert_allclose(out[0], REFERENCES[name](*arrays) / 2, rtol=10 * np.finfo(dtype).eps)


def test_what_is_not_finite_reaches_the_result():
    x = numbers(40_000, "c8")
    x[777] = complex(np.nan, 1)
    for name in ("sum", "prod"):
        assert np.isnan(KERNELS[name](x))
    assert np.isnan(complex_reductions.vdot(x, x))
    x[777] = 0
    assert reduce.prod_all(x, None) == 0


@pytest.mark.parametrize("keepdim", [False, True])
def test_products_and_means_of_all_elements(keepdim):
    x = numbers((30, 40), "c8")
    for found, expected in (
        (reduce.mean(x, (0, 1), keepdim, None), x.mean(keepdims=keepdim)),
        (reduce.prod_dim(x.ravel(), 0, keepdim, None), x.ravel().prod(keepdims=keepdim)),
        (reduce.prod_all(x, None), x.prod()),
    ):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert reduce.prod_all(x[:, ::2], None) is NotImplemented
    assert reduce.prod_all(x[:0], None) is NotImplemented


def test_dot_products():
    x, y = (rl.from_numpy(numbers(70_000, "c8", seed)) for seed in (0, 1))
    np.testing.assert_allclose(x.vdot(y).item(), np.vdot(x.numpy(), y.numpy()), rtol=1e-4)
    np.testing.assert_allclose(x.dot(y).item(), np.dot(x.numpy(), y.numpy()), rtol=1e-4)
    np.testing.assert_allclose(x.real.clone().vdot(y.real.clone()).item(), np.dot(x.real, y.real), rtol=1e-4)
    assert losses.vdot(x.numpy(), y.numpy()[:-1]) is NotImplemented
    assert losses.dot(x.numpy()[::2], y.numpy()[::2]) is NotImplemented


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("keepdim", [False, True])
def test_rows(dtype, keepdim):
    x = numbers((50, 7, 101), dtype)
    wide = x.astype("c16")
    for dims in ((2,), (-1,), (1, 2), (2, 1)):
        for kernel, reference in ((reduce.sum, np.sum), (reduce.mean, np.mean)):
            found, expected = kernel(x, dims, keepdim, None), reference(wide, axis=dims, keepdims=keepdim)
            assert found.dtype == dtype and found.shape == expected.shape
            np.testing.assert_allclose(found, expected, atol=1e-4 if dtype == "c8" else 1e-12)
    found = reduce.prod_dim(x, 2, keepdim, None)
    np.testing.assert_allclose(found, wide.prod(2, keepdims=keepdim), atol=1e-4 if dtype == "c8" else 1e-12)
    assert reduce.prod_dim(x, 1, keepdim, None) is NotImplemented


@pytest.mark.parametrize("name", ["sum", "prod"])
def test_rows_by_the_interpreter(name):
    x, out = numbers((5, 11), "c16"), np.empty(5, "c16")
    interpret(complex_reductions.rows_program(name, "f64", 4), x.view("f8"), out.view("f8"), 5, 11, 2, 1.0)
    np.testing.assert_allclose(out, getattr(x, name)(1), rtol=1e-13, atol=1e-14)
