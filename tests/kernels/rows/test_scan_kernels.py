"""Running sums and products by generated kernels, against NumPy in float64."""

import numpy as np
import pytest

import rushlight
from rushlight.kernels.compiler.lowering import lowered
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.compiler.kernel import compiled
    from rushlight.kernels.rows import scan

TOLERANCES = {np.float16: 2e-3, np.float32: 1e-6, np.float64: 1e-13}
SHAPES = [
    ((1,), 0),
    ((7,), 0),
    ((1000,), 0),
    ((5, 33), 1),
    ((5, 33), 0),
    ((3, 40, 9), 1),
    ((2, 3, 70), -1),
    ((300, 100), 0),
]


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_floats(name, shape, dim, dtype):
    array = (1 + np.random.default_rng(0).standard_normal(shape) / 50).astype(dtype)
    found = getattr(scan, name)(array, dim, None)
    expected = (np.cumsum if name == "cumsum" else np.cumprod)(array.astype(float), axis=dim)
    assert (found.shape, found.dtype) == (array.shape, array.dtype)
    np.testing.assert_allclose(found.astype(float), expected, rtol=TOLERANCES[dtype] * (8 if name == "cumprod" else 1))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "logcumsumexp", "cummax_pair"])
def test_arrays_with_gaps(name):
    whole = np.random.default_rng(0).standard_normal((40, 60)).astype(np.float32)
    options = (None,) if name in ("cumsum", "cumprod") else ()
    for view in (whole.T, whole[::2, 1::3], whole[:, 7], whole[::-1], np.broadcast_to(whole[0], (9, 60))):
        found, expected = (getattr(scan, name)(array, 0, *options) for array in (view, np.ascontiguousarray(view)))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int32, np.int64])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_integers(shape, dim, dtype):
    array = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    for name in ("cumsum", "cumprod"):
        found, expected = getattr(scan, name)(array, dim, None), TABLE[name].forward(array, dim, None)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.int64, *TOLERANCES])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("name", ["cummax_pair", "cummin_pair"])
def test_extremes(name, shape, dim, dtype):
    array = np.random.default_rng(0).integers(0, 2 if dtype == np.bool_ else 100, shape).astype(dtype)
    if array.dtype.kind == "f":
        flat = array.reshape(-1)
        flat[flat.size // 2 :: 17] = np.nan
        flat[flat.size // 3 :: 13] = -0.0
        flat[0] = np.inf if name == "cummin_pair" else -np.inf
    for found, expected in zip(getattr(scan, name)(array, dim), TABLE[name].forward(array, dim)):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
def test_logarithms_of_sums(shape, dim, dtype):
    array = (np.random.default_rng(0).standard_normal(shape) * 5).astype(dtype)
    flat = array.reshape(-1)
    flat[0] = -np.inf
    flat[flat.size // 2 :: 50] = np.nan
    flat[flat.size // 3 :: 60] = np.inf
    found = scan.logcumsumexp(array, dim)
    with np.errstate(all="ignore"):
        expected = TABLE["logcumsumexp"].forward(array.astype(np.float64), dim)
    np.testing.assert_allclose(found.astype(float), expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_logarithms_of_sums_of_unlike_numbers(dtype):
    """Far apart, so that some are lost beside others; nothing but zeros under the logarithm, at first or for ever."""
    random, most = np.random.default_rng(1), 6e4 if dtype == np.float16 else 2000
    rows = random.uniform(-1, 1, (6, 501)) * np.array([[1], [50], [300], [most], [most], [0]])
    rows[3].sort()
    rows[4, :40] = rows[5] = -np.inf
    rows[1, 300] = np.nan
    rows[2, 200] = np.inf
    array = rows.astype(dtype)
    with np.errstate(all="ignore"):
        expected = TABLE["logcumsumexp"].forward(array.astype(np.float64), 1)
    found = scan.logcumsumexp(array, 1).astype(float)
    np.testing.assert_allclose(found, expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


def test_special_values():
    array = np.array([[1, np.inf, 2, -np.inf, 3], [0, np.nan, 1, 2, 3]], np.float32)
    with np.errstate(all="ignore"):
        for axis in (0, 1):
            np.testing.assert_array_equal(scan.cumsum(array, axis, None), np.cumsum(array, axis))
            np.testing.assert_array_equal(scan.cumprod(array, axis, None), np.cumprod(array, axis))


def test_what_is_declined():
    array = np.ones((4, 6), np.float32)
    assert scan.cumsum(array[:0], 0, None) is NotImplemented
    assert scan.cumsum(array, 0, rushlight.float64) is NotImplemented
    assert scan.cumsum(np.ones((), np.float32), 0, None) is NotImplemented


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_widths_of_vectors(lanes):
    array = np.random.default_rng(0).standard_normal((3, 45)).astype(np.float32)
    program = scan.build_rows("cumsum", "f32", "f32", "f64", lanes)
    out, slow = np.empty_like(array), np.empty_like(array)
    compiled(("test scan", lanes), lambda: program).threaded(array, out, 3, 45, 2)
    interpret(program, array, slow, 3, 45, 2)
    np.testing.assert_array_equal(out, slow)
    np.testing.assert_allclose(out, np.cumsum(array.astype(float), 1), rtol=1e-6)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_logarithms_do_what_the_interpreter_says(lanes):
    array = (np.random.default_rng(0).standard_normal((3, 45)) * [[1], [900], [1]]).astype(np.float32)
    array[2, 11:30] = -np.inf
    program = scan.build_log_rows("logcumsumexp", "f32", "f32", "f64", lanes)
    out, slow = np.empty_like(array), np.empty_like(array)
    compiled(("test log scan", lanes), lambda: program).threaded(array, out, 3, 45, 2)
    interpret(lowered(program), array, slow, 3, 45, 2)
    np.testing.assert_array_equal(out, slow)
