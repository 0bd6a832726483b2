"""Counts by kernels, of integers and in intervals, against NumPy's way and PyTorch."""

import numpy as np
import pytest

import rushlight as rl
from rushlight.kernels import watching
from rushlight.kernels.language.interpret import interpret
from rushlight.kernels.machine.host import host
from rushlight.ops.table import TABLE

pytestmark = pytest.mark.skipif(host() is None, reason="no generated kernels here")
if host() is not None:
    from rushlight.kernels.compiler.kernel import compiled
    from rushlight.kernels.sorting import counting

SIZES = [1, 7, 1000, 5000, 200_001]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "i4", "i8"])
@pytest.mark.parametrize("weight", [None, "f4", "f8"])
def test_bincount(size, dtype, weight):
    random = np.random.default_rng(0)
    x = random.integers(0, 100, size).astype(dtype)
    weights = None if weight is None else random.standard_normal(size).astype(weight)
    for minlength in (0, 50, 3000):
        found, wanted = counting.bincount(x, weights, minlength), TABLE["bincount"].forward(x, weights, minlength)
        assert found.dtype == wanted.dtype
        if weights is None:
            np.testing.assert_array_equal(found, wanted)
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-5 if weight == "f4" else 1e-12, atol=1e-9)


def test_many_different_integers():
    x = np.random.default_rng(0).integers(0, 1 << 20, 100_000)
    np.testing.assert_array_equal(counting.bincount(x, None, 0), np.bincount(x))


def values(size, dtype):
    found = np.random.default_rng(1).standard_normal(size).astype(dtype)
    found[:: size // 5 + 1] = 3
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("bounds", [(0, 0), (-1, 1.5), (3, 3)])
@pytest.mark.parametrize("bins", [1, 10, 977])
def test_histc(size, dtype, bounds, bins):
    x = values(size, dtype)
    found, wanted = counting.histc(x, bins, *bounds), TABLE["histc"].forward(x, bins, *bounds)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def test_what_is_not_finite_is_left_out_or_refused():
    x = values(5000, "f4")
    x[[3, 5, 700]] = np.nan, np.inf, -np.inf
    np.testing.assert_array_equal(counting.histc(x, 20, -2, 2), TABLE["histc"].forward(x, 20, -2, 2))
    assert counting.histc(x, 20, 0, 0) is NotImplemented  # where the error is raised
    with pytest.raises(RuntimeError, match="is not finite"):
        rl.from_numpy(x).histc(20)


def test_negative_integers_are_refused():
    with pytest.raises(RuntimeError, match="non-negative"):
        rl.full((10_000,), -1).bincount()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("density", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_histogram(size, dtype, density, weighted):
    x = values(size, dtype)
    x[::301] = np.nan
    weight = np.abs(values(size, dtype)) if weighted else None
    for edge in (np.linspace(-1, 3, 11), np.array([-2, 0, 0.5, 3, 3]), np.array([40.0, 41.0])):
        edges = [edge.astype(dtype)]
        with np.errstate(all="ignore"):
            wanted = TABLE["histogram_counts"].forward(x.reshape(-1, 1), edges, weight, density, "")[0]
        found = counting.histogram_counts(x.reshape(-1, 1), edges, weight, density, "")[0]
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_against_pytorch():
    torch = pytest.importorskip("torch")
    x, integers = values(30_000, "f4"), np.random.default_rng(2).integers(0, 777, 30_000)
    for call in (
        lambda m, x, i: m.bincount(i, minlength=800),
        lambda m, x, i: m.bincount(i, x.double()),
        lambda m, x, i: m.histc(x, 33),
        lambda m, x, i: m.histc(x, 33, -1, 1),
        lambda m, x, i: m.histogram(x, 33).hist,
        lambda m, x, i: m.histogram(x, 33, range=(-1.0, 2.0), density=True).hist,
    ):
        with watching() as seen:
            found = call(rl, rl.from_numpy(x), rl.from_numpy(integers))
        wanted = call(torch, torch.from_numpy(x), torch.from_numpy(integers))
        assert seen
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)


def test_programs_do_what_the_interpreter_says():
    x, weights = np.random.default_rng(0).integers(0, 9, 700), values(700, "f4")
    for what, kinds in ((None, ()), ("f32", (weights,))):
        program = counting.counted("i64", what)
        fast, slow = (np.zeros((3, 10), np.float64 if what else np.int64) for _ in range(2))
        compiled(("test counted", what), lambda: program).threaded(x, fast, *kinds, 700, 10, 3)
        interpret(program, x, slow, *kinds, 700, 10, 3)
        np.testing.assert_array_equal(fast, slow)
    for width in (4, 8, 16):
        program = counting.in_intervals("f32", width)
        fast, slow = (np.zeros((2, 12), np.int64) for _ in range(2))
        places = np.zeros(2 * 512, np.int32)
        compiled(("test in intervals", width), lambda: program).threaded(weights, fast, places, 700, 12, 2, -1.0, 2.0)
        interpret(program, weights, slow, places, 700, 12, 2, -1.0, 2.0)
        np.testing.assert_array_equal(fast, slow)
